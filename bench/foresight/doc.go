// Command foresight compares predictions with published measurements: weak scaling of Megatron-LM in 2021, all-reduces of
// NCCL, and runs on one node.
//
// In: tables of measured runs, in the folder of the first argument. Out: bench/foresight.json, and the tables of
// docs/foresight.md.
//
// Invariant: a prediction is a simulation of a plan that was compiled from the source of the model, under the stack of the software
// that ran it. What is fitted is fitted on other rows than those that it is compared with.
package main
