package lower

import (
	"fmt"
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
)

// Kernel is a launch: an entry, and how it is started.
type Kernel struct {
	Entry  *ptx.Entry
	Blocks int64 // of the grid
	Shared int   // bytes of dynamic shared memory
	Maps   []Map // arguments behind the buffers
	// Programs are what it was lowered from, one for each section.
	Programs []*tile.Program
}

// Kernels lowers p for blocks of so many warps, a power of two: a kernel for each phase, to
// be run one after the other, with the buffers of p as arguments, in their order.
func Kernels(p *tile.Program, warps int, has ...Feature) ([]Kernel, error) {
	var out []Kernel
	for i, ph := range p.Phases {
		name := p.Name
		if len(p.Phases) > 1 {
			name = fmt.Sprintf("%s_%d", p.Name, i)
		}
		b := builder(name, warps, has)
		bufs, from := make([]thread.Pointer, len(p.Buffers)), make([]source, len(p.Buffers))
		for i, buf := range p.Buffers {
			from[i] = source{args: []int{i}}
			bufs[i] = b.Param(fmt.Sprintf("b%d", i), elementwise.Elem(buf.DType))
		}
		m := &mapList{}
		l := begin(b, p, warps, bufs, from, m)
		grid := l.launch(ph)
		if err := l.end(); err != nil {
			return nil, err
		}
		e, shared, err := b.Finish()
		if err != nil {
			return nil, err
		}
		out = append(out, Kernel{Entry: e, Blocks: grid, Shared: shared, Maps: m.all})
	}
	return out, checkGrids(out)
}

// Section is a program of one phase within a kernel, whose tasks are some of the kernel's. Sections
// with one program share its code.
type Section struct {
	Program *tile.Program
	Args    []int // which of the kernel's arguments the program's buffers are
}

// Join lowers programs that have nothing to do with each other as one kernel of so many arguments:
// its blocks are those of the first section, then those of the second, and so on.
func Join(name string, args int, sections []Section, warps int, has ...Feature) (Kernel, error) {
	b := builder(name, warps, has)
	params := make([]thread.Pointer, args)
	for i := range params {
		params[i] = b.Param(fmt.Sprintf("b%d", i), kernel.I32)
	}
	var order []*tile.Program
	first := map[*tile.Program][]int64{} // the first block of each section with the program, and the end
	of := map[*tile.Program][]Section{}
	for _, s := range sections {
		if len(s.Program.Phases) != 1 || len(s.Args) != len(s.Program.Buffers) {
			return Kernel{}, fmt.Errorf("kernel %s: a section of %d phases and %d arguments", name, len(s.Program.Phases), len(s.Args))
		}
		if of[s.Program] == nil {
			order = append(order, s.Program)
		}
		of[s.Program] = append(of[s.Program], s)
	}
	total := int64(0)
	for _, p := range order {
		for range of[p] {
			first[p] = append(first[p], total)
			total += blocks(p.Phases[0])
		}
	}
	at := b.Special(thread.Block)
	i32 := func(n int64) *thread.Value { return b.ConstInt(kernel.Scalar(kernel.I32), n) }
	var err error
	m := &mapList{}
	for i, p := range order {
		body := func() {
			n := b.Sub(at, i32(first[p][0]))
			bufs, from := make([]thread.Pointer, len(p.Buffers)), make([]source, len(p.Buffers))
			for j, buf := range p.Buffers {
				from[j].args = of[p][0].Args[j : j+1]
				bufs[j] = params[of[p][0].Args[j]].As(elementwise.Elem(buf.DType))
				for k, s := range of[p][1:] {
					if s.Args[j] != of[p][0].Args[j] {
						behind := b.Le(i32(first[p][k+1]), at)
						bufs[j] = b.Choose(behind, params[s.Args[j]].As(bufs[j].Elem), bufs[j])
						from[j].args, from[j].conds = append(slices.Clip(from[j].args), s.Args[j]), append(from[j].conds, behind)
					}
				}
			}
			if len(of[p]) > 1 {
				n = b.Rem(n, i32(blocks(p.Phases[0])))
			}
			b.Overlay(func() {
				l := begin(b, p, warps, bufs, from, m)
				l.look(p.Phases[0])
				l.task(p.Phases[0], n)
				if e := l.end(); e != nil && err == nil {
					err = e
				}
			})
		}
		if i == len(order)-1 {
			b.When(b.Le(i32(first[p][0]), at), body)
		} else {
			b.When(b.And(b.Le(i32(first[p][0]), at), b.Lt(at, i32(first[order[i+1]][0]))), body)
		}
	}
	if err != nil {
		return Kernel{}, err
	}
	e, shared, err := b.Finish()
	out := Kernel{Entry: e, Blocks: total, Shared: shared, Maps: m.all}
	if err == nil {
		err = checkGrids([]Kernel{out})
	}
	return out, err
}

func checkGrids(ks []Kernel) error {
	for _, k := range ks {
		if k.Blocks >= 1<<31 {
			return fmt.Errorf("kernel %s: %d tasks; a grid has fewer than 2³¹", k.Entry.Name, k.Blocks)
		}
	}
	return nil
}

// blocks is how many tasks a phase has.
func blocks(ph *tile.Phase) int64 {
	n := int64(1)
	for _, r := range ph.Grid {
		n *= r.Blocks()
	}
	return n
}

// begin is the state before the first phase of p.
func begin(b *thread.Builder, p *tile.Program, warps int, bufs []thread.Pointer, from []source, m *mapList) *lowering {
	l := &lowering{b: b, p: p, warps: warps, bufs: map[*tile.Buffer]thread.Pointer{}, from: map[*tile.Buffer]source{}, maps: m, first: map[*tile.Range]*thread.Value{}, least: map[*tile.Range]int{},
		known: []map[key][]*thread.Value{{}}, held: map[*tile.Value]*layout.Layout{}, placed: map[*tile.Value]placed{}}
	for i, buf := range p.Buffers {
		l.bufs[buf], l.from[buf] = bufs[i], from[i]
	}
	return l
}

// end is what went wrong.
func (l *lowering) end() error {
	if l.err != nil {
		return fmt.Errorf("tile %s: %w", l.p.Name, l.err)
	}
	return nil
}

// launch generates a kernel that has nothing but a phase, and gives the number of its blocks of threads: one for each
// task, some that take tasks in turn, or several for a task.
func (l *lowering) launch(ph *tile.Phase) int64 {
	l.look(ph)
	if x := l.specialize(ph); x != nil {
		return x.run()
	}
	if x := l.cluster(ph); x != nil {
		return x.run()
	}
	l.task(ph, l.b.Special(thread.Block))
	return blocks(ph)
}

// look notes what the code of a phase depends on.
func (l *lowering) look(ph *tile.Phase) {
	l.folds, l.along = folds(ph.Body), along(ph.Body)
	l.pad(ph.Body)
}

// task generates task number n of a phase.
func (l *lowering) task(ph *tile.Phase, n *thread.Value) {
	l.locate(ph, n)
	l.block(ph.Body)
}

// locate enters the blocks of the grid's ranges that task number n has.
func (l *lowering) locate(ph *tile.Phase, n *thread.Value) {
	left := blocks(ph)
	grid := ph.Grid
	if s := l.p.Schedule; s.Raster == schedule.Grouped && s.Group > 0 && len(grid) > 1 {
		rows, cols := grid[len(grid)-2], grid[len(grid)-1]
		grid = grid[:len(grid)-2]
		n = l.grouping(rows, cols, s.Group, n)
		left /= rows.Blocks() * cols.Blocks()
	}
	for i := len(grid) - 1; i >= 0; i-- {
		r := grid[i]
		at := n
		if left /= r.Blocks(); left > 1 {
			size := l.i32(r.Blocks())
			at, n = l.b.Rem(n, size), l.b.Div(n, size)
		}
		if r.Blocks() == 1 {
			at = l.i32(0)
		}
		l.enter(r, at)
	}
}

// grouping enters the block of rows and columns that task n has, whose neighbours share as much of what they read
// as fits side by side: so many blocks of rows take turns, then columns, then come the next rows. It
// gives what is left of n.
func (l *lowering) grouping(rows, cols *tile.Range, group int64, n *thread.Value) *thread.Value {
	plane := l.i32(rows.Blocks() * cols.Blocks())
	at, rest := l.b.Rem(n, plane), l.b.Div(n, plane)
	each := l.i32(group * cols.Blocks())
	first := l.b.Mul(l.b.Div(at, each), l.i32(group))
	there := l.b.Min(l.i32(group), l.b.Sub(l.i32(rows.Blocks()), first)) // fewer rows in the last group
	at = l.b.Rem(at, each)
	l.enter(rows, l.b.Add(first, l.b.Rem(at, there)))
	l.enter(cols, l.b.Div(at, there))
	return rest
}
