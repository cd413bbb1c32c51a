package tiletest

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"

	"ptc/backend/tile"
	"ptc/ir/tensor"
)

// Options are the ways an interpretation may differ.
type Options struct {
	// Exact computes in float64 throughout, whatever the dtypes. Otherwise floats
	// narrower than f64 are computed in f32, and rounded to their dtype where they are
	// cast, stored or put into shared memory.
	Exact bool
	// Seed draws the order of tasks, and which copies read their source when they are
	// waited for instead of when they are issued.
	Seed int64
}

// Most of what is interpreted.
const (
	maxTasks    = 1 << 22
	maxElements = 1 << 24
)

// Run runs p on memory for its arguments, in their order. A result in the place of an
// argument has the argument's memory.
func (opt Options) Run(p *tile.Program, args []*Memory) error {
	m := &machine{opt: opt, p: p, r: rand.New(rand.NewSource(opt.Seed)), mem: map[*tile.Buffer]*Memory{}}
	for _, b := range p.Buffers {
		if b.Len > maxElements {
			return fmt.Errorf("tile %s: buffer %s has %d elements; at most %d are interpreted", p.Name, b.Name, b.Len, maxElements)
		}
		if b.Use == tile.Work {
			m.mem[b] = Blank(b.Len)
			continue
		}
		if len(args) == 0 || int64(len(args[0].Data)) != b.Len {
			return fmt.Errorf("tile %s: buffer %s has %d elements, and no memory of that size is given", p.Name, b.Name, b.Len)
		}
		m.mem[b], args = args[0], args[1:]
		m.fresh(b)
	}
	if len(args) > 0 {
		return fmt.Errorf("tile %s: %d memories given that it does not take", p.Name, len(args))
	}
	for i, ph := range p.Phases {
		m.me.phase = int64(i) + 1
		if err := m.tasks(ph); err != nil {
			return fmt.Errorf("tile %s: phase %d, %w", p.Name, m.me.phase, err)
		}
	}
	return nil
}

// fresh forgets who used the memory of b before, in another run.
func (m *machine) fresh(b *tile.Buffer) {
	cells := m.mem[b].cells
	for i := range cells {
		cells[i] = cell{written: cells[i].written}
	}
}

// machine is the state of an interpretation.
type machine struct {
	opt  Options
	p    *tile.Program
	r    *rand.Rand
	mem  map[*tile.Buffer]*Memory
	me   access
	now  int64 // counts operations
	at   map[*tile.Range]int64
	env  map[*tile.Value]*value
	runs []iterations
}

// value is the elements of a tile. Axes of the tensor are named by ranges, and as long
// as there are existing positions.
type value struct {
	*tensor.Tensor
	copy *copying // under way, or nil
}

// iterations is when the last iterations of a loop began, the present one last.
type iterations struct {
	stages int
	began  []int64
}

// tasks runs the tasks of a phase in a random order.
func (m *machine) tasks(ph *tile.Phase) error {
	n := int64(1)
	for _, r := range ph.Grid {
		if n *= r.Blocks(); n > maxTasks {
			return fmt.Errorf("more than %d tasks; no more are interpreted", maxTasks)
		}
	}
	for _, t := range m.r.Perm(int(n)) {
		m.me.task = int64(t)
		m.at = map[*tile.Range]int64{}
		m.env = map[*tile.Value]*value{}
		rest := int64(t)
		for _, r := range slices.Backward(ph.Grid) {
			m.enter(r, rest%r.Blocks())
			rest /= r.Blocks()
		}
		if err := m.block(ph.Body); err != nil {
			return fmt.Errorf("task %d (%s): %w", t, m.where(ph.Grid), err)
		}
	}
	return nil
}

// enter puts r at the n-th block that it visits.
func (m *machine) enter(r *tile.Range, n int64) {
	if r.Reversed {
		n = r.Blocks() - 1 - n
	}
	m.at[r] = n * r.Size
}

func (m *machine) where(rs []*tile.Range) string {
	var s []string
	for _, r := range rs {
		s = append(s, fmt.Sprintf("%s=%d", r.Name, m.at[r]))
	}
	return strings.Join(s, " ")
}

// present is the number of existing positions of r.
func (m *machine) present(r *tile.Range) int64 { return min(r.Size, r.Extent-m.at[r]) }

// block runs b. What it defines is gone after it, but for what it yields.
func (m *machine) block(b *tile.Block) error {
	for _, o := range b.Ops {
		m.now++
		err := m.op(o)
		if nested, ok := err.(*opError); ok {
			return nested
		}
		if err != nil {
			return &opError{m.p.Line(o), err}
		}
	}
	for _, o := range b.Ops {
		for _, v := range o.Results {
			if x := m.env[v]; x != nil && x.copy != nil {
				return &opError{m.p.Line(o), fmt.Errorf("the copy is never waited for")}
			}
		}
	}
	return nil
}

// opError is an error with the operation where it happened.
type opError struct {
	line string
	err  error
}

func (e *opError) Error() string { return fmt.Sprintf("%v\n\t%s", e.err, e.line) }
func (e *opError) Unwrap() error { return e.err }

// forget drops what b defines.
func (m *machine) forget(b *tile.Block) {
	for _, o := range b.Ops {
		for _, v := range o.Results {
			delete(m.env, v)
		}
	}
}

// read is the elements of v.
func (m *machine) read(v *tile.Value) (*tensor.Tensor, error) {
	x := m.env[v]
	if x == nil {
		return nil, fmt.Errorf("a tile %s is read where it is not: not yet, or no longer", v.Type)
	}
	if x.copy != nil {
		return nil, fmt.Errorf("a copy %s is read before it is waited for", v.Type)
	}
	return x.Tensor, nil
}

func (m *machine) readAll(vs []*tile.Value) ([]*tensor.Tensor, error) {
	out := make([]*tensor.Tensor, len(vs))
	for i, v := range vs {
		var err error
		if out[i], err = m.read(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (m *machine) setAll(vs []*tile.Value, to []*tensor.Tensor) {
	for i, v := range vs {
		m.env[v] = &value{Tensor: to[i]}
	}
}

// scalar is the number that a scalar is.
func (m *machine) scalar(v *tile.Value) (float64, error) {
	t, err := m.read(v)
	if err != nil {
		return 0, err
	}
	return t.Data[0], nil
}

func (m *machine) loop(o *tile.Op) error {
	l, r := o.Loop, o.Range
	from, to := int64(0), r.Extent
	for _, b := range []struct {
		v  *tile.Value
		to *int64
	}{{l.From, &from}, {l.To, &to}} {
		if b.v == nil {
			continue
		}
		x, err := m.scalar(b.v)
		if err != nil {
			return err
		}
		*b.to = max(0, min(int64(x), r.Extent))
	}
	var blocks []int64
	for n := from / r.Size; n < r.Blocks() && n*r.Size < to; n++ {
		if min((n+1)*r.Size, r.Extent) > from {
			blocks = append(blocks, n)
		}
	}
	if r.Reversed {
		slices.Reverse(blocks)
	}
	carried, err := m.readAll(o.Args)
	if err != nil {
		return err
	}
	m.runs = append(m.runs, iterations{stages: l.Stages})
	for _, n := range blocks {
		it := &m.runs[len(m.runs)-1]
		m.now++
		it.began = append(it.began, m.now)
		m.at[r] = n * r.Size
		m.setAll(l.Carry, carried)
		if err := m.block(l.Body); err != nil {
			return err
		}
		if carried, err = m.readAll(l.Body.Yield); err != nil {
			return err
		}
		m.forget(l.Body)
	}
	m.runs = m.runs[:len(m.runs)-1]
	delete(m.at, r)
	for _, c := range l.Carry {
		delete(m.env, c)
	}
	m.setAll(o.Results, carried)
	return nil
}

func (m *machine) branch(o *tile.Op) error {
	c, err := m.scalar(o.Args[0])
	if err != nil {
		return err
	}
	b := o.Else
	if c != 0 {
		b = o.Then
	}
	if err := m.block(b); err != nil {
		return err
	}
	out, err := m.readAll(b.Yield)
	if err != nil {
		return err
	}
	m.forget(b)
	m.setAll(o.Results, out)
	return nil
}
