// Package profile sums up what the kernels and communications of a step took, and
// holds them to what the machine can do.
//
// In: the spans of some steps, as package exec measures them, the times of steps
// that ran as always, and the Ceilings: those that were measured in this process, or
// of a GPU its maker's figures, which the plan holds. Out: a Report, by device, by kernel function and by call, as a structure and as text.
//
// FLOP and bytes are those that the plan states of a launch, as explain counts them;
// a kernel whose data lie in a cache can be faster than memory, and its share above 1.
// The roofline of a kernel is min(peak, bandwidth · FLOP / bytes) FLOP/s: Williams,
// Waterman, Patterson, "Roofline" (2009). Every time is a median over steps.
//
// It imports runtime/exec, runtime/program and internal/units.
package profile
