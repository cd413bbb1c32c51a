package partition

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// Run localizes every function of m.
func Run(c *pass.Context, m *ir.Module) error {
	m.Level = ir.Local
	rules := layout.All[*layout.Forbid](layout.Of(m))
	reshards := planReshards(c, m, rules)
	for _, f := range m.Funcs {
		if m.Devices() == 1 && !slices.ContainsFunc(f.Ops, func(o *ir.Op) bool { return o.Name == op.Take || op.Of(o).Class == op.Placement }) {
			continue
		}
		p := &partitioner{c: c, m: m, b: op.Builder{F: f}, reshards: reshards}
		p.run(f)
	}
	var errs diag.List
	for _, f := range m.Funcs {
		errs = append(errs, forbidden(m, f, rules)...)
	}
	return errs.Sort().Err()
}

type partitioner struct {
	c   *pass.Context
	m   *ir.Module
	b   op.Builder
	out []*ir.Op

	reshards map[*ir.Op]*Reshard
}

func (p *partitioner) run(f *ir.Func) {
	p.b.Sink = &p.out
	for _, a := range f.Args {
		a.Value.Type = p.local(a.Value.Type)
	}
	with := map[*ir.Value]*ir.Value{}
	for _, o := range f.Ops {
		for i, a := range o.Args {
			if w := with[a]; w != nil {
				o.Args[i] = w
			}
		}
		types := make([]ir.Type, len(o.Results))
		for i, r := range o.Results {
			types[i] = p.local(r.Type)
		}
		p.b.Scope, p.b.Pos, p.b.Slot = o.Scope, o.Pos, o.Slot
		if from := len(p.out); op.Of(o).Class == op.Placement {
			with[o.Result()] = p.reshards[o].Emit(&p.b, o.Args[0], types[0])
			p.remark(o, from)
			continue
		} else if o.Name == op.Take {
			with[o.Result()] = p.take(o, o.Args[0])
			p.remark(o, from)
			continue
		}
		o.Attrs = op.Localize(o, types)
		for i, r := range o.Results {
			r.Type = types[i]
		}
		p.out = append(p.out, o)
	}
	f.Ops = p.out
	for i, r := range f.Results {
		if w := with[r.Value]; w != nil {
			f.Results[i].Value = w
		}
	}
}

// local is t with the sizes of one device's shard.
func (p *partitioner) local(t ir.Type) ir.Type {
	t = t.Clone()
	for i := range t.Axes {
		a := &t.Axes[i]
		n := p.m.Group(a.Mesh)
		if a.Size%n != 0 {
			panic(fmt.Sprintf("partition: axis %s of %d in %d shards", a.Name, a.Size, n))
		}
		a.Size /= n
	}
	return t
}

// remark says which collectives were put in from a place on, for whom and because of
// which rule.
func (p *partitioner) remark(reader *ir.Op, from int) {
	reason := reader.Attrs.Text("why")
	if reason == "" {
		reason = "its reader"
	}
	for _, o := range p.out[from:] {
		if !op.Has(o, op.Exchanges) {
			continue
		}
		if !o.Attrs.Has("why") {
			o.Attrs = o.Attrs.With("why", ir.Str(reason))
		}
		p.c.Remarkf(o, "%s of %d bytes over %v for %%%d: %s", o.Name, o.Args[0].Type.Bytes(), o.Attrs.Names("over"), o.Result().ID, reason)
	}
}
