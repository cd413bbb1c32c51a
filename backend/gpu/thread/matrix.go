package thread

import "ptc/backend/kernel"

// Matrices are the matrix instructions of a warp, on registers.
type Matrices interface {
	// LoadMatrix is registers of n matrices, 1, 2 or 4, of 8 rows of 16 bytes in shared memory: lane 8·i + r
	// says where row r of matrix i is. A lane has the 32 bits of row lane/4 at place lane%4 of each, or,
	// where trans holds, of the transposed matrix of numbers of 16 bits.
	LoadMatrix(s Shared, n int, trans bool) []*Value
	// Multiply is x·y + sums of 16×8 sums in f32, by the lanes of a warp: x has 16 rows, y 8 columns,
	// and both 16 numbers of 16 bits along the axis that is summed, or 32 of 8 or 8 of f32, in fragments as
	// LoadMatrix gives them: of x numbers e, of y numbers f, which differ at most if they have 8 bits. Those of
	// f32 are rounded as Tensor32 does.
	Multiply(e, f kernel.Elem, x, y, sums []*Value) []*Value
	// Pack is pairs of numbers e in 32 bits, which products take.
	Pack(e kernel.Elem, low, high *Value) *Value
	// Tensor32 is the bits of an f32 rounded to the 10 of its significand that matrix instructions read.
	Tensor32(x *Value) *Value
}

// Matrix is a matrix of numbers of 16 or 8 bits in shared memory, as products of a warpgroup find it: a tile
// whose rows of 32, 64 or 128 bytes have their pieces of 16 exchanged (layout.Spans).
type Matrix struct {
	At     Shared // a multiple of 16 bytes, which is the same for all threads of the warpgroup
	Span   int    // bytes of a row of the tile
	Rows   bool   // rows go along the axis that is not summed
	Lead   int    // of such a matrix: bytes from one span of a row to the next
	Stride int    // bytes from 8 rows of the tile to the next 8
}

// Groups are the matrix instructions of warpgroups, four warps each, on shared memory. They run by themselves.
type Groups interface {
	// Sums are registers of their own that hold vs, which products of a warpgroup may change.
	Sums(vs []*Value) []*Value
	// MultiplyGroup starts the product of 64 rows, of which the 16 of the warp are in registers as
	// Multiply has them, or all in shared memory where x is nil, and as many columns as there are
	// sums, of 16 numbers of 16 bits along the axis that is summed, or 32 of 8, for which rows go along that axis: of the
	// left matrix e, of the right one f. It is added to sums by itself: these are
	// registers of Sums or of a loop, which nothing else touches until AwaitProducts says so.
	MultiplyGroup(e, f kernel.Elem, x []*Value, rows, cols Matrix, sums []*Value)
	// FenceProducts is before products of a warpgroup whose registers other instructions used.
	FenceProducts()
	// CommitProducts closes a group: the products since the last one.
	CommitProducts()
	// AwaitProducts waits until at most n groups of products are under way.
	AwaitProducts(n int)
	// FenceProxy has what runs by itself, behind a barrier, see what the thread wrote to shared memory.
	FenceProxy()
	// Registers gives each thread of a warpgroup so many registers, a multiple of 8, of those that the block has: fewer than
	// before, or, if more holds, more, for which it waits until others have given up theirs.
	Registers(n int, more bool)
}
