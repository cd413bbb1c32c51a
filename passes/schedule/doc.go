// Package schedule gives each device of a pipeline its own program: operations
// of its stages in the order of the schedule's slots, and messages for what
// crosses stages; level Local.
//
// In: functions whose operations are tagged with stage and phase, and those of one
// microbatch in the place of all (passes/stage). Out: in the place of @step, @step.0 …
// @step.p-1, one for each coordinate of the pipeline's mesh axis, in tasks with a table
// of ticks (ir.Task); @eval likewise, without tasks. No tag is left.
// Of the forms of one tensor that a device needs of another one (cast, renamed,
// sliced) the smallest that determines the others is sent, once.
// Invariant: the programs together compute what the function did; every
// receive has one send, and no wait among devices is in a circle, which
// [Check] proves by running the messages.
// Where devices stand for others (pass.Stands, stands.go), theirs are the only programs, and it notes for which messages
// and ticks those of the others differ.
// Imports internal/diag, internal/progress, ir, ir/layout, ir/op, ir/pipeline,
// ir/verify, passes/pass, passes/stage.
package schedule
