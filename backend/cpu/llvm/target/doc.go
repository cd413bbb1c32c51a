// Package target describes the processors that kernels are generated for.
//
// In comes a name such as `cpu:x86-64-v4+avx512bf16`, or `cpu` for this host;
// out goes a Target: what LLVM is told (triple, processor, features), what the
// kernel generator chooses tile sizes by (vector width, registers, caches) and
// what a plan records so that a host can say whether it may run the code.
//
// The invariant: a Target is a function of its name alone. Caches are those of
// the description and never those measured on a host, so the same name gives
// the same bytes on every machine. Only Host looks at the machine, and all it
// returns is one of the names.
//
// It needs no LLVM and imports internal/diag and internal/amx.
package target
