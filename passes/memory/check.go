package memory

import (
	"fmt"
	"sort"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/ir/verify"
)

func init() { verify.AtLevel(ir.Planned, "memory", Check) }

// Check proves that no kernel reads a byte that is not of the value it means
// to read: it runs each program over a map of who owns each byte. At the start
// arguments own their places; a call must find its operands whole, and then
// owns the places of its results; at the end every result must be whole, and
// new parameters and states must lie where the old ones did. What functions of
// one device owe each other, [devices] proves.
func Check(m *ir.Module) diag.List {
	var bugs diag.List
	kernels := map[string]*fusion.Kernel{}
	for _, f := range m.Funcs {
		if f.Attrs.Text("class") == "kernel" {
			k, err := fusion.Analyze(f)
			if err != nil {
				return diag.List{{Code: "E0390", Msg: fmt.Sprintf("kernel @%s: %v", f.Name, err)}}
			}
			kernels[f.Name] = k
		}
	}
	for _, f := range m.Funcs {
		if kernels[f.Name] == nil {
			c := &checker{f: f, arena: f.Attrs.Int("arena", 0), kernels: kernels, at: map[*ir.Value]span{}}
			c.run()
			bugs = append(bugs, c.bugs...)
		}
	}
	if len(bugs) == 0 {
		bugs = devices(m)
	}
	return bugs
}

type span struct{ lo, hi int64 }

type owned struct {
	span
	value *ir.Value
}

// flight is a collective that was started and is not done: until then nobody
// may write what it sends, nor touch where it receives.
type flight struct {
	op          *ir.Op
	sends, into []span
}

type checker struct {
	f       *ir.Func
	arena   int64
	kernels map[string]*fusion.Kernel
	at      map[*ir.Value]span
	owners  []owned // disjoint, by lo
	flights []flight
	bugs    diag.List
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
		v, ok := a.Attrs.Get("at").(ir.Int)
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
	k := c.kernels[o.Attrs.Text("fn")]
	offsets := o.Attrs.Ints("at")
	name := o.Name
	if o.Name == "call" {
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
	for _, a := range o.Args {
		if !c.whole(a) {
			c.bug(o, "%d: %s reads %%%d after part of it was overwritten", i, name, a.ID)
		}
	}
	var spans []span
	for j, r := range o.Results {
		s := span{offsets[j], offsets[j] + int64(r.Type.Bytes())}
		for _, t := range spans {
			if s.lo < t.hi && t.lo < s.hi {
				c.bug(o, "%d: %s: two results overlap", i, name)
			}
		}
		spans = append(spans, s)
		for n, a := range o.Args {
			t := c.at[a]
			if s.lo < t.hi && t.lo < s.hi && !(s == t && mayOverwrite(o, k, n, j) && !usedTwice(o, a)) {
				c.bug(o, "%d: %s writes result %d over operand %d, which it cannot do in place", i, name, j, n)
			}
		}
	}
	c.land(o)
	c.keepsClear(i, o, name, spans)
	for j, r := range o.Results {
		c.claim(o, r, offsets[j])
	}
	if op.Started(o) {
		f := flight{op: o, into: spans}
		for _, a := range o.Args {
			f.sends = append(f.sends, c.at[a])
		}
		c.flights = append(c.flights, f)
	}
	return true
}

// land ends the flight that o waits for.
func (c *checker) land(o *ir.Op) {
	if o.Name != "done" {
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
func (c *checker) keepsClear(i int, o *ir.Op, name string, writes []span) {
	for _, f := range c.flights {
		for _, w := range writes {
			if meetAny(w, f.sends) || meetAny(w, f.into) {
				c.bug(o, "%d: %s writes what %s, which is under way, uses", i, name, f.op.Name)
			}
		}
		for _, a := range o.Args {
			if meetAny(c.at[a], f.into) {
				c.bug(o, "%d: %s reads where %s, which is under way, receives", i, name, f.op.Name)
			}
		}
	}
}

func meetAny(s span, all []span) bool {
	for _, t := range all {
		if s.lo < t.hi && t.lo < s.hi {
			return true
		}
	}
	return false
}

// claim makes v the owner of its place, and cuts those who had it.
func (c *checker) claim(o *ir.Op, v *ir.Value, at int64) {
	s := span{at, at + int64(v.Type.Bytes())}
	if at < 0 || at%Align != 0 || s.hi > c.arena {
		c.bug(o, "%%%d at %d..%d is not aligned or not in the arena of %d bytes", v.ID, s.lo, s.hi, c.arena)
	}
	if o == nil {
		for _, w := range c.owners {
			if w.lo < s.hi && s.lo < w.hi {
				c.bug(o, "arguments %%%d and %%%d overlap", w.value.ID, v.ID)
			}
		}
	}
	c.at[v] = s
	out := make([]owned, 0, len(c.owners)+2)
	placed := false
	for _, w := range c.owners {
		if w.hi <= s.lo {
			out = append(out, w)
			continue
		}
		if w.lo < s.lo {
			out = append(out, owned{span{w.lo, s.lo}, w.value})
		}
		if !placed {
			out, placed = append(out, owned{s, v}), true
		}
		if s.hi < w.hi {
			out = append(out, owned{span{max(w.lo, s.hi), w.hi}, w.value})
		}
	}
	if !placed {
		out = append(out, owned{s, v})
	}
	c.owners = out
}

// whole reports whether v owns every byte of its place.
func (c *checker) whole(v *ir.Value) bool {
	s, ok := c.at[v]
	if !ok {
		return false
	}
	at := s.lo
	i := sort.Search(len(c.owners), func(i int) bool { return c.owners[i].hi > s.lo })
	for ; i < len(c.owners) && c.owners[i].value == v && c.owners[i].lo == at; i++ {
		at = c.owners[i].hi
	}
	return at >= s.hi
}
