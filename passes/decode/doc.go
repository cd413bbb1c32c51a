// Package decode derives the function that samples: one position at a time, with a
// static cache of keys and values, from one that computes the logits of all positions.
//
// In: a function at Global with tokens, i32[batch, seq], and one result, the logits
// [batch, seq, vocab]. Out: one with tokens, i32[batch], a position, i32[], and as
// states, in place, the logits [batch, vocab] of that position and the caches. Of that one,
// two more are made: of a block of positions, which fills the caches (block.go), and of
// positions of which each sequence has its own (apart.go).
// Invariant: run for the positions 0, 1, …, t in turn, it gives what the function gives
// at position t, whatever tokens come after; where that cannot be shown, there is an
// error and no function.
//
// Because axes are named, the derivation is mechanical. The result is asked for at
// position t of `seq`, and each operation passes the question on to its operands:
//
//	add, dot, …          the operands at t
//	index(seq)           t
//	a parameter [seq, …] its row t
//	rename(seq = kseq)   where all of kseq is asked for: a cache
//
// A cache is asked for as a whole. Its row t is computed at t, and those before were
// computed at their positions. Rows after t hold nothing that counts, and package
// decode proves of each operation that they do not (ahead.go): where a softmax weighs
// rows by scores that a mask sets to −inf, the weights behind t are 0.
//
// What moves values along positions, as a shift, does so with the cache of what it moves,
// and its row t is read. The proof counts by how much (the plus of an area).
//
// Experts with a capacity mix positions: tokens are scattered into slots. What comes of
// a slot is asked for by the token that is in it alone, so that only row t is scattered
// (slots.go), as long as every operation between keeps slots apart.
//
// Where there is no such function, or the logits are those behind a whole window, window.go
// makes one that computes all positions each time, and proves nothing.
//
// It is no pass of the table: it stands between the language and the first of them.
// Imports internal/diag, ir, ir/op, ir/tensor.
package decode
