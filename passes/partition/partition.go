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

	reshards map[*ir.Op]*reshard
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
		if op.Of(o).Class == op.Placement {
			p.b.Scope, p.b.Pos, p.b.Slot = o.Scope, o.Pos, o.Slot
			with[o.Result()] = p.move(p.reshards[o], o.Args[0], types[0])
			continue
		}
		if o.Name == op.Take {
			p.b.Scope, p.b.Pos, p.b.Slot = o.Scope, o.Pos, o.Slot
			with[o.Result()] = p.take(o, o.Args[0])
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

// local is t with the sizes of one device's part.
func (p *partitioner) local(t ir.Type) ir.Type {
	t = t.Clone()
	for i := range t.Axes {
		a := &t.Axes[i]
		n := devices(p.m, a.Mesh)
		if a.Size%n != 0 {
			panic(fmt.Sprintf("partition: axis %s of %d in %d parts", a.Name, a.Size, n))
		}
		a.Size /= n
	}
	return t
}

// devices is the number of devices that differ on these mesh axes alone.
func devices(m *ir.Module, mesh []string) int {
	n := 1
	for _, x := range mesh {
		n *= m.MeshSize(x)
	}
	return n
}
