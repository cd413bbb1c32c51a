// Package ptc compiles models with their parallel layouts to plans, explains plans,
// runs them, and evaluates and samples what they trained: what the command of this name
// does, for Go programs.
//
//	plan, report, err := ptc.CompileFile(ctx, "model.ptl", ptc.CompileOptions{Layout: "single"})
//	fmt.Println(ptc.Explain(plan).Memory)
//	summary, err := ptc.Run(ctx, plan, ptc.RunOptions{Steps: 100, OnStep: func(s ptc.Step) { … }})
//
// In: sources and options. Out: plans, which are immutable, their description,
// and the events of a run.
// Invariant: whatever a user can get wrong is an error and never a panic. Mistakes
// in a source are [Errors], each with a stable code and its place; a [*Bug] is a
// fault of ptc; an error of [Run] says by a method ExitCode() int what a process
// should exit with.
// Imports compiler, runtime/... and internal/diag.
package ptc
