// Package lower lowers tile programs to the loop/tile form of processors with vectors.
//
// In: a verified tile.Program and the machine's description. Out: a kernel.Kernel for
// each phase, whose tasks are the phase's. [Kernel] makes one of a kernel function, by the
// programs of backend/nest; [Launches] are all kernels of one, two where a sum is in parts,
// of which [Parts] chooses how many.
// Invariant: a kernel computes what the program means, up to the order of sums, which
// depends on sizes and the vector width alone. Results do not depend on the seed, the
// number of threads or what memory held before. Values of low precision are kept in f32,
// and rounded where they are cast, shared or stored.
//
// How: a [position] is where in the ranges of a program code is being written, an [evaluator] computes
// elements there, and [lowering] writes the loops around them. [hazards] knows which loads came before
// which stores. A tile in registers is nothing until it is demanded. Stores with the same
// dimensions, and reductions that do not need each other, become one sweep: loops over
// the dimensions, the last of which is the one that memory has contiguous and goes in
// vectors, with a masked tail. What does not vary in a loop of a sweep is computed
// before that. Tiles that loops carry are vectors in registers, and what depends on them
// is unrolled over their positions. How many positions of a block exist is static in
// all code: the last block of an axis has code of its own.
//
// Reductions to tiles, tiles in shared memory and carried tiles that meet other
// dimensions are in scratch. A product becomes a kernel of backend/cpu/gemm (product.go): its
// blocks, packing and register tiles are that package's. Products around a softmax become one
// of backend/cpu/attention (attention.go), with the bounds of keys that masks leave.
//
// In other programs products are loops around multiply-adds, right but slow. f64, reversed loops with
// computed bounds, and stores to positions that are looked up have no native code; an
// error says so.
//
// Imports ir, ir/op, ir/tensor, ir/fusion, backend/kernel, backend/kernel/vmath, backend/cpu/{attention,
// choose,gemm}, backend/nest, backend/tile.
package lower
