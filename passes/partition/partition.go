package partition

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// Run localizes every function of m.
func Run(c *pass.Context, m *ir.Module) error {
	m.Level = ir.Local
	rules, plans := bans(m), map[string]plan{}
	for _, f := range m.Funcs {
		if m.Devices() == 1 && !slices.ContainsFunc(f.Ops, func(o *ir.Op) bool { return o.Name == op.Take || op.Of(o).Class == op.Placement }) {
			continue
		}
		p := &partitioner{c: c, m: m, b: op.Builder{F: f}, bans: rules, plans: plans}
		p.run(f)
	}
	var errs diag.List
	for _, f := range m.Funcs {
		errs = append(errs, forbidden(f, rules)...)
	}
	return errs.Sort().Err()
}

type partitioner struct {
	c   *pass.Context
	m   *ir.Module
	b   op.Builder
	out []*ir.Op

	bans   []ban
	params map[*ir.Value]string // the parameters that values are
	plans  map[string]plan      // of reshards, by what they are
}

func (p *partitioner) run(f *ir.Func) {
	p.b.Sink, p.params = &p.out, origins(f)
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
			with[o.Result()] = p.move(o, o.Args[0], types[0])
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
		n := p.parts(a.Mesh)
		if a.Size%n != 0 {
			panic(fmt.Sprintf("partition: axis %s of %d in %d parts", a.Name, a.Size, n))
		}
		a.Size /= n
	}
	return t
}

func (p *partitioner) parts(mesh []string) int {
	n := 1
	for _, m := range mesh {
		n *= p.m.MeshSize(m)
	}
	return n
}
