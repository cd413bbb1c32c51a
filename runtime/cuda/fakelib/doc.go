// Package fakelib is what C libraries for tests, made of Go functions, have in common.
//
// In: Go functions, and which calls are to fail.
//
// Out: addresses of C functions, the objects behind handles, and what the libraries note of
// their callers.
//
// Invariant: a Record may be read while a library is called; handles are guarded by the
// library that has them.
//
// Imports: internal/foreign. Only libraries for tests import it.
package fakelib
