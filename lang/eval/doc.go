// Package eval evaluates expressions and statements: names, the config,
// arithmetic, calls, types, modules. What has a tensor as operand is emitted as
// an operation of the function that is being built, so that functions are inlined
// and loops unrolled.
//
//	Interp  one evaluation: the program, what was made of it, bounds
//	Config  the entries of the config, each evaluated when it is first read
//	Model   the parameters and instances of the model
//	Frame   one running function or module body: what its names are bound to
//	Trace   the calls that led there, with which mistakes are reported
//	Builder the entry function being built
//
// In: a program and overrides of its config. Out: values, and operations in the
// Builder; the parameters and instances of a model.
// Entries of the config may stay open, as ports of the plan (ports.go).
// Instances of a repeated module that do the same as the one before them may be
// omitted (omit.go); how that is known is said there.
// Invariants: a mistake yields an unknown value that silences what follows from
// it; evaluation takes bounded time and memory.
// Built-in functions register with [Define]; package lang/builtin has them.
// Imports internal/diag, internal/dtype, internal/formula, ir, ir/op, lang/source,
// lang/syntax, lang/value.
package eval
