// Package ir is the intermediate representation of ptc: modules of functions
// of operations over values whose types name every axis.
//
// In: lang builds it at [Global]; passes rewrite it level by level.
// Out: backends read it at [Planned]. At every level it can be printed
// ([Print]), parsed back ([Parse]), verified (ir/verify) and executed
// (ir/eval).
// Invariant: Print(Parse(Print(m))) is Print(m), byte for byte; nothing of the
// machine, of time or of map order is in a module.
//
// This package knows structure only. What an operation means is its row in
// ir/op; there is no switch over operation names here.
// Imports internal/diag, internal/dtype, internal/openpath, internal/rolled.
package ir
