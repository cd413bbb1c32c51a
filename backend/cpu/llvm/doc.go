// Package llvm compiles LLVM IR text to machine code with libLLVM, which it
// loads at run time: ptc itself is built without a C compiler and runs, with
// the reference backend, where no LLVM is installed.
//
// In come IR text (of package kernel's emitter, or of Driver) and a
// target.Target; out comes a relocatable ELF object for package runtime/native,
// or assembly text: to read, and for NVPTX, whose assembly is PTX. In comes also
// the code of a function in such an object; out comes its disassembly.
//
// The invariants: the same text, target and LLVM version give the same bytes,
// whatever else is being compiled at the time; every compilation has a context
// of its own, which is gone when it returns; and an object that is to be run
// has no undefined symbols (Undefined names them).
//
// It imports package target and internal/foreign, and nothing else of ours.
package llvm
