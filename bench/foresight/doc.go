// Command foresight compares predictions with published measurements: weak scaling of Megatron-LM in 2021, all-reduces of
// NCCL, and runs on one node.
//
// In: tables of measured runs, in the folder that FORESIGHT_DATA names. Out: bench/foresight.json, the tables of
// docs/foresight.md and its plots.
//
//	rows.go     tables of measured runs
//	sources.go  the source and the layout of a run, and its plan
//	plans.go    runs with their plans, compiled and simulated on all processors
//	fit.go      robust least squares, sizes of errors
//	nccl.go     all-reduces in a node
//	vtrain.go   runs on one node, by folds
//	sc21.go     weak scaling, without a fit and with one scalar
//	plot.go     predicted against measured times, as SVG
//	write.go    bench/foresight.json, and the tables of docs/foresight.md
//
// Invariant: a prediction is a simulation of a plan that was compiled from the source of the model, under the stack of the software
// that ran it. What is fitted is fitted on other rows than those that it is compared with.
package main
