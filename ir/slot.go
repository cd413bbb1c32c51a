package ir

import (
	"slices"

	"ptc/internal/rolled"
)

// FuncClass is what a function is for.
type FuncClass uint8

const (
	NoClass FuncClass = iota
	Entry             // what the runtime calls: its arguments and results have roles
	Kernel            // one launch; its arguments and results have the roles in and out
)

var funcClasses = []string{"", "entry", "kernel"}

func (c FuncClass) String() string { return funcClasses[c] }

// Phase is the part of a training step that an operation belongs to.
type Phase uint8

const (
	NoPhase Phase = iota
	Forward
	Backward
	Update
)

var phases = []string{"", "forward", "backward", "update"}

func (p Phase) String() string { return phases[p] }

// Memory is a kind of memory that values lie in.
type Memory uint8

const (
	Device Memory = iota // a device's own, which kernels read and write
	Host                 // the host's
	Disk                 // a file on the host's disk
)

var memories = []string{"device", "host", "disk"}

func (m Memory) String() string { return memories[m] }

// ParseMemory is the inverse of [Memory.String].
func ParseMemory(s string) (Memory, bool) {
	i := slices.Index(memories, s)
	return Memory(max(i, 0)), i >= 0
}

// Memories lists the kinds.
func Memories() []Memory { return []Memory{Device, Host, Disk} }

// Index is the number of a stage or of a microbatch, or none: the zero value.
type Index int32

// At is the index n.
func At(n int) Index { return Index(n + 1) }

// Get is the number, and whether there is one.
func (x Index) Get() (int, bool) { return int(x) - 1, x > 0 }

// Or is the number, or def where there is none.
func (x Index) Or(def int) int {
	if x > 0 {
		return int(x) - 1
	}
	return def
}

// Slot is where and when an operation runs.
type Slot struct {
	Stage Index // virtual stage; an operation without it runs on every stage that reads it
	Micro bool  // it runs once for each microbatch, not once a step
	Task  *Task // that it is in, where the function has tasks
	Phase Phase
	Remat bool // a forward operation rematerialized for the backward phase
	Run   *Run // that it is in, for each instance of a stack; nil where it runs once
	// Ahead is by how many iterations of its run it is issued before the operations that
	// stand next to it, below 0 behind them; see [Stack].
	Ahead int
}

// Over is s, and what it does not say as under has it.
func (s Slot) Over(under Slot) Slot {
	if s.Stage == 0 {
		s.Stage = under.Stage
	}
	s.Micro = s.Micro || under.Micro
	if s.Task == nil {
		s.Task = under.Task
	}
	if s.Phase == NoPhase {
		s.Phase = under.Phase
	}
	s.Remat = s.Remat || under.Remat
	if s.Run == nil {
		s.Run = under.Run
	}
	return s
}

// Wait says of an operation at level planned whether it waits for all that were
// issued before it.
type Wait uint8

const (
	WaitUnset Wait = iota
	NoWait
	WaitAll
	// WaitFirst is of a call that is alone in its run: it waits for its first instance,
	// and the others run concurrently with that one.
	WaitFirst
)

// waitFirst is how the text has WaitFirst.
const waitFirst = Name("first")

// Waits is the wait that the truth value stands for.
func Waits(wait bool) Wait {
	if wait {
		return WaitAll
	}
	return NoWait
}

// Offset is a place in a memory in bytes, or none: the zero value.
type Offset int64

// OffsetOf is the offset of n bytes.
func OffsetOf(n int64) Offset { return Offset(n + 1) }

// Get is the number of bytes, and whether there is one.
func (x Offset) Get() (int64, bool) { return int64(x) - 1, x > 0 }

// Bytes is the number of bytes, 0 where there is none.
func (x Offset) Bytes() int64 { return max(int64(x)-1, 0) }

// Spread says where the instances of a value are in memory, of a stack and of microbatches.
type Spread = rolled.Spread
