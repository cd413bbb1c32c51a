package thread

import "ptc/backend/kernel"

// Value is a scalar of a thread: an i1, i32, i64, f32 or f64.
type Value = kernel.Value

// Machine makes entries E for blocks of threads of one kind of GPU.
type Machine[E any] interface {
	// Lanes is how many threads a warp has, a power of two.
	Lanes() int
	// Begin begins an entry of so many threads. End ends it, and gives the bytes of shared memory that it takes, or the
	// first error of a mistaken call.
	Begin(name string, threads int) (b *Builder, end func() (entry E, shared int, err error))
}

// Builder makes an entry.
type Builder struct {
	*kernel.Builder // arithmetic on scalars, and If
	Control
	Lanes
	Memory
	Copies
	Barriers
	Matrices
	Groups
	Clusters
	Launch Launch
}

// Launch is how many threads an entry is for, which a caller may change until its end.
type Launch struct {
	Threads  int // of a block
	Resident int // blocks that a multiprocessor shall have at least, for the registers of a thread; 0 for any
	Cluster  int // blocks of a cluster; 0 where there is none
}

// NewBarriers declares n barriers in shared memory.
func (b *Builder) NewBarriers(n int) Shared { return b.NewShared(kernel.I64, n, 8) }
