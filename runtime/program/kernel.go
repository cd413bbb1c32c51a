package program

// Code is machine code, or text that stands for it. The kernels of one device
// are of one kind.
type Code struct {
	Kind string `cbor:"1,keyasint,omitempty"` // loader: "elf" (object file), "ir" (printed IR for ref), "ptx"
	Data []byte `cbor:"2,keyasint,omitempty"`
}

// Kernel is one native function; programs call it by index.
type Kernel struct {
	Name    string `cbor:"1,keyasint,omitempty"`  // for reading: "layernorm.3"
	Class   string `cbor:"2,keyasint,omitempty"`  // map, row, column, gemm, scatter, …
	Code    int    `cbor:"3,keyasint,omitempty"`  // index in Plan.Code
	Symbol  string `cbor:"4,keyasint,omitempty"`  // in the code
	Args    []Arg  `cbor:"5,keyasint,omitempty"`  // the buffers it takes, in order
	Tasks   int64  `cbor:"6,keyasint,omitempty"`  // independent parts; any partition gives the same result
	Scratch int64  `cbor:"7,keyasint,omitempty"`  // bytes of thread-private memory
	Flops   int64  `cbor:"8,keyasint,omitempty"`  // of one call
	Bytes   int64  `cbor:"9,keyasint,omitempty"`  // of one call, read and written at least
	IR      string `cbor:"10,keyasint,omitempty"` // printed kernel function, for explain and check
	// Threads and Shared are of a GPU, of which a task is a block of threads: how many
	// there are, and the bytes of memory they share; 0 elsewhere.
	Threads int64 `cbor:"11,keyasint,omitempty"`
	Shared  int64 `cbor:"12,keyasint,omitempty"`
	// Factors is the dtype of what its products multiply, the widest of several; empty
	// where it has none.
	Factors string `cbor:"13,keyasint,omitempty"`
	// Maps are arguments of a GPU's kernel behind Args.
	Maps []TensorMap `cbor:"14,keyasint,omitempty"`
	// Products are all that the kernel does, where that is products which libraries compute as well;
	// else there are none.
	Products []Product `cbor:"15,keyasint,omitempty"`
}

// Arg is one buffer that a kernel takes.
type Arg struct {
	Bytes int64 `cbor:"1,keyasint,omitempty"` // it touches no more of the buffer
	Write bool  `cbor:"2,keyasint,omitempty"` // it writes the buffer, and may read it; else it only reads
}

// Product is a matrix product that is all that a kernel does, or one of several that are, so
// that a library may compute it in the kernel's place:
//
//	Out[b, m, n] = Σ over k of Left[b, m, k] · Right[b, k, n], and Add[b, m, n] and Bias[n]
//
// Factors are of one dtype, f32, f16 or bf16, and are multiplied and summed in f32. What is added
// is f32 as the result then is, so that nothing is rounded to fewer bits but the result.
type Product struct {
	Batch int64    `cbor:"1,keyasint,omitempty"`
	M     int64    `cbor:"2,keyasint,omitempty"`
	N     int64    `cbor:"3,keyasint,omitempty"`
	K     int64    `cbor:"4,keyasint,omitempty"`
	Left  Matrices `cbor:"5,keyasint,omitempty"`
	Right Matrices `cbor:"6,keyasint,omitempty"`
	Out   Matrices `cbor:"7,keyasint,omitempty"` // all elements of its argument, but for what pads its rows
	// Add is what is added to the product, or nil. Its argument may be given the buffer of Out, as
	// that of a sum over microbatches is, if it lies there as Out does.
	Add *Matrices `cbor:"8,keyasint,omitempty"`
	// Bias is a row that is added to every one, or nil.
	Bias *Matrices `cbor:"9,keyasint,omitempty"`
}

// Matrices are where the matrices of a product lie in an argument of the kernel, one for each
// number of the batch: row by row, the elements of a row next to each other. A matrix that is
// transposed lies so column by column. Numbers are of elements.
type Matrices struct {
	Arg        int    `cbor:"1,keyasint,omitempty"`
	DType      string `cbor:"2,keyasint,omitempty"`
	Offset     int64  `cbor:"3,keyasint,omitempty"` // of the first element
	Row        int64  `cbor:"4,keyasint,omitempty"` // from a row to the next
	Batch      int64  `cbor:"5,keyasint,omitempty"` // from a matrix to the next; 0: there is one, for all of the batch
	Transposed bool   `cbor:"6,keyasint,omitempty"`
}

// TensorMap says how a kernel for GPUs copies tiles of an argument as those of a tensor. It is an argument of
// 128 bytes behind those of the buffers, which is made of their addresses when a program is captured.
// Dimension 0 is the contiguous one.
type TensorMap struct {
	Arg     int     `cbor:"1,keyasint,omitempty"`
	Offset  int64   `cbor:"2,keyasint,omitempty"` // bytes, from the beginning of the argument
	DType   string  `cbor:"3,keyasint,omitempty"`
	Sizes   []int64 `cbor:"4,keyasint,omitempty"` // elements
	Strides []int64 `cbor:"5,keyasint,omitempty"` // bytes from one to the next, from dimension 1 on
	Box     []int64 `cbor:"6,keyasint,omitempty"` // elements of a tile
	Swizzle int64   `cbor:"7,keyasint,omitempty"` // bytes of a row of the tile, whose pieces of 16 are exchanged
}

// Roof is the most that a device does in a second, by its maker's figures.
type Roof struct {
	Device string  `cbor:"1,keyasint,omitempty"` // "NVIDIA H200"
	Bytes  float64 `cbor:"2,keyasint,omitempty"` // of its memory, read and written
	Rates  []Rate  `cbor:"3,keyasint,omitempty"` // of arithmetic; f32 is that of all that no other is for
}

// Rate is the floating-point operations a second of products whose factors are of a dtype.
type Rate struct {
	DType string  `cbor:"1,keyasint,omitempty"`
	Flops float64 `cbor:"2,keyasint,omitempty"`
}

// Variant is the plan's kernels in other code, for devices that do not run the plan's own. Memory,
// programs and results' places are the plan's: it is the code that a device chooses, when it is
// opened.
type Variant struct {
	Arch string `cbor:"1,keyasint,omitempty"` // what it is for, for people: "sm_80"
	Code []Code `cbor:"2,keyasint,omitempty"` // as Plan.Code
	// Kernels are the plan's in their order, each with what is of its code and nothing else: Code,
	// an index in the variant's, Symbol, Tasks, Scratch, Threads, Shared, Maps.
	Kernels []Kernel `cbor:"3,keyasint,omitempty"`
	Roof    *Roof    `cbor:"4,keyasint,omitempty"` // as Plan.Roof
}
