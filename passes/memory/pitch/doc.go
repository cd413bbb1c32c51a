// Package pitch pads rows of values between kernels in memory, where a product writes or reads
// them and their bytes are no multiple of what the target copies in large pieces: the logits of
// a vocabulary of 50,257 have rows of 100,514 bytes, which a GPU could read by twos alone.
//
//	before                                        after
//	%1 : bf16[seq=1024, vocab=50257] = call …     %1 : bf16[seq=1024, vocab=50257+47] = call …
//
// In: a module of ir(Fused), and what the target says of rows. Out: the same; types of such values, and
// of the arguments and results of the kernels that have them, have padding (ir.Type). A
// kernel that is called with and without is there twice.
// Invariant: elements are as they were: what pads a row is read by nobody as a number. Nothing has
// padding that anybody but kernels sees: arguments and results of entry functions, what collectives
// send, what is moved to another memory, what is a part of another value or made of parts. Where a
// kernel may write a value over another one, both have padding or neither, so that it still may.
// Imports ir, ir/fusion, ir/op, passes/pass.
package pitch
