// Package calibrate measures the processors of this host, and describes them as a machine.
//
// In: a number of threads, and plans of one device. Out: a .ptm file, with the machine that it describes.
//
//	ceilings ─▶ peaks, launches ─┐
//	all-reduces ─▶ exchanges ────┼─▶ Machine ─fit─▶ rates ─write─▶ .ptm
//	steps ─▶ times of launches ──┘                  └─▶ table of kernels
//
//	calibrate.go   what is measured, in order
//	exchange.go    all-reduces among devices of one process
//	kernels.go     the launches of a step
//	fit.go         rates by which the model of kernels comes nearest to their times
//	write.go       the file
//	program.ptl    the program that is always measured
//
// A step is fed zeros: neither the time of a kernel nor that of an exchange depends on numbers. Times are lower quartiles, since
// other work on the host only adds to them. Kernels of plans go into the machine's table by their keys. Rates are fitted to all
// kernels, so that they hold for those that are in no table: the sum of deviations, as logarithms, is made the least by the simplex
// method of Nelder and Mead (1965), with the model of package cost itself.
//
// Invariants: the file is valid, and reads back as the Machine. Nothing in it depends on when it was made but the numbers.
//
// Imports compiler, compiler/ceilings, foresight/cost, foresight/machine, internal/collective, internal/dtype, internal/units,
// lang/syntax,
// runtime/comm, runtime/device, runtime/exec, runtime/native, runtime/program.
package calibrate
