package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"ptc/internal/diag"
	"ptc/internal/ranges"
	"ptc/ir"
	"ptc/ir/excerpt"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/ir/verify"
)

func init() { verify.AtLevelInRuns(ir.Planned, "memory", check) }

// Check proves that no kernel reads a byte that is not of the value it means
// to read: it runs each program over a map of who owns each byte of each memory.
// At the start arguments own their places; a call must find its operands whole,
// and then owns the places of its results; at the end every result must be
// whole, and new parameters and states must lie where the old ones did. A piece
// is whole if the value that it is of owns its bytes; what is held owns the
// bytes of its pieces, which must be whole and lie one behind the other. What
// functions of one device rely on of each other, [devices] proves.
//
// Of a function with runs, an excerpt is run so, with as few instances as the proof
// needs (see package excerpt). What instances have each in a row of places is a frame,
// which as a whole owns its bytes, from the first access to the last, as a value does.
func Check(m *ir.Module) diag.List { return check(m, verify.Runs{}) }

func check(m *ir.Module, runs verify.Runs) diag.List {
	var bugs diag.List
	kernels := map[*ir.Func]*fusion.Kernel{}
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			k, err := fusion.Analyze(f)
			if err != nil {
				return diag.List{{Code: "E0390", Msg: fmt.Sprintf("kernel @%s: %v", f.Name, err)}}
			}
			kernels[f] = k
		}
	}
	for _, f := range m.Funcs {
		if kernels[f] == nil {
			bugs = append(bugs, function(f, kernels, runs)...)
		}
	}
	if len(bugs) == 0 {
		bugs = devices(m)
	}
	return bugs
}

// function is what is wrong with the places of one.
func function(f *ir.Func, kernels map[*ir.Func]*fusion.Kernel, runs verify.Runs) diag.List {
	if bugs := repeated(f); len(bugs) > 0 {
		return bugs
	}
	if bugs := ticks(f); len(bugs) > 0 {
		return bugs
	}
	x := runs.Of(f)
	c := newChecker(x, kernels)
	c.run()
	return c.bugs
}

// flight is a collective that was started and is not done: until then nobody
// may write what it sends, nor touch where it receives.
type flight struct {
	op          *ir.Op
	number      int // of those that were started
	sends, into []excerpt.Spot
}

type checker struct {
	f       *ir.Func
	size    map[ir.Memory]int64 // of the arena of each memory
	kernels map[*ir.Func]*fusion.Kernel
	memory  map[*ir.Value]ir.Memory
	at      ir.ByValue[excerpt.Spot]
	owner   ir.ByValue[*ir.Value] // of a piece: the value whose bytes it has
	owners  map[ir.Memory]*ranges.Map[*ir.Value]
	flights map[*ir.Op]*flight // that are under way, by what started them
	started int
	x       excerpt.Excerpt
	rows    []*ir.Value // for each frame, who owns its bytes
	begun   []bool
	// sent and got count, for each byte, the flights that send it and that receive
	// it, so that not every operation looks at all that are under way.
	sent, got map[ir.Memory]*ranges.Map[int]
	bugs      diag.List
}

func newChecker(x excerpt.Excerpt, kernels map[*ir.Func]*fusion.Kernel) *checker {
	f := x.F
	c := &checker{f: f, x: x, begun: make([]bool, len(x.Frames)), kernels: kernels, memory: op.Memories(f),
		size: arenas(f),
		at:   ir.ByValueOf[excerpt.Spot](f), owner: ir.ByValueOf[*ir.Value](f), owners: map[ir.Memory]*ranges.Map[*ir.Value]{},
		flights: map[*ir.Op]*flight{}, sent: map[ir.Memory]*ranges.Map[int]{}, got: map[ir.Memory]*ranges.Map[int]{}}
	for _, mem := range memories {
		c.owners[mem], c.sent[mem], c.got[mem] = new(ranges.Map[*ir.Value]), new(ranges.Map[int]), new(ranges.Map[int])
	}
	for range x.Frames {
		c.rows = append(c.rows, &ir.Value{ID: -1})
	}
	return c
}

// size is up to where the addresses go that s may have.
func (c *checker) limit(s excerpt.Spot) int64 {
	if i, end := c.x.Frame(s.Memory, s.Lo); i >= 0 {
		return end
	}
	return c.size[s.Memory]
}

// touch has the frame of s begin, if it has not yet, and reports whether it owns all
// its bytes.
func (c *checker) touch(s excerpt.Spot) bool {
	if s.Frame == 0 {
		return true
	}
	n := s.Frame - 1
	if !c.begun[n] {
		c.begun[n] = true
		c.owners[s.Memory].Set(s.Wide.Lo, s.Wide.Hi, c.rows[n])
	}
	return c.owners[s.Memory].All(s.Wide.Lo, s.Wide.Hi, c.rows[n])
}

func (c *checker) bug(o *ir.Op, format string, args ...any) {
	e := &diag.Error{Code: "E0391", Msg: fmt.Sprintf("@%s: ", c.f.Name) + fmt.Sprintf(format, args...)}
	if o != nil {
		e.Pos = o.Pos
	}
	c.bugs = append(c.bugs, e)
}

func (c *checker) run() {
	for _, a := range c.f.Args {
		v, ok := a.At.Get()
		if !ok {
			c.bug(nil, "argument %%%d has no place", a.Value.ID)
			return
		}
		c.claim(nil, a.Value, int64(v))
	}
	for i, o := range c.f.Ops {
		if !c.call(i, o) {
			return
		}
	}
	args := c.f.Named()
	for _, r := range c.f.Results {
		if r.Role == ir.RoleGrad {
			continue // read when it is computed
		}
		if !c.whole(r.Value) {
			c.bug(nil, "result %s %q (%%%d) is overwritten before the end", r.Role, r.Path, r.Value.ID)
		}
		if a := args.Arg(r.Role, r.Path); a != nil && c.at.Of(a.Value) != c.at.Of(r.Value) {
			c.bug(nil, "new %s %q is not where the old one is", r.Role, r.Path)
		}
	}
}

func (c *checker) call(i int, o *ir.Op) bool {
	k := c.kernels[o.Callee]
	offsets := o.At
	name := o.Name
	if op.Has(o, op.Calls) {
		if k == nil || len(k.F.Args) != len(o.Args) || len(k.F.Results) != len(o.Results) {
			c.bug(o, "call %d: wrong kernel or arguments", i)
			return false
		}
		name = "@" + k.F.Name
	}
	if len(offsets) != len(o.Results) {
		c.bug(o, "%d: %s has no place for every result", i, name)
		return false
	}
	if op.Has(o, op.InPlace) {
		return c.pieces(i, o)
	}
	reads := make([]excerpt.Spot, len(o.Args))
	for n, a := range o.Args {
		if reads[n] = c.at.Of(a); op.Has(o, op.Loads) {
			reads[n] = c.piece(a, o, o.Results[n])
		}
		if !c.owns(a, reads[n]) {
			c.bug(o, "%d: %s reads %%%d after part of it was overwritten", i, name, a.ID)
		}
	}
	spots := make([]excerpt.Spot, len(o.Results))
	for j, r := range o.Results {
		spots[j] = c.x.Spot(c.memory[r], offsets[j], offsets[j]+int64(r.Type.Bytes()))
	}
	read, written := indexOf(reads), indexOf(spots)
	repeated := twiceOf(o)
	var found []int
	for j, s := range spots {
		if found = written.meeting(s, found[:0]); len(found) > 0 && found[0] < j {
			c.bug(o, "%d: %s: two results overlap", i, name)
		}
		found = read.meeting(s, found[:0])
		for _, n := range found {
			if !(s == reads[n] && mayOverwrite(o, k, n, j) && !repeated[o.Args[n]]) {
				c.bug(o, "%d: %s writes result %d over operand %d, which it cannot do in place", i, name, j, n)
			}
		}
	}
	c.land(o)
	c.keepsClear(i, o, name, reads, spots)
	for j, r := range o.Results {
		c.claim(o, r, offsets[j])
	}
	if o.Start {
		c.flights[o] = &flight{op: o, number: c.started, into: spots, sends: reads}
		c.started++
		c.count(c.flights[o], 1)
	}
	return true
}

// count adds n to the flights that use the bytes of f.
func (c *checker) count(f *flight, n int) {
	add := func(m int) int { return m + n }
	for _, s := range f.sends {
		c.sent[s.Memory].Update(s.Wide.Lo, s.Wide.Hi, add)
	}
	for _, s := range f.into {
		c.got[s.Memory].Update(s.Wide.Lo, s.Wide.Hi, add)
	}
}

// piece is where the bytes of a are that result r of o is.
func (c *checker) piece(a *ir.Value, o *ir.Op, r *ir.Value) excerpt.Spot {
	s := c.at.Of(a)
	if axis, from, _, ok := op.Piece(o); ok {
		s.Lo += from * int64(a.Type.Strides()[a.Type.Index(axis)]*a.Type.DType.Size())
	}
	return c.x.Spot(s.Memory, s.Lo, s.Lo+int64(r.Type.Bytes()))
}

// pieces checks what is a part of another value, or is made of parts: nothing is
// written, and all of it is where it says.
func (c *checker) pieces(i int, o *ir.Op) bool {
	r := o.Result()
	s := c.x.Spot(c.memory[r], o.At[0], o.At[0]+int64(r.Type.Bytes()))
	at := s.Lo
	for _, a := range o.Args {
		t := c.at.Of(a)
		if op.Has(o, op.Views) {
			t, at = c.piece(a, o, r), s.Hi
			c.owner.Set(r, c.root(a))
		}
		if !c.owns(a, t) {
			c.bug(o, "%d: %s is of %%%d after part of it was overwritten", i, o.Name, a.ID)
		}
		switch {
		case op.Has(o, op.Views) && t != s, op.Has(o, op.Joins) && (t.Memory != s.Memory || t.Lo != at):
			c.bug(o, "%d: %s at %d is not where the bytes of %%%d are", i, o.Name, s.Lo, a.ID)
		case op.Has(o, op.Joins):
			at = t.Hi
		}
	}
	if s.Lo%Align != 0 {
		c.bug(o, "%d: %s at %d is not aligned", i, o.Name, s.Lo)
	}
	c.at.Set(r, s)
	if op.Has(o, op.Joins) {
		c.claim(o, r, s.Lo)
		for _, a := range o.Args { // whose bytes are as they were
			c.owner.Set(a, r)
		}
	}
	return true
}

// root is the value that owns the bytes of v.
func (c *checker) root(v *ir.Value) *ir.Value {
	for w := c.owner.Of(v); w != nil; w = c.owner.Of(v) {
		v = w
	}
	return v
}

// land ends the flight that o waits for.
func (c *checker) land(o *ir.Op) {
	if !op.Has(o, op.Completes) {
		return
	}
	f := c.flights[o.Args[0].Def]
	if f == nil {
		c.bug(o, "`done` of what is not under way")
		return
	}
	delete(c.flights, f.op)
	c.count(f, -1)
}

// keepsClear reports an operation that touches memory of a flight.
func (c *checker) keepsClear(i int, o *ir.Op, name string, reads, writes []excerpt.Spot) {
	sent := func(s excerpt.Spot) bool { return c.sent[s.Memory].Any(s.Wide.Lo, s.Wide.Hi) }
	got := func(s excerpt.Spot) bool { return c.got[s.Memory].Any(s.Wide.Lo, s.Wide.Hi) }
	if !slices.ContainsFunc(writes, sent) && !slices.ContainsFunc(writes, got) && !slices.ContainsFunc(reads, got) {
		return
	}
	flights := slices.SortedFunc(maps.Values(c.flights), func(a, b *flight) int { return cmp.Compare(a.number, b.number) })
	for _, f := range flights {
		for _, w := range writes {
			if slices.ContainsFunc(f.sends, w.Meets) || slices.ContainsFunc(f.into, w.Meets) {
				c.bug(o, "%d: %s writes what %s, which is under way, uses", i, name, f.op.Name)
			}
		}
		for _, r := range reads {
			if slices.ContainsFunc(f.into, r.Meets) {
				c.bug(o, "%d: %s reads where %s, which is under way, receives", i, name, f.op.Name)
			}
		}
	}
}

// claim makes v the owner of its place, and cuts those who had it.
func (c *checker) claim(o *ir.Op, v *ir.Value, at int64) {
	s := c.x.Spot(c.memory[v], at, at+int64(v.Type.Bytes()))
	if at < 0 || at%Align != 0 || s.Hi > c.limit(s) || s.Wide.Hi > c.size[s.Memory] {
		c.bug(o, "%%%d at %d..%d is not aligned or not in the arena of %d bytes", v.ID, s.Lo, s.Hi, c.size[s.Memory])
	}
	owners := c.owners[s.Memory]
	if o == nil {
		overlaps := func(_, _ int64, w *ir.Value) bool {
			if !slices.Contains(c.rows, w) {
				c.bug(o, "arguments %%%d and %%%d overlap", w.ID, v.ID)
			} else if s.Frame == 0 {
				c.bug(o, "argument %%%d is where instances have each theirs", v.ID)
			}
			return true
		}
		owners.Each(s.Lo, s.Hi, overlaps)
		if s.Frame > 0 && !c.begun[s.Frame-1] {
			owners.Each(s.Wide.Lo, s.Wide.Hi, overlaps)
		}
	}
	if !c.touch(s) {
		c.bug(o, "%%%d is in %d..%d with what other instances have, which was overwritten", v.ID, s.Wide.Lo, s.Wide.Hi)
	}
	c.at.Set(v, s)
	owners.Set(s.Lo, s.Hi, v)
}

// whole reports whether v owns every byte of its place.
func (c *checker) whole(v *ir.Value) bool {
	s, ok := c.at.Lookup(v)
	return ok && c.owns(v, s)
}

// owns reports whether v, or the value that it is a piece of, owns every byte of
// a range of its place.
func (c *checker) owns(v *ir.Value, s excerpt.Spot) bool {
	if _, ok := c.at.Lookup(v); !ok {
		return false
	}
	return c.touch(s) && c.owners[s.Memory].All(s.Lo, s.Hi, c.root(v))
}
