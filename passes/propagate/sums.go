package propagate

import (
	"slices"

	"ptc/internal/units"
	"ptc/ir"
	directives "ptc/ir/layout"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// Regroup adds up partial sums before anything else is added, where a rule between modules shards the other terms
// over the same mesh axis:
//
//	x seq@tp ─▶ + ─────────────▶ + ─▶ y seq@tp        x seq@tp ────────────▶ + ─▶ y seq@tp
//	attention ──┘ scatter        │                    attention ─▶ + ───────┘ scatter
//	MLP ─────────────────scatter─┘                    MLP ─────────┘
//
// The partial sums of attention and MLP are two tensors to reduce-scatter on the left, and one on the right. Where all
// are stored in one dtype of 16 bits their sum is rounded to it, so that devices send no more than for one of them.
//
// A propagation of the function as it is shows which terms are partial, and one of the function with the sums in
// the new order whether devices send less; otherwise it stays.
func Regroup(c *pass.Context, m *ir.Module) error {
	if m.Devices() == 1 || !slices.ContainsFunc(directives.All[*directives.Shard](directives.Of(m)), func(s *directives.Shard) bool { return len(s.Between) > 0 }) {
		return nil
	}
	var l *layout
	quiet := &pass.Context{}
	for i, f := range m.Funcs {
		if f.Class != ir.Entry || len(sumsOf(f)) == 0 {
			continue
		}
		if l == nil { // of a copy, as a mesh may be refined
			l = rulesOf(quiet, m.Clone())
		}
		before := l.choose(quiet, f)
		g := f.Clone()
		n, first := regroup(g, before), sumsOf(f)[0].root
		if n == 0 {
			c.Because(first, "@%s: no sum is regrouped: none has two terms that are partial over the same mesh axes", f.Name)
			continue
		}
		if sent := l.choose(quiet, g).sent; sent >= before.sent {
			c.Because(first, "@%s: %d sums are not regrouped: a device would send %s a step instead of %s", f.Name, n, units.Bytes(sent), units.Bytes(before.sent))
			continue
		}
		if !c.May("add partial terms first", first) {
			continue
		}
		m.Funcs[i] = g
		c.Remarkf(nil, "@%s: partial terms are added first and reduced once in %s", f.Name, units.Plural(n, "sum"))
	}
	return nil
}

// sum is an operation that adds, and all terms in order, where it alone reads what others add.
type sum struct {
	root  *ir.Op
	terms []*ir.Value
}

// sumsOf are the sums of three and more tensors with the same axes, in whichever order.
func sumsOf(f *ir.Func) (sums []sum) {
	uses := f.Uses()
	inner := map[*ir.Op]bool{}
	for i := len(f.Ops) - 1; i >= 0; i-- {
		o := f.Ops[i]
		if inner[o] || !adds(o) {
			continue
		}
		s := sum{root: o}
		var flatten func(v *ir.Value)
		flatten = func(v *ir.Value) {
			if d := v.Def; d != nil && uses[v] == 1 && adds(d) && d.Slot == o.Slot {
				inner[d] = true
				flatten(d.Args[0])
				flatten(d.Args[1])
				return
			}
			s.terms = append(s.terms, v)
		}
		flatten(o.Args[0])
		flatten(o.Args[1])
		if len(s.terms) > 2 {
			sums = append(sums, s)
		}
	}
	slices.Reverse(sums)
	return sums
}

// adds reports whether o adds two floating-point tensors, of which each has all axes of the result.
func adds(o *ir.Op) bool {
	t := o.Result().Type
	if o.Name != op.Add || t.Rank() == 0 || !t.DType.IsFloat() {
		return false
	}
	return !slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return v.Type.Rank() != t.Rank() })
}

// regroup has the sums of f add partial terms first, as the propagation of a copy of f shows them, and gives the number of
// sums that it changed.
func regroup(f *ir.Func, t *trial) (changed int) {
	states := partialOf(f, t)
	of := map[*ir.Op]*grouped{}
	for _, s := range sumsOf(f) {
		if g := groupsOf(&s, states); g != nil {
			of[s.root] = g
			changed++
		}
	}
	if changed == 0 {
		return 0
	}
	ops := f.Ops
	f.Ops = make([]*ir.Op, 0, len(ops)+2*changed)
	for _, o := range ops {
		if g := of[o]; g != nil {
			g.add(f, o)
		}
		f.Ops = append(f.Ops, o)
	}
	f.DropDead(nil)
	return changed
}

// partialOf is over which mesh axes the values of f are partial sums that nothing else reads in their phase, as one text,
// or could be, being linear in one that was reduced before. t is a propagation of a copy of f.
func partialOf(f *ir.Func, t *trial) map[*ir.Value]string {
	uses := usesInPhase(f, t)
	at := make(map[*ir.Value]string, len(f.Ops))
	for i, o := range f.Ops {
		for k, v := range o.Results {
			over := ""
			for _, p := range t.ops[i].Results[k].Type.Partial {
				if p.Reduce == "sum" {
					over += " " + p.Mesh
				}
			}
			if over == "" && len(o.Results) == 1 {
				over = carried(o, at)
			}
			if over != "" && uses[v] == 1 {
				at[v] = over
			}
		}
	}
	return at
}

// usesInPhase counts the operations that read each value in the phase in which it is made.
func usesInPhase(f *ir.Func, t *trial) map[*ir.Value]int {
	made, uses := make(map[*ir.Value]ir.Phase, len(f.Ops)), make(map[*ir.Value]int, len(f.Ops))
	for i, o := range f.Ops {
		phase := t.facts.phases[t.ops[i]]
		for _, v := range o.Args {
			if made[v] == phase {
				uses[v]++
			}
		}
		for _, v := range o.Results {
			made[v] = phase
		}
	}
	return uses
}

// carried is over which mesh axes the result of o could be a partial sum, by what its operands are.
func carried(o *ir.Op, at map[*ir.Value]string) string {
	for _, in := range op.LinearIn(o) {
		if len(in) == 0 || at[o.Args[in[0]]] == "" {
			continue
		}
		over := at[o.Args[in[0]]]
		alike := true
		for i, v := range o.Args {
			want := ""
			if slices.Contains(in, i) {
				want = over
			}
			alike = alike && at[v] == want
		}
		if alike {
			return over
		}
	}
	return ""
}

// grouped are the terms of a sum: those that are partial alike, and all others.
type grouped struct {
	partial [][]*ir.Value
	others  []*ir.Value
}

// groupsOf groups the terms of s, or is nil where that changes nothing: no two are partial alike, or all are.
func groupsOf(s *sum, partial map[*ir.Value]string) *grouped {
	g, at, some := &grouped{}, map[string]int{}, false
	for _, v := range s.terms {
		over := partial[v]
		if over == "" {
			g.others = append(g.others, v)
			continue
		}
		i, known := at[over]
		if !known {
			i = len(g.partial)
			at[over] = i
			g.partial = append(g.partial, nil)
		}
		g.partial[i] = append(g.partial[i], v)
		some = some || len(g.partial[i]) > 1
	}
	if !some || len(g.others) == 0 && len(g.partial) == 1 {
		return nil
	}
	return g
}

// add has root, which is about to follow, add the groups.
func (g *grouped) add(f *ir.Func, root *ir.Op) {
	b := op.Builder{F: f, Scope: root.Scope, Pos: root.Pos, Slot: root.Slot}
	terms := slices.Clone(g.others)
	for _, group := range g.partial {
		inOrder(group, root.Result().Type)
		v := total(&b, group)
		if d := storedIn(group); len(group) > 1 && d != v.Type.DType {
			v = b.Cast(b.Cast(v, d), v.Type.DType)
		}
		terms = append(terms, v)
	}
	inOrder(terms, root.Result().Type)
	last := len(terms) - 1
	root.Args[0], root.Args[1] = total(&b, terms[:last]), terms[last]
}

// inOrder has a term of type t be the first one, if there is one: a sum has its axes in the order of that.
func inOrder(terms []*ir.Value, t ir.Type) {
	if i := slices.IndexFunc(terms, func(v *ir.Value) bool { return v.Type.Equal(t) }); i > 0 {
		terms[0], terms[i] = terms[i], terms[0]
	}
}

// total adds terms up, from the first one on.
func total(b *op.Builder, terms []*ir.Value) *ir.Value {
	v := terms[0]
	for _, w := range terms[1:] {
		v = b.Add(v, w)
	}
	return v
}

// storedIn is the dtype of fewer bytes that all terms are converted from; their own where there is none.
func storedIn(terms []*ir.Value) (d ir.DType) {
	own := terms[0].Type.DType
	for i, v := range terms {
		if v.Def == nil || !op.Has(v.Def, op.Converts) {
			return own
		}
		from := v.Def.Args[0].Type.DType
		if i > 0 && from != d || !from.IsFloat() || from.Size() >= own.Size() {
			return own
		}
		d = from
	}
	return d
}
