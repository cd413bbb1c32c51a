// Package text has what editors and the compiler call a place: a line and a count of
// UTF-16 units, and an offset in bytes.
//
// In: a text, and edits of it. Out: places of either kind, and what became of an offset
// when the text was edited.
// Invariant: every position, whatever it is, has an offset within the text, at the
// border of a character; an offset at such a border and its position are each other's.
// Imports nothing of ours.
package text
