// Package foreign calls C functions: those of libraries that are loaded at run
// time, and native code in memory.
//
// In: names of libraries, tables of functions, addresses. Out: addresses of functions, calls.
// Invariant: it is the only package that needs the system's dynamic linker. Built
// with the tag "static" it loads and calls nothing and says so, and the program
// that it is part of is linked statically.
// Imports nothing of ours.
package foreign
