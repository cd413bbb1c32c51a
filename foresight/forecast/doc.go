// Package forecast says what a plan will cost on a machine: time, memory, money, and how far each depends on the machine.
//
// In: a plan, a cluster, and what else is assumed. Out: a [Forecast], for programs as JSON and for people as text.
//
//	forecast.go     one simulation, and the rates that follow from it
//	resilience.go   goodput under failures
//	sensitivity.go  the same step on machines with other rates, and with a slow device
//	fit.go          memory against capacity, and what would make a plan fit
//	text.go         for people
//	trace.go        turns and exchanges in time, for Perfetto
//	report.go       what a report of the plan shows
//	timing.go       and the timeline of its pipeline in true time
//	compare.go      beside what a run measured
//
// Invariant: a Forecast depends on its inputs alone. Times in it are those of package foresight/sim, divided by 10¹² once.
//
// Imports foresight/cost, foresight/machine, foresight/sim, foresight/stack, internal/units, runtime/explain,
// runtime/profile, runtime/program, runtime/report, runtime/timeline.
package forecast
