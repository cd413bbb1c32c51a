package collectives

import (
	"fmt"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/passes/partition"
	"ptc/passes/pass"
)

// Run rewrites every function of m.
func Run(c *pass.Context, m *ir.Module) error {
	if m.Devices() == 1 {
		return nil
	}
	l, planner := optionsOf(m), partition.NewPlanner(m)
	for _, f := range m.Funcs {
		x := &rewriter{c: c, m: m, f: f, l: l, planner: planner}
		x.relabel()
		x.sweeps()
		for _, y := range x.whys {
			c.Because(y.o, "`%s` over %s stays after `%s` over %s: %s", y.o.Name, strings.Join(over(y.o), ", "), y.before.Name, strings.Join(over(y.before), ", "), y.why)
		}
		x.levels()
	}
	return nil
}

// options are what the layout says that matters here.
type options struct {
	forbidden []string     // kinds of collectives
	lists     [][][]string // mesh axes of one `over`, the slowest first, each with its parts
	large     int64        // bytes from which a collective has two levels
	exchange  int64        // the same of all_to_all
}

// Large is the payload from which a sum or a gather over two levels is worth two
// more operations, where the layout does not say: at the 10 GB/s of a link
// between nodes 64 KiB take 7 µs, about what starting two operations costs. An
// all_to_all is always worth it: it saves messages, which small ones are made of.
const Large = 64 << 10

func optionsOf(m *ir.Module) *options {
	l := &options{large: Large}
	for _, r := range layout.Of(m).Rules {
		switch r := r.(type) {
		case *layout.Forbid:
			l.forbidden = append(l.forbidden, r.Collectives...)
		case *layout.TwoLevel:
			l.large, l.exchange = r.Bytes, r.Bytes
		}
		if over := layout.Over(r); len(over) > 1 {
			var list [][]string
			for _, name := range over {
				list = append(list, op.PartsOf(m, name))
			}
			l.lists = append(l.lists, list)
		}
	}
	return l
}

// rewriter is the state of one function.
type rewriter struct {
	c *pass.Context
	m *ir.Module
	f *ir.Func
	l *options
	b op.Builder
	// planner plans the reshards that several collectives are together.
	planner *partition.Planner

	uses map[*ir.Value]int
	with map[*ir.Value]*ir.Value // values that are replaced
	out  []*ir.Op
	// dirty are values whose readers have changed in this sweep.
	dirty map[*ir.Value]bool
	seen  map[string]*ir.Value // collectives of this phase, by what they do
	fired string               // the rule that was applied last
	whys  []unmerged           // of this sweep, if anybody asks
}

// unmerged is two collectives of which one reads the other, and why they are not one.
type unmerged struct {
	o, before *ir.Op
	why       string
}

// relabel takes mesh axes of size 1 off all types: over one device nothing
// is sharded or partial.
func (x *rewriter) relabel() {
	alone := func(mesh string) bool { return x.m.MeshSize(mesh) == 1 }
	if !slices.ContainsFunc(x.m.Mesh, func(a ir.MeshAxis) bool { return a.Size == 1 }) {
		return
	}
	clean := func(v *ir.Value) {
		v.Type = v.Type.Clone()
		for i := range v.Type.Axes {
			a := &v.Type.Axes[i]
			a.Mesh = slices.DeleteFunc(a.Mesh, alone)
		}
		v.Type.Partial = slices.DeleteFunc(v.Type.Partial, func(p ir.Partial) bool { return alone(p.Mesh) })
	}
	for _, a := range x.f.Args {
		clean(a.Value)
	}
	for _, o := range x.f.Ops {
		for _, r := range o.Results {
			clean(r)
		}
		if op.Reorders(o) {
			mesh := slices.DeleteFunc(slices.Clone(o.Attrs.Pairs("mesh")), func(p ir.Pair) bool { return alone(p.To) })
			o.Attrs = o.Attrs.With("mesh", ir.Pairs(mesh))
		}
	}
}

// sweeps applies the rules until none fits. A slice moves by one operation in a sweep, so
// a function may take as many sweeps as it has operations. A rule that fits for longer
// undoes what another does, or what it did itself.
func (x *rewriter) sweeps() {
	for most := len(x.f.Ops) + 100; x.merge(); most-- {
		if most == 0 {
			panic(fmt.Sprintf("collectives: rule \"%s\" rewrites @%s for ever", x.fired, x.f.Name))
		}
	}
}

// merge applies the rules once to every operation, in order, and says whether
// one did.
func (x *rewriter) merge() (changed bool) {
	x.begin()
	loss := map[*ir.Value]bool{}
	for _, r := range x.f.Results {
		loss[r.Value] = loss[r.Value] || r.Role == ir.RoleLoss
	}
	for _, o := range x.f.Ops {
		x.follow(o)
		if !x.try(o) {
			x.out = append(x.out, o)
		} else {
			changed = true
		}
		for _, r := range o.Results {
			if loss[r] {
				x.seen = map[string]*ir.Value{} // what follows is the backward pass
			}
		}
	}
	x.end()
	return changed
}

func (x *rewriter) begin() {
	x.uses = x.f.Uses()
	x.with = map[*ir.Value]*ir.Value{}
	x.seen = map[string]*ir.Value{}
	x.dirty = map[*ir.Value]bool{}
	x.out, x.whys = nil, nil
	x.b = op.Builder{F: x.f, Sink: &x.out}
}

// follow has o read what replaced its operands.
func (x *rewriter) follow(o *ir.Op) {
	for i, a := range o.Args {
		if w := x.with[a]; w != nil {
			o.Args[i] = w
		}
	}
	x.b.Scope, x.b.Pos, x.b.Slot = o.Scope, o.Pos, o.Slot
}

// end takes the new operations, without those that nothing reads any more.
func (x *rewriter) end() {
	x.f.Ops = x.out
	x.f.Replace(x.with)
	x.f.DropDead(func(o *ir.Op) bool {
		return len(o.Results) == 0 || len(o.Args) == 0 || op.Of(o).Class == op.Control
	})
}

// try applies the first rule that fits o, if one does: what reads o's result
// then reads what the rule gives.
func (x *rewriter) try(o *ir.Op) bool {
	if len(o.Results) != 1 || len(o.Args) == 0 || x.c.Spent() {
		return false
	}
	from := len(x.out)
	for i := range rules {
		r := &rules[i]
		w := r.apply(x, o)
		if w == nil {
			x.out = x.out[:from]
			continue
		}
		x.fired = r.name
		x.c.May(r.name, o)
		kept := map[*ir.Value]bool{w: true}
		saved := int64(0)
		for _, n := range x.out[from:] {
			saved -= sent(x.m, n)
			for _, a := range n.Args {
				kept[a] = true
			}
		}
		saved += x.ended(o, kept).Sent
		x.forget(o, kept)
		x.replace(o, w, from)
		x.c.Remarkf(o, "%s: %s over %s for %%%d sends %s", r.name, o.Name, strings.Join(x.over(o), ", "), w.ID, less(saved))
		return true
	}
	x.note(o)
	return false
}

func less(saved int64) string {
	switch saved {
	case 0:
		return "as many bytes as before"
	case 1:
		return "1 byte fewer"
	}
	return fmt.Sprintf("%d bytes fewer", saved)
}

// over is the mesh axes of o or, where o communicates nothing, of the collective
// that it reads.
func (x *rewriter) over(o *ir.Op) []string {
	for !exchange(o) && o.Args[0].Def != nil && len(o.Args[0].Def.Args) > 0 {
		o = o.Args[0].Def
	}
	return o.Attrs.Names("over")
}

// ended is the cost of o and of what nothing reads without it; what computes the
// values of kept goes on.
func (x *rewriter) ended(o *ir.Op, kept map[*ir.Value]bool) (c partition.Cost) {
	x.ending(o, kept, func(o *ir.Op) {
		c.Sent += sent(x.m, o)
		if op.Has(o, op.Exchanges) {
			c.Sends++
		}
		if exchange(o) {
			c.Ops++
		}
	})
	return c
}

// forget takes what has ended from what [same] finds.
func (x *rewriter) forget(o *ir.Op, kept map[*ir.Value]bool) {
	x.ending(o, kept, func(o *ir.Op) {
		if exchange(o) && x.seen[what(o)] == o.Result() {
			delete(x.seen, what(o))
		}
	})
}

func (x *rewriter) ending(o *ir.Op, kept map[*ir.Value]bool, visit func(o *ir.Op)) {
	visit(o)
	for _, v := range o.Args {
		if v.Def != nil && x.only(v) && !kept[v] {
			x.ending(v.Def, kept, visit)
		}
	}
}

// replace has the readers of o read w, which the operations from the given one on
// compute.
func (x *rewriter) replace(o *ir.Op, w *ir.Value, from int) {
	x.with[o.Result()] = w
	x.dirty[w] = true
	for _, n := range x.out[from:] {
		for _, a := range n.Args {
			x.dirty[a] = true
		}
		if why := o.Attrs.Text("why"); exchange(n) && !n.Attrs.Has("why") && why != "" {
			n.Attrs = n.Attrs.With("why", ir.Str(why))
		}
		x.note(n)
	}
}

// only reports whether v has one reader, for sure: readers that this sweep has
// added are counted by the next.
func (x *rewriter) only(v *ir.Value) bool { return x.uses[v] == 1 && !x.dirty[v] }
