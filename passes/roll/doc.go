// Package roll finds what is repeated in a function and writes it once: level
// Global, as the language lowers it.
//
// In: functions without stacks. Operations and arguments have module paths, of which
// numbers count the modules of a list: `blocks.3.attn`. Out: the same functions, in
// which modules of one list that do the same are a stack (see ir.Stack), and each of
// their ways through a step a run: forward, the norm of gradients, the update.
// Modules that alternate with a period are instances of several modules each; one
// that differs from its neighbours stays as it was.
// Invariant: ir.Func.Unrolled of what comes out is what came in, to the letter, but
// that constants between modules stand before them.
//
// Alike modules that the language has omitted are counted among the instances
// ([Complete]): the function has nothing of them, and [Omitted] their numbers.
//
// The source's paths say where to look, and operations are compared one by one: the
// same operation on the same types, of the same line, that reads from its own
// instance, from the one before, or what all read from outside.
// Imports ir, ir/op, passes/pass.
package roll
