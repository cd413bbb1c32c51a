package program

import (
	"slices"

	"ptc/internal/collective"
)

// Program is a list of instructions, captured once and replayed: issued as they stand
// or, of a pipeline, task by task in the order of ticks.
type Program struct {
	Name   string  `cbor:"1,keyasint,omitempty"` // "step" or "eval"
	Instrs []Instr `cbor:"2,keyasint,omitempty"`
	Runs   []Run   `cbor:"3,keyasint,omitempty"` // in order; each inside of one task
	Tasks  []Task  `cbor:"4,keyasint,omitempty"` // in order, of all instructions; or none
	Ticks  []Tick  `cbor:"5,keyasint,omitempty"` // of tasks
	Micro  int     `cbor:"6,keyasint,omitempty"` // how many microbatches tasks are for
}

// Task says that the instructions [From, To) are issued for every microbatch, or once: see
// package rolled. The first instruction of a tick waits for all before it. Posted receives
// stand first in their task.
type Task struct {
	Name string `cbor:"1,keyasint,omitempty"` // for reading: "forward"
	From int    `cbor:"2,keyasint,omitempty"` // where the task before ends
	To   int    `cbor:"3,keyasint,omitempty"`
	Once bool   `cbor:"4,keyasint,omitempty"`
}

// Tick is one time that a task is issued. In the file it is an array of two numbers, as
// there may be thousands.
type Tick struct {
	_     struct{} `cbor:",toarray"`
	Task  int      // number in Program.Tasks
	Micro int      // number of the microbatch; 0 where the task is issued once
}

// Stack is a part of a model that is there many times, such as a block.
type Stack struct {
	Name  string `cbor:"1,keyasint,omitempty"`
	Count int    `cbor:"2,keyasint,omitempty"` // instances, numbered from 0
}

// Run says that the instructions [From, To) are issued for every instance of a
// stack, in the order of package rolled. What they have of every instance (a buffer,
// the number in a scope) is then that instance's.
type Run struct {
	Stack int  `cbor:"1,keyasint,omitempty"` // number in Device.Stacks, from 1
	From  int  `cbor:"2,keyasint,omitempty"`
	To    int  `cbor:"3,keyasint,omitempty"`
	Down  bool `cbor:"4,keyasint,omitempty"` // from the last instance to the first
	// Together says that the only instruction, a kernel, is launched once with the tasks
	// of all instances, which do not touch what another one writes: NoWait is that of
	// this launch.
	Together bool `cbor:"5,keyasint,omitempty"`
}

// Instr is one step of a program: a call of a kernel, or a communication.
type Instr struct {
	Kernel int    `cbor:"1,keyasint,omitempty"` // index in Plan.Kernels; 0 where Comm is set
	Bufs   []int  `cbor:"2,keyasint,omitempty"` // indices in Device.Buffers, in the order of the kernel's arguments
	Scope  string `cbor:"3,keyasint,omitempty"`
	// NoWait says that the instruction need not wait for the earlier ones back
	// to the last that waits, that one included: it reads and writes nothing
	// that they write, and writes nothing that they read. It is the opposite of
	// the attribute `wait` of ir(Planned). Validate proves it.
	NoWait bool `cbor:"4,keyasint,omitempty"`
	// Comm, where set, makes this a communication: Bufs are its source and its
	// destination (a send has only the first, a receive only the second, done
	// neither). It always waits for the kernels before it.
	Comm *Comm `cbor:"5,keyasint,omitempty"`
	// Pos is the place in the source that it comes from, such as gpt.ptl:63:9; of
	// a kernel that of the operation which others were fused with.
	Pos string `cbor:"6,keyasint,omitempty"`
	// Ahead is by how many iterations of its run it is issued before the instructions
	// that stand next to it, below 0 behind them; see [Run]. Outside of runs it is 1 of a
	// receive that is begun in the tick before its own, see [Task].
	Ahead int `cbor:"7,keyasint,omitempty"`
	// First is what is called in the first tick of its task in place of Kernel, or nil.
	First *First `cbor:"8,keyasint,omitempty"`
	// With says that the instruction, which does not wait, is launched together with the
	// one before it, a call of the same kernel; both are outside of runs.
	With bool `cbor:"9,keyasint,omitempty"`
}

// First is a call of another kernel, with the same buffers but for those that nothing
// has written before the first tick: what is added up over microbatches.
type First struct {
	Kernel  int   `cbor:"1,keyasint,omitempty"` // index in Plan.Kernels
	Without []int `cbor:"2,keyasint,omitempty"` // places in Instr.Bufs, ascending
}

// In is the instruction as it is issued in the first tick of its task, or in others.
func (in *Instr) In(first bool) *Instr {
	if in.First == nil {
		return in
	}
	out := *in
	if out.First = nil; first {
		out.Kernel, out.Bufs = in.First.Kernel, nil
		for j, b := range in.Bufs {
			if !slices.Contains(in.First.Without, j) {
				out.Bufs = append(out.Bufs, b)
			}
		}
	}
	return &out
}

// posted reports whether an instruction that is outside of runs is begun in the tick
// before its own.
func (in *Instr) posted() bool {
	return in.Ahead == 1 && in.Comm != nil && in.Comm.Kind == collective.Recv && in.Comm.Start
}

// Ends are the buffers that a communication reads, and those that it writes.
func (in *Instr) Ends() (sources, destinations []int) {
	first := len(in.Bufs) / 2
	if in.Comm.Kind == collective.Send {
		first = 1
	}
	return in.Bufs[:first], in.Bufs[first:]
}
