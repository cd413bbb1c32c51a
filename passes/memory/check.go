package memory

import (
	"fmt"
	"slices"
	"sort"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/ir/verify"
)

func init() { verify.AtLevel(ir.Planned, "memory", Check) }

// Check proves that no kernel reads a byte that is not of the value it means
// to read: it runs each program over a map of who owns each byte of each memory.
// At the start arguments own their places; a call must find its operands whole,
// and then owns the places of its results; at the end every result must be
// whole, and new parameters and states must lie where the old ones did. A piece
// is whole if the value that it is of owns its bytes; what is held owns the
// bytes of its pieces, which must be whole and lie one behind the other. What
// functions of one device owe each other, [devices] proves.
func Check(m *ir.Module) diag.List {
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
			c := newChecker(f, kernels)
			c.run()
			bugs = append(bugs, c.bugs...)
		}
	}
	if len(bugs) == 0 {
		bugs = devices(m)
	}
	return bugs
}

// span is a range of bytes, of a value or an arena.
type span struct{ lo, hi int64 }

func (s span) meets(t span) bool { return s.lo < t.hi && t.lo < s.hi }

// spot is a range of bytes of a memory.
type spot struct {
	memory ir.Memory
	span
}

func (s spot) meets(t spot) bool { return s.memory == t.memory && s.span.meets(t.span) }

type owned struct {
	span
	value *ir.Value
}

// flight is a collective that was started and is not done: until then nobody
// may write what it sends, nor touch where it receives.
type flight struct {
	op          *ir.Op
	sends, into []spot
}

type checker struct {
	f       *ir.Func
	size    map[ir.Memory]int64 // of the arena of each memory
	kernels map[*ir.Func]*fusion.Kernel
	memory  map[*ir.Value]ir.Memory
	at      map[*ir.Value]spot
	owner   map[*ir.Value]*ir.Value // of a piece: the value whose bytes it has
	owners  map[ir.Memory][]owned   // by memory: disjoint, by lo
	flights []flight
	bugs    diag.List
}

func newChecker(f *ir.Func, kernels map[*ir.Func]*fusion.Kernel) *checker {
	return &checker{f: f, kernels: kernels, memory: op.Memories(f),
		size: arenas(f),
		at:   map[*ir.Value]spot{}, owner: map[*ir.Value]*ir.Value{}, owners: map[ir.Memory][]owned{}}
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
	for _, r := range c.f.Results {
		if r.Role == ir.RoleGrad {
			continue // read when it is computed
		}
		if !c.whole(r.Value) {
			c.bug(nil, "result %s %q (%%%d) is overwritten before the end", r.Role, r.Path, r.Value.ID)
		}
		if a := c.f.Arg(r.Role, r.Path); a != nil && c.at[a.Value] != c.at[r.Value] {
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
	reads := make([]spot, len(o.Args))
	for n, a := range o.Args {
		if reads[n] = c.at[a]; op.Has(o, op.Loads) {
			reads[n] = c.piece(a, o, o.Results[n])
		}
		if !c.owns(a, reads[n]) {
			c.bug(o, "%d: %s reads %%%d after part of it was overwritten", i, name, a.ID)
		}
	}
	var spots []spot
	for j, r := range o.Results {
		s := spot{c.memory[r], span{offsets[j], offsets[j] + int64(r.Type.Bytes())}}
		if slices.ContainsFunc(spots, s.meets) {
			c.bug(o, "%d: %s: two results overlap", i, name)
		}
		spots = append(spots, s)
		for n, a := range o.Args {
			if t := reads[n]; s.meets(t) && !(s == t && mayOverwrite(o, k, n, j) && !usedTwice(o, a)) {
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
		c.flights = append(c.flights, flight{op: o, into: spots, sends: reads})
	}
	return true
}

// piece is where the bytes of a are that result r of o is.
func (c *checker) piece(a *ir.Value, o *ir.Op, r *ir.Value) spot {
	s := c.at[a]
	if axis, from, _, ok := op.Piece(o); ok {
		s.lo += from * int64(a.Type.Strides()[a.Type.Index(axis)]*a.Type.DType.Size())
	}
	s.hi = s.lo + int64(r.Type.Bytes())
	return s
}

// pieces checks what is a part of another value, or is made of parts: nothing is
// written, and all of it is where it says.
func (c *checker) pieces(i int, o *ir.Op) bool {
	r := o.Result()
	s := spot{c.memory[r], span{o.At[0], o.At[0] + int64(r.Type.Bytes())}}
	at := s.lo
	for _, a := range o.Args {
		t := c.at[a]
		if op.Has(o, op.Subview) {
			t, at = c.piece(a, o, r), s.hi
			c.owner[r] = c.root(a)
		}
		if !c.owns(a, t) {
			c.bug(o, "%d: %s is of %%%d after part of it was overwritten", i, o.Name, a.ID)
		}
		switch {
		case op.Has(o, op.Subview) && t != s, op.Has(o, op.Joins) && (t.memory != s.memory || t.lo != at):
			c.bug(o, "%d: %s at %d is not where the bytes of %%%d are", i, o.Name, s.lo, a.ID)
		case op.Has(o, op.Joins):
			at = t.hi
		}
	}
	if s.lo%Align != 0 {
		c.bug(o, "%d: %s at %d is not aligned", i, o.Name, s.lo)
	}
	if c.at[r] = s; op.Has(o, op.Joins) {
		c.claim(o, r, s.lo)
	}
	return true
}

// root is the value that owns the bytes of v.
func (c *checker) root(v *ir.Value) *ir.Value {
	if w := c.owner[v]; w != nil {
		return w
	}
	return v
}

// land ends the flight that o waits for.
func (c *checker) land(o *ir.Op) {
	if !op.Has(o, op.Completes) {
		return
	}
	for n, f := range c.flights {
		if f.op == o.Args[0].Def {
			c.flights = append(c.flights[:n:n], c.flights[n+1:]...)
			return
		}
	}
	c.bug(o, "`done` of what is not under way")
}

// keepsClear reports an operation that touches memory of a flight.
func (c *checker) keepsClear(i int, o *ir.Op, name string, reads, writes []spot) {
	for _, f := range c.flights {
		for _, w := range writes {
			if slices.ContainsFunc(f.sends, w.meets) || slices.ContainsFunc(f.into, w.meets) {
				c.bug(o, "%d: %s writes what %s, which is under way, uses", i, name, f.op.Name)
			}
		}
		for _, r := range reads {
			if slices.ContainsFunc(f.into, r.meets) {
				c.bug(o, "%d: %s reads where %s, which is under way, receives", i, name, f.op.Name)
			}
		}
	}
}

// claim makes v the owner of its place, and cuts those who had it.
func (c *checker) claim(o *ir.Op, v *ir.Value, at int64) {
	s := spot{c.memory[v], span{at, at + int64(v.Type.Bytes())}}
	if at < 0 || at%Align != 0 || s.hi > c.size[s.memory] {
		c.bug(o, "%%%d at %d..%d is not aligned or not in the arena of %d bytes", v.ID, s.lo, s.hi, c.size[s.memory])
	}
	owners := c.owners[s.memory]
	if o == nil {
		for _, w := range owners {
			if w.meets(s.span) {
				c.bug(o, "arguments %%%d and %%%d overlap", w.value.ID, v.ID)
			}
		}
	}
	c.at[v] = s
	out := make([]owned, 0, len(owners)+2)
	placed := false
	for _, w := range owners {
		if w.hi <= s.lo {
			out = append(out, w)
			continue
		}
		if w.lo < s.lo {
			out = append(out, owned{span{w.lo, s.lo}, w.value})
		}
		if !placed {
			out, placed = append(out, owned{s.span, v}), true
		}
		if s.hi < w.hi {
			out = append(out, owned{span{max(w.lo, s.hi), w.hi}, w.value})
		}
	}
	if !placed {
		out = append(out, owned{s.span, v})
	}
	c.owners[s.memory] = out
}

// whole reports whether v owns every byte of its place.
func (c *checker) whole(v *ir.Value) bool {
	s, ok := c.at[v]
	return ok && c.owns(v, s)
}

// owns reports whether v, or the value that it is a piece of, owns every byte of
// a range of its place.
func (c *checker) owns(v *ir.Value, s spot) bool {
	if _, ok := c.at[v]; !ok {
		return false
	}
	at, owners, v := s.lo, c.owners[s.memory], c.root(v)
	i := sort.Search(len(owners), func(i int) bool { return owners[i].hi > s.lo })
	for ; i < len(owners) && at < s.hi && owners[i].value == v && owners[i].lo <= at; i++ {
		at = owners[i].hi
	}
	return at >= s.hi
}
