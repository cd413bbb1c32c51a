// Package fusion says what a kernel function is: which of its operations are
// views of arguments, which loops it has, and which class of loop nest computes
// it. Fuse builds kernels that [Analyze] accepts, the verifier rejects others,
// and the kernel generator reads the result.
//
// In: kernel functions of ir(Fused). Out: [Kernel], or the reason why the
// function cannot be tiled. Its axes are read here, once for all generators: which of them
// are one loop (loops.go), and what those of a product (contraction.go) and of an attention
// (attend_loops.go) are. Attention is the one class with several contractions: attend.go
// says which functions are of it.
// Invariant: every function that Analyze accepts can be generated for every
// target.
// [Masks] reads which scores masks of positions hide, for all who ask (limits.go).
// [InParts] makes two kernels of one: parts of sums, and their sum (parts.go).
// Imports internal/diag, ir, ir/op.
package fusion
