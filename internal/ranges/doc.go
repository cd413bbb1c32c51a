// Package ranges finds what lies at a range of numbers, such as bytes of an arena
// or times of a program, without looking at everything that lies elsewhere.
//
// [Map] is for what changes, [Index] for what does not.
// Imports nothing of ptc.
package ranges
