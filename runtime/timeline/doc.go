// Package timeline says when the devices of a pipeline compute and when they wait.
//
// In comes a plan, whose ticks of tasks are simulated: all stages take the same time, a backward pass twice that of a
// forward pass, and messages none. Out comes a picture of it, a Timeline, unless it is too large to be drawn, and the
// share of the time in which devices are idle.
//
// Invariant: the same plan gives the same timeline; a plan without a pipeline has none.
//
// Imports runtime/program.
package timeline
