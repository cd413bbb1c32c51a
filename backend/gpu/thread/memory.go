package thread

import "ptc/backend/kernel"

// Pointer is an address in global memory, with what is stored there.
type Pointer struct {
	Elem kernel.Elem
	Base *Value // an i64
	Plus int64  // bytes
}

// As is p for elements e.
func (p Pointer) As(e kernel.Elem) Pointer { p.Elem = e; return p }

// Shared is an array of the memory that the threads of a block share.
type Shared struct {
	Elem   kernel.Elem
	Base   *Value // an i32
	Offset int64  // bytes
}

// Plus is s moved by n elements.
func (s Shared) Plus(n int64) Shared { s.Offset += n * int64(s.Elem.Bytes()); return s }

// Access is how memory is read and written.
type Access struct {
	N  int    // elements next to each other; their bytes are at most 16, and the address a multiple of them
	If *Value // only where it holds; what is not read is zero
	// Have, of a copy, is how many of the elements there are, N or fewer; the others are zero. nil: all.
	Have *Value
}

// Memory is global memory, and that which the threads of a block share.
type Memory interface {
	// Param declares the next argument: the address of elements e.
	Param(name string, e kernel.Elem) Pointer
	// At is p moved by x elements.
	At(p Pointer, x kernel.Index) Pointer
	// Choose is p where cond holds, and otherwise q, which is of the same elements; both are arguments.
	Choose(cond *Value, p, q Pointer) Pointer
	// LoadGlobal reads from global memory. Numbers of 16 and 8 bits come as f32.
	LoadGlobal(p Pointer, a Access) []*Value
	// StoreGlobal writes to global memory. Numbers are rounded where it has 16 bits or 8.
	StoreGlobal(p Pointer, a Access, vs []*Value)

	// NewShared declares n elements e of shared memory, at a multiple of align bytes.
	NewShared(e kernel.Elem, n int, align int) Shared
	// Overlay runs body, whose shared memory nobody has who runs another overlay.
	Overlay(body func())
	// UsesShared reports whether shared memory has been declared so far.
	UsesShared() bool
	// Within is s moved by x elements, an i32.
	Within(s Shared, x *Value) Shared
	// LoadShared reads from shared memory.
	LoadShared(s Shared, a Access) []*Value
	// StoreShared writes to shared memory.
	StoreShared(s Shared, a Access, vs []*Value)
}

// Copies are copies from global to shared memory that run by themselves.
type Copies interface {
	// CopyAsync starts a copy of neighbours from global to shared memory, 4, 8 or 16 bytes. They
	// are zeros where a.If does not hold and behind those that a.Have says, and nothing is written where only does not, if it is not nil.
	// The copy has ended when Await says so.
	CopyAsync(to Shared, from Pointer, a Access, only *Value)
	// Commit closes a group: the thread's copies since the last one.
	Commit()
	// Await waits until at most n of the thread's groups have copies under way.
	Await(n int)
}

// Map is an argument that says how tiles of a tensor are copied.
type Map struct {
	Name   string
	Others []Choice
}

// Choice is another map where a condition holds.
type Choice struct {
	Cond *Value
	Name string
}

// Or is m, or n where cond holds.
func (m Map) Or(cond *Value, n Map) Map {
	return Map{m.Name, append(append([]Choice(nil), m.Others...), Choice{cond, n.Name})}
}

// Barriers are barriers in shared memory that count arrivals and bytes, and copies of tiles of tensors by one thread.
type Barriers interface {
	// ParamMap declares the next argument: a tensor map.
	ParamMap(name string) Map
	// CopyTensor starts the copy of the tile at a position, i32 values, the contiguous dimension first, by
	// the threads for which only holds. Its bytes are counted by a barrier; what is outside of the
	// tensor is zero.
	CopyTensor(to Shared, m Map, at []*Value, barrier Shared, only *Value)
	// InitBarrier makes a barrier of so many arrivals, by the threads for which only holds, which see to it that
	// copies know it (FenceBarriers).
	InitBarrier(s Shared, arrivals int, only *Value)
	// FenceBarriers is between the making of barriers and copies that count their bytes there.
	FenceBarriers()
	// Arrive arrives at a barrier, by the threads for which only holds.
	Arrive(s Shared, only *Value)
	// Expect arrives at a barrier, whose phase is complete when so many bytes are there.
	Expect(s Shared, bytes int, only *Value)
	// AwaitBarrier waits until the phase of a barrier is complete whose number has the given parity, an i32.
	AwaitBarrier(s Shared, parity *Value)
	// EndBarrier has the memory of a barrier free for other things.
	EndBarrier(s Shared, only *Value)
}
