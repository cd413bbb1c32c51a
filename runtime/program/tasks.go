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
// the message is on its way, or there, when its own begins, in which it is waited for.
// Posted receives stand first in their task, which is one of microbatches; where there is
// no turn before, or one of a task that is issued once, they are begun at the head of
// their own:
//
//	forward:0              forward:1      backward:0
//	├ recv 0, recv 1, …    ├ recv 2, …    ├ …
//	└ done 0 ── kernels    └ done 1 ──    └ done 2 ──

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

// Pieces are the tasks of a program, or all of it as one that is issued once.
func (p *Program) Pieces() []Task {
	if len(p.Tasks) > 0 {
		return p.Tasks
	}
	return []Task{{To: len(p.Instrs), Once: true}}
}

// Order is the turns of [Program.Pieces].
func (p *Program) Order() []Turn {
	if len(p.Tasks) > 0 {
		return p.Turns
	}
	return []Turn{{}}
}

// micros are the microbatches of each of the pieces, in the order of its turns.
func (p *Program) micros() [][]int {
	out := make([][]int, len(p.Pieces()))
	for _, t := range p.Order() {
		out[t.Task] = append(out[t.Task], t.Micro)
	}
	return out
}

// TaskOf is the task that instruction i is in, or nil.
func (p *Program) TaskOf(i int) *Task {
	n, _ := slices.BinarySearchFunc(p.Tasks, i, func(t Task, i int) int { return t.To - i - 1 })
	if n < len(p.Tasks) && p.Tasks[n].From <= i {
		return &p.Tasks[n]
	}
	return nil
}

// PerMicro says whether instruction i is issued for every microbatch.
func (p *Program) PerMicro(i int) bool {
	t := p.TaskOf(i)
	return t != nil && !t.Once
}

// posted reports whether an instruction that is outside of runs is begun in the turn
// before its own.
func (in *Instr) posted() bool {
	return in.Ahead == 1 && in.Comm != nil && in.Comm.Kind == Recv && in.Comm.Start
}

// begun is where the posted receives of a task end, which stand first in it.
func (p *Program) begun(t *Task) int {
	i := t.From
	for i < t.To && p.Instrs[i].posted() && p.RunOf(i) == nil {
		i++
	}
	return i
}

// begins says whether a turn, by its number among those of [Program.Pieces], begins with
// its own posted receives: else they are begun in the turn before.
func begins(pieces []Task, turns []Turn, i int) bool {
	return i == 0 || pieces[turns[i-1].Task].Once
}

// head is the instruction that is issued first in a turn of a task but for what is
// posted, or -1.
func (p *Program) head(t *Task) int {
	from := p.begun(t)
	if from == t.To {
		return -1
	}
	r := p.RunOf(from)
	if r == nil {
		return from
	}
	_, most := p.aheads(r)
	for i := r.From; ; i++ {
		if p.Instrs[i].Ahead == most {
			return i
		}
	}
}

// moment is when an instruction is issued: for which microbatch, [once] where there is
// none, and whether in the first turn of its task.
type moment struct {
	micro int
	first bool
}
