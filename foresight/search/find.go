package search

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"math/bits"
	"slices"

	"ptc/foresight/certificate"
	"ptc/foresight/machine"
	"ptc/internal/wide"
	"ptc/runtime/program"
)

// Prober compiles a layout, the text of a block of a source, without code.
type Prober interface {
	// Plan is the plan of all devices. If the compiler refuses the layout, code is that of its error, and there is no plan.
	Plan(layout string) (plan *program.Plan, code string, err error)
}

// Found is what a search found.
type Found struct {
	Best   *Choice // nil if nothing fits
	Layout string  // its text
	Step   machine.PS
	Bytes  int64
	Least  machine.PS // no layout of the space is faster than this; Step, if the search came to its end
	Probes int
	Leaves int
	// Without a best one, Closest is the path of the part of the space with the least memory, which needs Needs bytes at least.
	Closest string
	Needs   int64
}

// finder is the state of a search.
type finder struct {
	evaluator
	space  *Space
	name   string // of the layout
	slack  int64  // of bounds, in thousandths
	tables map[string]*certificate.Table
	leaves map[string]*certificate.Leaf
	known  map[string]*certificate.Leaf // of Space.Known, by path
	best   *candidate
	probes int
	queue  queue
	trace  func(Progress)
}

// Progress is how far a search is.
type Progress struct {
	Best, Least machine.PS // Best is 0 while nothing is found
	Probes      int
	Open        int
}

// candidate is a branch, or a layout that was evaluated.
type candidate struct {
	*Choice
	least
	order  []int // of its branches down the tree
	tables int   // how many tables its bounds are from
}

// queue has the branches that are not divided yet, those with the best bounds first.
type queue struct {
	all  []*candidate
	less func(a, b *candidate) bool
}

func (q *queue) Len() int           { return len(q.all) }
func (q *queue) Less(i, j int) bool { return q.less(q.all[i], q.all[j]) }
func (q *queue) Swap(i, j int)      { q.all[i], q.all[j] = q.all[j], q.all[i] }
func (q *queue) Push(x any)         { q.all = append(q.all, x.(*candidate)) }
func (q *queue) Pop() any {
	n := len(q.all) - 1
	x := q.all[n]
	q.all = q.all[:n]
	return x
}

// Find searches a space for the best layout, which it calls name. If ctx ends, it gives the best one so far.
func Find(ctx context.Context, p Prober, s *Space, name string, trace func(Progress)) (*Found, *certificate.Certificate, error) {
	return find(ctx, newProbing(p, s, name), s, name, trace)
}

// evaluator says what blocks and layouts take.
type evaluator interface {
	// block is the table of a choice that has one.
	block(at *Choice) (certificate.Table, error)
	// layout is a leaf that has all of its choices: illegal, over or exact.
	layout(c *Choice) (certificate.Leaf, error)
	// best is the time of FLOPs of products of dtypes at the best rate.
	best(dtypes []string, flops int64) machine.PS
	// exchange is the time of a collective.
	exchange(kind string, s machine.Spread, bytes int64) machine.PS
	// between is the time of a message from one rank to another.
	between(from, to int, bytes int64) machine.PS
}

func find(ctx context.Context, e evaluator, s *Space, name string, trace func(Progress)) (*Found, *certificate.Certificate, error) {
	s.prepare()
	f := newFinder(e, s, name)
	f.trace = trace
	f.recall()
	for {
		f.leaves, f.best = map[string]*certificate.Leaf{}, nil
		f.queue = queue{less: func(a, b *candidate) bool { return f.compare(a, b) < 0 }}
		err := f.run(ctx)
		var bound errBound
		switch {
		case errors.As(err, &bound):
			f.slack = bound.parts
			continue
		case err != nil:
			return nil, nil, err
		}
		return f.found(), f.certificate(), nil
	}
}

func newFinder(e evaluator, s *Space, name string) *finder {
	return &finder{space: s, evaluator: e, name: name, slack: whole, tables: map[string]*certificate.Table{}}
}

// run takes branches, the one with the least bound first, until none can have a better layout than the best one.
func (f *finder) run(ctx context.Context) error {
	f.queue.Push(&candidate{Choice: &Choice{}})
	for f.queue.Len() > 0 && ctx.Err() == nil {
		x := heap.Pop(&f.queue).(*candidate)
		if f.best != nil && f.compare(x, f.best) > 0 {
			heap.Push(&f.queue, x)
			return nil
		}
		if err := f.visit(x); err != nil {
			return err
		}
		if f.trace != nil {
			f.trace(f.progress())
		}
	}
	return nil
}

// recall takes the numbers of an earlier search.
func (f *finder) recall() {
	if f.known = map[string]*certificate.Leaf{}; f.space.Known == nil {
		return
	}
	for i := range f.space.Known.Leaves {
		l := &f.space.Known.Leaves[i]
		f.known[l.At] = l
	}
	for i := range f.space.Known.Tables {
		t := &f.space.Known.Tables[i]
		f.tables[t.At] = t
	}
}

func (f *finder) progress() Progress {
	p := Progress{Probes: f.probes, Open: f.queue.Len()}
	if f.best != nil {
		p.Best, p.Least = f.best.step, f.best.step
	}
	if len(f.queue.all) > 0 {
		p.Least = f.queue.all[0].step
	}
	return p
}

// compare orders candidates by the objectives, one after the other, and equal ones by their order in the tree.
func (f *finder) compare(a, b *candidate) int {
	for _, o := range f.space.Auto.Minimize {
		if c := f.byOne(o, a, b); c != 0 {
			return c
		}
	}
	return slices.Compare(a.order, b.order)
}

// byOne compares two candidates by one objective.
func (f *finder) byOne(objective string, a, b *candidate) int {
	switch objective {
	case "memory":
		return compare(a.bytes, b.bytes)
	case "devices":
		return compare(int64(a.Devices), int64(b.Devices))
	case "cost", "energy":
		// Each device has one price and one power, so both are as devices times seconds.
		aHigh, aLow := bits.Mul64(uint64(a.step), uint64(a.Devices))
		bHigh, bLow := bits.Mul64(uint64(b.step), uint64(b.Devices))
		return cmp.Or(cmp.Compare(aHigh, bHigh), cmp.Compare(aLow, bLow))
	}
	return compare(int64(a.step), int64(b.step))
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// visit divides a branch, takes a closer look at it, or evaluates a leaf.
func (f *finder) visit(x *candidate) error {
	if x.Depth == len(Dimensions) {
		return f.evaluate(x)
	}
	if x.Depth == tabled && x.tables < len(f.sources(x.Choice)) {
		return f.look(x)
	}
	for i, c := range f.space.branches(x.Choice) {
		y := &candidate{Choice: c, order: append(slices.Clone(x.order), i), tables: x.tables}
		f.push(y, f.least(y))
	}
	return nil
}

// look reads one more table of a choice.
func (f *finder) look(x *candidate) error {
	if _, err := f.tableOf(f.sources(x.Choice)[x.tables]); err != nil {
		return err
	}
	x.tables++
	f.push(x, f.least(x))
	return nil
}

// least is what a candidate takes at least, by its tables if it has some. A table that the compiler refused says nothing.
func (f *finder) least(x *candidate) least {
	b := f.byFacts(x.Choice)
	if x.tables > 0 {
		for _, s := range f.sources(x.Choice)[:x.tables] {
			if t, ok := f.knownFrom(s, x.Choice); ok {
				y := f.byTable(x.Choice, &t)
				b = least{step: max(b.step, y.step), bytes: max(b.bytes, y.bytes)}
			}
		}
	}
	return least{step: machine.PS(wide.MulDiv(int64(b.step), f.slack, whole)), bytes: wide.MulDiv(b.bytes, f.slack, whole)}
}

// by is what the bounds of a candidate are from.
func (f *finder) by(x *candidate) certificate.By {
	if x.tables == 0 {
		return certificate.Facts
	}
	return f.sources(x.Choice)[x.tables-1].by
}

// push adds a branch with its bound, or makes it a leaf if it takes more memory than there is.
func (f *finder) push(x *candidate, b least) {
	x.least = b
	if b.bytes > f.space.memory {
		f.leaf(x, certificate.Leaf{Why: certificate.Over, By: f.by(x), Bytes: b.bytes})
		return
	}
	heap.Push(&f.queue, x)
}

// leaf notes why a branch is not divided.
func (f *finder) leaf(x *candidate, l certificate.Leaf) {
	l.At = x.Path()
	f.leaves[l.At] = &l
}

// evaluate compiles and simulates a layout.
func (f *finder) evaluate(x *candidate) error {
	f.stages(x.Choice)
	if l := f.known[x.Path()]; l != nil && l.By == certificate.Probe {
		return f.settle(x, *l)
	}
	f.probes++
	l, err := f.layout(x.Choice)
	if err != nil {
		return err
	}
	return f.settle(x, l)
}

// settle notes what a layout takes.
func (f *finder) settle(x *candidate, l certificate.Leaf) error {
	f.leaf(x, l)
	if l.Why == certificate.Illegal {
		return nil
	}
	y := *x
	y.step, y.bytes = machine.PS(l.PS), l.Bytes
	if err := f.admits(x, &y); err != nil {
		return err
	}
	if l.Why == certificate.Exact && (f.best == nil || f.compare(&y, f.best) < 0) {
		f.best = &y
	}
	return nil
}

// stages sets the cut of a choice's pipeline.
func (f *finder) stages(c *Choice) {
	if c.PP == 1 || f.space.fixed() {
		return
	}
	t := &certificate.Table{Forward: 1, Backward: 2}
	if x := f.tables[alone(c, 1, 0).Path()]; x != nil && x.Illegal == "" {
		t = x
	}
	if w := f.space.flow(c, c.Schedule, c.Chunks); w != nil {
		c.Stages = f.space.cut(w, int64(c.microbatches(f.space.Facts)), t)
	}
}

// errBound is a layout that takes less than its bound said.
type errBound struct{ parts int64 }

func (errBound) Error() string { return "a bound is above what a layout takes" }

// whole is the bound without slack, in thousandths.
const whole = 1000

// admits fails if a layout takes less than its bound said: the search then begins again with bounds that leave more out.
func (f *finder) admits(bound, exact *candidate) error {
	parts := int64(whole)
	if exact.step > 0 && exact.step < bound.step {
		parts = min(parts, wide.MulDiv(f.slack, int64(exact.step), int64(bound.step)))
	}
	if exact.bytes < bound.bytes {
		parts = min(parts, wide.MulDiv(f.slack, exact.bytes, bound.bytes))
	}
	if parts < whole && parts <= f.slack {
		return errBound{max(parts-5, 0)}
	}
	return nil
}
