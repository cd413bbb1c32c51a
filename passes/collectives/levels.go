package collectives

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/collective"
	"ptc/ir"
)

// Two levels. Mesh axes that the layout names in one list, `over (node, local)`,
// are nested: devices that differ in the first one only are the farthest apart. A
// exchange over both is then two, of which the one across nodes (slow) is
// between devices of equal local coordinate. With N nodes of E devices, and S
// bytes on each device:
//
//	kind             here                          what goes between nodes, per device
//	all_to_all       fast, then slow               N−1 messages of S/N bytes, not (N−1)·E of S/(N·E)
//	reduce_scatter   fast, then slow               (N−1)/N · S/E bytes, not of S
//	all_gather       slow, then fast               the same
//	all_reduce       scatter fast, reduce slow,    2(N−1)/N · S/E bytes, not of S
//	                 gather fast
//
// All_to_all: Rajbhandari et al., "DeepSpeed-MoE" (2022), section 5.3 (hierarchical
// all-to-all); Hwang et al., "Tutel" (2023), section 3.4 (two-dimensional
// hierarchical all-to-all). All_reduce: Jia et al., "Highly scalable deep learning
// training system with mixed-precision" (2018), section 3.3.2.
//
// An axis that is sharded over both mesh axes is split, so that each part is sharded
// over one:
//
//	B of N·E·b, over (node, local)   →   B_node of N over node, B of E·b over local
//
// and merged again. Both are the reordering that the second exchange needs: in
// memory it is done where pieces are packed.

// levels rewrites the collectives of the function that have two levels.
func (x *rewriter) levels() {
	if len(x.l.lists) == 0 {
		return
	}
	x.begin()
	for _, o := range x.f.Ops {
		x.follow(o)
		if w := x.leveled(o); w != nil {
			x.with[o.Result()] = w
			continue
		}
		x.out = append(x.out, o)
	}
	x.end()
}

func (x *rewriter) leveled(o *ir.Op) *ir.Value {
	if !exchange(o) || len(over(o)) < 2 || x.c.Spent() {
		return nil
	}
	from := len(x.out)
	v := o.Args[0]
	var w *ir.Value
	switch o.Name {
	case collective.AllToAll:
		w = x.exchange(v, axis(o), o.Attrs.Text("to"), over(o))
	case collective.ReduceScatter:
		w = x.reduceScatter(v, axis(o), o.Attrs.Text("reduce"), over(o))
	case collective.AllGather:
		w = x.gather(v, axis(o), over(o))
	case collective.AllReduce:
		if x.allowed(collective.AllGather) && x.allowed(collective.ReduceScatter) {
			w = x.reduce(v, o.Attrs.Text("reduce"), over(o))
		}
	}
	if w == nil || len(x.out) == from+1 { // as it was
		x.out = x.out[:from]
		return nil
	}
	x.c.May("two levels", o)
	if !w.Type.SameAxes(o.Result().Type) {
		panic(fmt.Sprintf("collectives: %s became %s", o.Result().Type, w.Type))
	}
	w.Type = o.Result().Type.Clone()
	x.remarkLevels(o, from)
	return w
}

// remarkLevels says what o became, with the payload of each.
func (x *rewriter) remarkLevels(o *ir.Op, from int) {
	var parts []string
	for _, n := range x.out[from:] {
		if !exchange(n) {
			continue
		}
		if why := o.Attrs.Text("why"); why != "" {
			n.Attrs = n.Attrs.With("why", ir.Str(why))
		}
		parts = append(parts, fmt.Sprintf("%s over %s (sends %d bytes)", n.Name, strings.Join(over(n), ", "), sent(x.m, n)))
	}
	x.c.Remarkf(o, "two levels: %s of %d bytes over %s becomes %s", o.Name, o.Args[0].Type.Bytes(), strings.Join(over(o), ", "), strings.Join(parts, ", "))
}

// nest is mesh axes over which a collective has two levels.
type nest struct {
	slow, fast []string
	major      []string // slow or fast: by which an axis over both is sharded first
}

// nested divides mesh axes at the slowest of them, if the layout names them in
// one list. The slowest must be at one end: in the middle, the others would not be
// neighbours in the states. The parts of one mesh axis are of one level.
func (x *rewriter) nested(over []string) (nest, bool) {
	for _, list := range x.l.lists {
		if _, all := without(slices.Concat(list...), over); !all {
			continue
		}
		level := slices.IndexFunc(list, func(parts []string) bool { return slices.ContainsFunc(over, in(parts)) })
		k := slices.IndexFunc(over, in(list[level]))
		n := nest{slow: over[k:]}
		if end := slices.IndexFunc(n.slow, func(m string) bool { return !slices.Contains(list[level], m) }); end >= 0 {
			n.slow = n.slow[:end:end]
		}
		n.fast, _ = without(over, n.slow)
		switch {
		case len(n.fast) == 0 || slices.ContainsFunc(n.fast, in(list[level])):
		case k == 0:
			n.major = n.slow
			return n, true
		case k+len(n.slow) == len(over):
			n.major = n.fast
			return n, true
		}
	}
	return nest{}, false
}

// without is a less what is in b; false where b has more than a.
func without(a, b []string) (rest []string, ok bool) {
	if slices.ContainsFunc(b, func(m string) bool { return !slices.Contains(a, m) }) {
		return nil, false
	}
	return slices.DeleteFunc(slices.Clone(a), in(b)), true
}

// in says which mesh axes are in a list.
func in(list []string) func(m string) bool {
	return func(m string) bool { return slices.Contains(list, m) }
}

func (n *nest) slowMajor() bool { return n.major[0] == n.slow[0] }

// parts are the names of the parts that a split axis has for slow and fast.
func (n *nest) parts(major, minor string) (slow, fast string) {
	if n.slowMajor() {
		return major, minor
	}
	return minor, major
}

func (n *nest) minor() []string {
	if n.slowMajor() {
		return n.fast
	}
	return n.slow
}

// large reports whether a payload is worth more operations.
func (x *rewriter) large(t ir.Type) bool { return int64(t.Bytes()) >= x.l.large }

// splits reports whether an axis of t may be split: partial sums pass through a
// split, partial maxima do not.
func splits(t ir.Type) bool {
	return !slices.ContainsFunc(t.Partial, func(p ir.Partial) bool { return p.Reduce != "sum" })
}

// splitAxis splits an axis into a major part of the size, which these mesh axes are
// for, and the rest, which keeps the name.
func (x *rewriter) splitAxis(v *ir.Value, axis string, size int, by, major, minor []string) (*ir.Value, string) {
	return x.b.SplitSharded(v, axis, ir.Axis{Name: axis + "_" + strings.Join(by, "_"), Size: size, Mesh: major}, minor)
}

func meshOfAxis(t ir.Type, axis string) []string { return t.Axes[t.Index(axis)].Mesh }

// exchange is all_to_all.
func (x *rewriter) exchange(v *ir.Value, axis, to string, over []string) *ir.Value {
	n, ok := x.nested(over)
	if !ok || !splits(v.Type) || int64(v.Type.Bytes()) < x.l.exchange {
		return x.b.Collective(x.m, collective.AllToAll, v, over, "axis", ir.Name(axis), "to", ir.Name(to))
	}
	here, there := meshOfAxis(v.Type, axis), meshOfAxis(v.Type, to)
	stay := here[:max(0, len(here)-len(over))]
	v, toMajor := x.splitAxis(v, to, x.m.Group(n.major), n.major, there, nil)
	v, fromMajor := x.splitAxis(v, axis, 1, n.major, append(slices.Clone(stay), n.major...), n.minor())
	slowTo, fastTo := n.parts(toMajor, to)
	slowFrom, fastFrom := n.parts(fromMajor, axis)
	v = x.exchange(v, fastFrom, fastTo, n.fast)
	v = x.exchange(v, slowFrom, slowTo, n.slow)
	v = x.b.MergeSharded(v, fromMajor, axis, stay)
	return x.b.MergeSharded(v, toMajor, to, append(slices.Clone(there), over...))
}

func (x *rewriter) reduceScatter(v *ir.Value, axis, reduce string, over []string) *ir.Value {
	n, ok := x.nested(over)
	if !ok || !x.large(v.Type) || !splits(v.Type) {
		return x.b.Collective(x.m, collective.ReduceScatter, v, over, "axis", ir.Name(axis), "reduce", ir.Name(reduce))
	}
	here := meshOfAxis(v.Type, axis)
	v, major := x.splitAxis(v, axis, x.m.Group(n.major), n.major, here, nil)
	slow, fast := n.parts(major, axis)
	v = x.reduceScatter(v, fast, reduce, n.fast)
	v = x.reduceScatter(v, slow, reduce, n.slow)
	return x.b.MergeSharded(v, major, axis, append(slices.Clone(here), over...))
}

func (x *rewriter) gather(v *ir.Value, axis string, over []string) *ir.Value {
	n, ok := x.nested(over)
	if whole := int64(v.Type.Bytes()) * int64(x.m.Group(over)); !ok || whole < x.l.large || !splits(v.Type) {
		return x.b.Collective(x.m, collective.AllGather, v, over, "axis", ir.Name(axis))
	}
	here := meshOfAxis(v.Type, axis)
	stay := here[:max(0, len(here)-len(over))]
	v, major := x.splitAxis(v, axis, 1, n.major, append(slices.Clone(stay), n.major...), n.minor())
	slow, fast := n.parts(major, axis)
	v = x.gather(v, slow, n.slow)
	v = x.gather(v, fast, n.fast)
	return x.b.MergeSharded(v, major, axis, stay)
}

// reduce is all_reduce: along the first axis that the devices of a node can share.
func (x *rewriter) reduce(v *ir.Value, reduce string, over []string) *ir.Value {
	n, ok := x.nested(over)
	at := -1
	if ok {
		at = slices.IndexFunc(v.Type.Axes, func(a ir.Axis) bool { return a.Size%x.m.Group(n.fast) == 0 })
	}
	if at < 0 || !x.large(v.Type) {
		return x.b.Collective(x.m, collective.AllReduce, v, over, "reduce", ir.Name(reduce))
	}
	axis := v.Type.Axes[at].Name
	v = x.reduceScatter(v, axis, reduce, n.fast)
	v = x.reduce(v, reduce, n.slow)
	return x.gather(v, axis, n.fast)
}
