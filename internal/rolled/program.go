package rolled

import (
	"fmt"
	"iter"
)

// Run says that the operations from From up to To are issued for each instance of a stack.
type Run struct {
	Way
	From, To int
}

// Task says that the operations from From up to To are issued for each microbatch, or once.
type Task struct {
	From, To int
	Once     bool
}

// Tick is a time at which a task, by its number, is issued. The microbatch of a task that is issued once is 0.
type Tick struct{ Task, Micro int }

// Text is a program as it is written: its operations are known by their number. Without tasks, all of it is
// issued once.
type Text struct {
	Ops   int
	Ahead func(i int) int // of an operation of a run, in iterations of the run; of another one, 1 if it is posted
	Runs  []Run           // in order, each inside of one task
	Tasks []Task          // in order, of all operations
	Ticks []Tick
	Micro int // microbatches
}

// Program is a text with what each of its operations belongs to.
type Program struct {
	Text
	run, task []int32 // by operation, numbers from 1; 0: none
}

// New is the program of a text.
func New(t Text) *Program {
	if len(t.Tasks) == 0 {
		t.Tasks, t.Ticks = []Task{{To: t.Ops, Once: true}}, []Tick{{}}
	}
	p := &Program{Text: t, run: make([]int32, t.Ops), task: make([]int32, t.Ops)}
	for j, r := range t.Runs {
		for i := r.From; i < r.To; i++ {
			p.run[i] = int32(j + 1)
		}
	}
	for j, x := range t.Tasks {
		for i := x.From; i < x.To; i++ {
			p.task[i] = int32(j + 1)
		}
	}
	return p
}

// RunOf is the number of the run that operation i is in, or -1.
func (p *Program) RunOf(i int) int { return int(p.run[i]) - 1 }

// TaskOf is the number of the task that operation i is in.
func (p *Program) TaskOf(i int) int { return int(p.task[i]) - 1 }

// PerMicro reports whether operation i is issued for each microbatch.
func (p *Program) PerMicro(i int) bool { return !p.Tasks[p.TaskOf(i)].Once }

// Instances is for how many instances operation i is issued.
func (p *Program) Instances(i int) int {
	if r := p.RunOf(i); r >= 0 {
		return p.Runs[r].Count
	}
	return 1
}

// Times is how often operation i is issued: for each instance, and for each microbatch.
func (p *Program) Times(i int) int {
	n := p.Instances(i)
	if p.PerMicro(i) {
		n *= p.Micro
	}
	return n
}

// Issued is how many instructions the program has when it is written out.
func (p *Program) Issued() (n int) {
	for i := range p.Ops {
		n += p.Times(i)
	}
	return n
}

// Posted reports whether operation i is issued at the head of the tick before its own.
func (p *Program) Posted(i int) bool { return p.RunOf(i) < 0 && p.PerMicro(i) && p.Ahead(i) > 0 }

// PostedOf are the posted operations of a task.
func (p *Program) PostedOf(task int) (out []int) {
	for i := p.Tasks[task].From; i < p.Tasks[task].To; i++ {
		if p.Posted(i) {
			out = append(out, i)
		}
	}
	return out
}

// Heads says which posted operations are issued at the head of tick i of the table: its own, if no tick
// of a microbatch is before it, and those of the next tick.
//
//	forward:0              forward:1      backward:0
//	├ own 0, next 1        ├ next 0       ├ …
//	└ the rest of 0        └ the rest     └ the rest
func (p *Program) Heads(i int) (own, next bool) {
	once := func(i int) bool { return p.Tasks[p.Ticks[i].Task].Once }
	return i == 0 || once(i-1), i+1 < len(p.Ticks) && !once(i)
}

// Order yields the operations of a run as they are issued, with the numbers of their instances in the stack.
func (p *Program) Order(r *Run) iter.Seq2[int, int] {
	return func(yield func(i, k int) bool) {
		for i, n := range r.Way.Order(r.To-r.From, func(i int) int { return p.Ahead(r.From + i) }) {
			if !yield(r.From+i, r.Number(n)) {
				return
			}
		}
	}
}

// Aheads are the least and the most that operations of a run are ahead.
func (p *Program) Aheads(r *Run) (least, most int) {
	return Aheads(r.To-r.From, func(i int) int { return p.Ahead(r.From + i) })
}

// Parts yields what a task consists of, in the order of the text: operations outside of runs, and the first
// operations of runs with their run.
func (p *Program) Parts(task int) iter.Seq2[int, *Run] {
	return func(yield func(i int, r *Run) bool) {
		for i := p.Tasks[task].From; i < p.Tasks[task].To; {
			var r *Run
			at := i
			if i++; p.run[at] > 0 {
				r = &p.Runs[p.run[at]-1]
				i = r.To
			}
			if !yield(at, r) {
				return
			}
		}
	}
}

// InTick yields the operations of a task as they are issued in one tick, with the numbers of their
// instances: those that are posted too, as if it were alone.
func (p *Program) InTick(task int) iter.Seq2[int, int] {
	return func(yield func(i, k int) bool) {
		for i, r := range p.Parts(task) {
			if r == nil {
				if !yield(i, Once) {
					return
				}
				continue
			}
			for i, k := range p.Order(r) {
				if !yield(i, k) {
					return
				}
			}
		}
	}
}

// Head is the operation that a tick of a task begins with, besides those that are posted; -1 if there is none.
func (p *Program) Head(task int) int {
	for i := range p.InTick(task) {
		if !p.Posted(i) {
			return i
		}
	}
	return -1
}

// Issue is one time that an operation is issued.
type Issue struct {
	Op       int
	Instance int  // its number in the stack, or Once
	Micro    int  // the microbatch, or Once
	First    bool // in the first tick of its task
}

func (x Issue) String() string {
	s := fmt.Sprintf("instruction %d", x.Op)
	if x.Instance != Once {
		s += fmt.Sprintf(" of instance %d", x.Instance)
	}
	if x.Micro != Once {
		s += fmt.Sprintf(" for microbatch %d", x.Micro)
	}
	return s
}

// Issues yields all that is issued, in order.
func (p *Program) Issues() iter.Seq[Issue] {
	return func(yield func(Issue) bool) {
		had := make([]bool, len(p.Tasks))
		for i, t := range p.Ticks {
			own, next := p.Heads(i)
			if own && !p.tick(t, !had[t.Task], true, yield) {
				return
			}
			if next {
				if n := p.Ticks[i+1]; !p.tick(n, !had[n.Task] && n.Task != t.Task, true, yield) {
					return
				}
			}
			if !p.tick(t, !had[t.Task], false, yield) {
				return
			}
			had[t.Task] = true
		}
	}
}

// tick yields what a tick issues that is posted, or else.
func (p *Program) tick(t Tick, first, posted bool, yield func(Issue) bool) bool {
	x := Issue{Micro: t.Micro, First: first}
	if p.Tasks[t.Task].Once {
		x.Micro = Once
	}
	for i, k := range p.InTick(t.Task) {
		if x.Op, x.Instance = i, k; p.Posted(i) == posted && !yield(x) {
			return false
		}
	}
	return true
}
