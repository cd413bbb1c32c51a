package ringattention

import (
	"cmp"
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// Run rewrites the attention cores of m along every axis that the layout shards
// over a ring of devices.
func Run(c *pass.Context, m *ir.Module) error {
	if err := checkOptions(m); err != nil {
		return err
	}
	for _, f := range m.Funcs {
		ungate(c, f)
	}
	rings, why := rings(c, m)
	for _, f := range m.Funcs {
		unringed(c, f, rings, why)
	}
	for _, r := range rings {
		for _, f := range m.Funcs {
			w := &rewriter{c: c, f: f, ring: r, keys: keysOf(f, r.axis)}
			w.b = op.Builder{F: f}
			w.run()
		}
	}
	for _, f := range m.Funcs {
		regular(c, f)
	}
	return nil
}

// unringed gives the reasons for the attentions of f along an axis that has no ring: why says it by axis.
func unringed(c *pass.Context, f *ir.Func, rings []ring, why map[string]string) {
	if !c.Asked() {
		return
	}
	axes := map[string]string{} // by the name of their keys
	for _, o := range f.Ops {
		for _, p := range o.Attrs.Pairs("axes") {
			if o.Name == op.Rename {
				axes[p.To] = p.From
			}
		}
		over := o.Attrs.Names("over")
		if o.Name != op.Dot || len(over) != 1 || fusion.Softmax(o.Args[0], over[0]) == nil && fusion.Softmax(o.Args[1], over[0]) == nil {
			continue
		}
		if axis := axes[over[0]]; !slices.ContainsFunc(rings, func(r ring) bool { return r.axis == axis }) {
			c.Because(o, "no ring: %s", cmp.Or(why[axis], fmt.Sprintf("no rule shards the positions of `%s`", over[0])))
		}
	}
}

// checkOptions reports rules that say how attention works along an axis of which
// the model has no keys: the option would have no effect.
func checkOptions(m *ir.Module) error {
	for _, r := range layout.All[*layout.Shard](layout.Of(m)) {
		if r.Attention == "" && r.Order == "" {
			continue
		}
		for _, axis := range r.Axes {
			if !slices.ContainsFunc(m.Funcs, func(f *ir.Func) bool { return attends(f, axis) }) {
				return &diag.Error{Code: "E0424", Pos: r.At, Len: 1,
					Msg:  "the rule says how attention works along `" + axis + "`, and there is none",
					Want: "an axis along which queries meet keys, which have it under another name: `k.rename(" + axis + " = k" + axis + ")`",
					Hint: "without `attention` and `order` the rule shards any axis"}
			}
		}
	}
	return nil
}

// attends is whether f sums over keys that it has renamed from the axis.
func attends(f *ir.Func, axis string) bool {
	keys := keysOf(f, axis)
	return slices.ContainsFunc(f.Ops, func(o *ir.Op) bool {
		return o.Name == op.Dot && slices.ContainsFunc(o.Attrs.Names("over"), func(n string) bool { return keys[n] })
	})
}

// ring is one rule of the layout: the positions of an axis over the devices of
// one mesh axis.
type ring struct {
	axis, mesh string
	devices    int
	zigzag     bool
	asked      bool   // the rule says `attention = ring`
	at         string // the rule's place in the source
}

// rings are the rules of m's layout that ask for one, and why there is none along other axes of rules.
func rings(c *pass.Context, m *ir.Module) (out []ring, why map[string]string) {
	l, stages := layout.Of(m), map[string]bool{}
	why = map[string]string{}
	for _, r := range layout.All[*layout.Pipeline](l) {
		stages[r.Over] = true
	}
	for _, r := range layout.All[*layout.Shard](l) {
		for _, axis := range r.Axes {
			switch over := r.Over; {
			case len(r.Between) > 0 || len(r.Of) > 0:
				why[axis] = "the rule at " + r.Where() + " applies to some modules only"
			case r.Attention == "gather":
				why[axis] = "the rule at " + r.Where() + " gathers keys and values"
			case len(over) != 1:
				why[axis] = fmt.Sprintf("`%s` is sharded over %d mesh axes", axis, len(over))
				for _, f := range m.Funcs {
					if k := keysOf(f, axis); len(k) > 0 {
						c.Remarkf(nil, "@%s: keys and values are gathered: `%s` is sharded over %d mesh axes, and a ring takes one", f.Name, axis, len(over))
					}
				}
			case stages[over[0]]:
				why[axis] = "the devices of " + over[0] + " are stages of a pipeline"
			case m.MeshSize(over[0]) <= 1:
				why[axis] = over[0] + " has one device"
			default:
				out = append(out, ring{axis: axis, mesh: over[0], devices: m.MeshSize(over[0]),
					zigzag: r.Order == "zigzag", asked: r.Attention == "ring", at: r.Where()})
			}
		}
	}
	return out, why
}

// rewriter is the work on one function for one ring.
type rewriter struct {
	c *pass.Context
	f *ir.Func
	ring
	b op.Builder
	// size is the number of positions; keys are the names under which keys and
	// values have them.
	size int
	keys map[string]bool
	// Names of the axes of blocks, and of the two chunks of a block in the zig-zag
	// order.
	block, chunkAxis string
	order            *order // of the zig-zag order; nil in the contiguous one
}

// keysOf are the names that f gives to an axis by renaming it.
func keysOf(f *ir.Func, axis string) map[string]bool {
	keys := map[string]bool{}
	for _, o := range f.Ops {
		if o.Name != op.Rename {
			continue
		}
		for _, p := range o.Attrs.Pairs("axes") {
			if p.From == axis && p.To != axis {
				keys[p.To] = true
			}
		}
	}
	return keys
}

func (w *rewriter) run() {
	cores, refused := w.cores()
	for _, r := range refused {
		tell := w.c.Remarkf
		if w.asked {
			tell = w.c.Warnf
		}
		tell(r.at, "keys and values are gathered over %s: %s", w.mesh, r.why)
	}
	if len(cores) == 0 {
		return
	}
	w.names()
	if w.zigzag && w.size%(2*w.devices) != 0 {
		w.c.Remarkf(nil, "@%s: the order is contiguous: %d positions of `%s` do not divide into 2·%d equal chunks", w.f.Name, w.size, w.axis, w.devices)
		w.zigzag = false
	} else if !w.zigzag {
		for _, k := range cores {
			if k.causal() {
				w.c.Because(k.out, "the order is contiguous: the rule at %s does not set `order = zigzag`", w.ring.at)
			}
		}
	}
	w.zigzag = w.zigzag && w.c.May("the zig-zag order", cores[0].out)
	if w.zigzag {
		w.order = newOrder(w)
		w.order.run()
	}
	at := map[*ir.Op]*core{}
	for _, k := range cores {
		at[k.out] = w.match(k.out, k.key) // again: its operands may have got another order
	}
	var out []*ir.Op
	w.b.Sink = &out
	with := map[*ir.Value]*ir.Value{}
	for _, o := range w.f.Ops {
		out = append(out, o)
		k := at[o]
		if k == nil {
			continue
		}
		v, how := w.attention(k)
		w.c.Remarkf(o, "a ring of %d over %s: %s; %s", w.devices, w.mesh, how, w.ring.at)
		with[o.Result()] = v
	}
	w.f.Ops = out
	// The replaced dot is read nowhere else, as chains are not followed into
	// what replaces it.
	w.f.Replace(with)
	w.f.DropDead(nil)
}

// names chooses names that nothing in the function has.
func (w *rewriter) names() {
	taken := map[string]bool{}
	for _, a := range w.f.Args {
		for _, n := range a.Value.Type.Names() {
			taken[n] = true
		}
	}
	for _, o := range w.f.Ops {
		for _, r := range o.Results {
			for _, n := range r.Type.Names() {
				taken[n] = true
			}
		}
	}
	fresh := func(n string) string {
		for taken[n] {
			n += "_"
		}
		taken[n] = true
		return n
	}
	w.block, w.chunkAxis = fresh(w.mesh+"_block"), fresh(w.mesh+"_chunk")
}

// part is the number of positions in a block.
func (w *rewriter) part() int { return w.size / w.devices }

// emit is an operation of one result.
func (w *rewriter) emit(name string, attrs ir.Attrs, args ...*ir.Value) *ir.Value {
	return w.b.Emit(name, attrs, args...)
}

func (w *rewriter) int(v int) *ir.Value { return w.b.Const(ir.I32, float64(v)) }

// blockIndex is the number of the block, along the blocks.
func (w *rewriter) blockIndex() *ir.Value { return w.index(w.block, w.devices) }

func (w *rewriter) index(axis string, size int) *ir.Value {
	return w.emit(op.Index, ir.A("axis", ir.Name(axis), "size", ir.Int(size)))
}

// split cuts an axis into its blocks.
func (w *rewriter) split(x *ir.Value, axis string) *ir.Value {
	into := ir.Sizes{{Name: w.block, N: w.devices}, {Name: axis + w.suffix(), N: w.part()}}
	return w.emit(op.Split, ir.A("axis", ir.Name(axis), "into", into), x)
}

// suffix tells a part of an axis from the axis, of which the rules speak.
func (w *rewriter) suffix() string { return "_" + w.block }

// merge joins the blocks again.
func (w *rewriter) merge(x *ir.Value, axis string) *ir.Value {
	local := axis + w.suffix()
	var order ir.Names // the part right after the blocks
	for _, n := range x.Type.Names() {
		if n != local {
			order = append(order, n)
		}
		if n == w.block {
			order = append(order, local)
		}
	}
	if !slices.Equal(order, x.Type.Names()) {
		x = w.emit(op.Transpose, ir.A("order", order), x)
	}
	return w.emit(op.Merge, ir.A("axes", ir.Names{w.block, local}, "into", ir.Name(axis)), x)
}

// take moves blocks to other places, if any does move.
func (w *rewriter) take(x *ir.Value, sources ir.Ints) *ir.Value {
	if slices.IsSorted(sources) {
		return x
	}
	attrs := ir.A("axis", ir.Name(w.block), "sources", sources)
	if w.ring.at != "" {
		attrs = attrs.With("why", ir.Str(w.ring.at))
	}
	return w.emit(op.Take, attrs, x)
}
