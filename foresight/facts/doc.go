// Package facts says what a search over layouts must know of a model: what is repeated, which axes may be sharded over
// which mesh axes, how large parameters and states are, how much arithmetic a step has.
//
// In: the lowered module of a training step, with repeated modules written once. Out: [Facts].
//
//	facts.go   parameters, states, data
//	axes.go    the residual axis, the axes of tensor parallelism, the axis of experts
//
// Invariant: facts are of the model alone: no layout, no machine. They follow from names of axes that parameters
// and data have, so they hold for any model, and a wrong guess makes a space smaller and never a layout wrong.
//
// Imports ir, ir/fusion, ir/op.
package facts
