package program

import "slices"

// What a pipeline does for each microbatch is there once as well. The instructions of a
// device are cut into tasks (forward, backward; what comes before and after), and the
// schedule is a table of turns: which task is issued next, and for which microbatch.
//
// The first instruction of a turn waits for all before it, and nothing is under way
// between turns but messages that are received ahead. So what is true of a task for one
// microbatch is true of it in every turn in which its buffers are as far from one another.
//
// A receive may be posted: it is begun at the head of the turn before its own, so that
// the message is on its way, or there, when its own begins, in which it is waited for
// ([rolled.Program.Heads]). Posted receives stand first in their task, which is one of
// microbatches.

// Task says that the instructions [From, To) are issued for every microbatch, or once.
type Task struct {
	Name string `cbor:"1,keyasint,omitempty"` // for reading: "forward"
	From int    `cbor:"2,keyasint,omitempty"` // where the task before ends
	To   int    `cbor:"3,keyasint,omitempty"`
	Once bool   `cbor:"4,keyasint,omitempty"`
}

// Turn is one time that a task is issued. In the file it is an array of two numbers, as
// there may be thousands.
type Turn struct {
	_     struct{} `cbor:",toarray"`
	Task  int      // number in Program.Tasks
	Micro int      // number of the microbatch; 0 where the task is issued once
}

// First is a call of another kernel, with the same buffers but for those that nothing
// has written before the first turn: what is added up over microbatches.
type First struct {
	Kernel  int   `cbor:"1,keyasint,omitempty"` // index in Plan.Kernels
	Without []int `cbor:"2,keyasint,omitempty"` // places in Instr.Bufs, ascending
}

// In is the instruction as it is issued in the first turn of its task, or in others.
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

// posted reports whether an instruction that is outside of runs is begun in the turn
// before its own.
func (in *Instr) posted() bool {
	return in.Ahead == 1 && in.Comm != nil && in.Comm.Kind == Recv && in.Comm.Start
}
