package kernel

// Kernel is one task's code with its buffers. Build it with a Builder; a
// finished kernel is never modified.
type Kernel struct {
	Name    string    // symbol name
	Tasks   int64     // static number of tasks of a launch
	Buffers []*Buffer // Global buffers first, in ABI order, then scratch
	Task    *Value    // the task number, i64
	Body    *Block
	// Batch, if not nil, says that the body computes several tasks per iteration.
	Batch *Batch
	// Sections, where there are any, are what the kernel does instead of a body: see
	// [Join].
	Sections []Section
}

// Batch lets a kernel compute several adjacent tasks per iteration, so that it does once what they
// share: the tasks from Kernel.Task up to End, exclusive. Tasks lie in grids of Rows rows of Row tasks.
// A batch lies within a row, or is some whole rows of one grid. A thread computes its range of tasks
// in as few batches as possible, and the result of a task does not depend on the others of its batch.
type Batch struct {
	Row, Rows int64
	// Most bounds the tasks of a batch within a row, MostRows the rows of a batch of whole rows, which
	// needs Most to be at least Row.
	Most, MostRows int64
	End            *Value // i64, above the task number
}

// Last is the end of the batch that begins with task t, in a range that ends at end.
func (x *Batch) Last(t, end int64) int64 {
	if x == nil {
		return t + 1
	}
	row := t / x.Row
	if whole := min((end-t)/x.Row, x.MostRows, x.Rows-row%x.Rows); t == row*x.Row && x.Most >= x.Row && whole > 0 {
		return t + whole*x.Row
	}
	return min(end, t+x.Most, (row+1)*x.Row)
}

// Space is where a buffer lives.
type Space uint8

// The memory spaces.
const (
	Global  Space = iota // an entry of the bufs array
	Private              // in scratch, private to one thread
)

func (s Space) String() string { return [...]string{"global", "private"}[s] }

// Use says what a kernel does with a global buffer.
type Use uint8

// The uses of a global buffer.
const (
	Read Use = iota
	Write
	ReadWrite
)

func (u Use) String() string { return [...]string{"read", "write", "readwrite"}[u] }

// Buffer is typed memory of a static length.
type Buffer struct {
	Name     string
	Elem     Elem
	Len      int64 // elements
	Space    Space
	Use      Use   // of a Global buffer; the others are read and written
	Distinct bool  // no other buffer of the kernel overlaps it
	Arg      int   // Global: the position in bufs
	Offset   int64 // Private: bytes from the start of scratch, a multiple of 64
}

// Bytes is the size of b in memory.
func (b *Buffer) Bytes() int64 { return b.Len * int64(b.Elem.Bytes()) }

// At is the place of the elements of b from index x on, contiguous in lanes.
func (b *Buffer) At(x Index) Ref { return Ref{Buf: b, Index: x, Stride: 1} }

// Ref is a place in memory for each lane of a load or store. Lane l is element
//
//	Index + Stride·l          without Gather: contiguous 1, broadcast 0, else strided
//	Index + Stride·Gather[l]  with Gather, a vector of i32 or i64
//
// A lane whose Mask is false is not accessed and loads zero. As an exception
// the element of a broadcast (Stride 0) must exist whatever the mask says.
// Lanes of a scattering store that meet store in lane order.
type Ref struct {
	Buf    *Buffer
	Index  Index
	Stride int64
	Gather *Value
	Mask   *Value // i1 of as many lanes, or nil
}

// Strided is r with s elements between lanes; 0 broadcasts one element.
func (r Ref) Strided(s int64) Ref { r.Stride = s; return r }

// Gathered is r with lane offsets v (i32 or i64), in units of r.Stride.
func (r Ref) Gathered(v *Value) Ref { r.Gather = v; return r }

// Masked is r for the lanes where m holds; nil means all.
func (r Ref) Masked(m *Value) Ref { r.Mask = m; return r }

// Value is a register: the result of a statement, a loop variable, a carried
// register inside its loop, or the task number.
type Value struct {
	Type Type
	ID   int   // unique in the kernel, dense from 0, in order of creation
	Def  *Stmt // the statement that defines it: for loop variables and carried registers their loop; nil for the task number
}

// Block is a sequence of statements and the values it hands to its loop or If.
type Block struct {
	Stmts []*Stmt
	Yield []*Value
}

// Stmt is one statement. Which fields are meaningful follows from Op.
type Stmt struct {
	Op      Op
	Results []*Value
	Args    []*Value // For: initial carried values; If: the condition; Store: the value
	Bits    uint64   // Const: the element's bits, the same in every lane
	Elem    Elem     // Round: BF16 or F16
	Lanes   []int    // Shuffle: source lanes; Extract: the lane
	Index   Index    // ToValue, TailMask: the index
	Ref     Ref      // Load, Store
	Math    *Math    // Math
	Loop    *Loop    // For
	Then    *Block   // If
	Else    *Block   // If
}

// Math is a function of f32 that takes many statements. A kernel calls it by OpMath, until package
// vmath replaces the call by Expand.
type Math struct {
	Name   string
	Args   int
	Exact  func(x, y float64) float64 // what Expand approximates; y is for two operands
	Expand func(b *Builder, a []*Value) *Value
}

// name is what the text of a kernel calls the operation of s.
func (s *Stmt) name() string {
	if s.Math != nil {
		return s.Math.Name
	}
	return s.Op.String()
}

// Result is the only result of s.
func (s *Stmt) Result() *Value { return s.Results[0] }

// Loop is a counted loop: for Var = Lo; Var < Hi; Var += Step.
type Loop struct {
	Range
	Var   *Value
	Carry []*Value // registers seen in the body; initial values in Stmt.Args, next ones in Body.Yield, final ones in Stmt.Results
	Body  *Block
}

// Range is the iteration space of a loop.
type Range struct {
	Lo, Hi Index
	Step   int64 // positive
	Unroll int   // 0 leaves it to the compiler, 1 forbids, n > 1 asks for n, UnrollFull for all
}

// UnrollFull asks for complete unrolling of a loop with constant bounds.
const UnrollFull = -1

// Span is the range [0, n).
func Span(n int64) Range { return Range{Hi: Int(n), Step: 1} }

// Between is the range [lo, hi).
func Between(lo, hi Index) Range { return Range{Lo: lo, Hi: hi, Step: 1} }

// By is r with the given step.
func (r Range) By(step int64) Range { r.Step = step; return r }

// Unrolled is r with an unroll hint.
func (r Range) Unrolled(n int) Range { r.Unroll = n; return r }

// ScratchBytes is the thread-private memory a task needs, a multiple of 64.
func (k *Kernel) ScratchBytes() int64 {
	var n int64
	for _, s := range k.Sections {
		n = max(n, s.ScratchBytes())
	}
	for _, b := range k.Buffers {
		if b.Space != Global {
			n = max(n, b.Offset+roundUp(b.Bytes(), 64))
		}
	}
	return n
}

// Args are the global buffers in ABI order.
func (k *Kernel) Args() []*Buffer {
	var args []*Buffer
	for _, b := range k.Buffers {
		if b.Space == Global {
			args = append(args, b)
		}
	}
	return args
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// Size is about how much code k is: its statements, those of an unrolled loop as often
// as it is.
func (k *Kernel) Size() int {
	n := 0
	for _, b := range k.Bodies() {
		n += b.Body.size()
	}
	return n
}

func (b *Block) size() int {
	if b == nil {
		return 0
	}
	n := len(b.Stmts)
	for _, s := range b.Stmts {
		if s.Loop != nil {
			n += s.Loop.Body.size() * max(1, s.Loop.Unroll)
		}
		n += s.Then.size() + s.Else.size()
	}
	return n
}
