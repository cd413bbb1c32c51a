package schedule

import (
	"slices"

	"ptc/internal/collective"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
)

// share is what one device sends of a value that several hold: its shard along an axis,
// over mesh axes. Behind the boundary the shards are gathered. So an activation crosses
// a boundary once, and not once for each tensor-parallel device (Narayanan et al., 2021,
// section 4.1). The zero value is all of it.
type share struct {
	axis  string
	over  []string
	parts int
}

// leastShare is the fewest bytes for which it pays to gather.
const leastShare = 256

// share is how v is sent: in shards over the mesh axes over which it is replicated, or
// as many of them as divide an axis of it.
func (s *splitter) share(v *ir.Value) share {
	t := v.Type
	activation := v.Def != nil && (v.PerMicro() || s.f.Micro == 0)
	if !activation || len(t.Partial) > 0 || !t.DType.IsFloat() || s.whole {
		return share{}
	}
	sharded := map[string]bool{s.rule.Over: true}
	for _, a := range t.Axes {
		for _, m := range a.Mesh {
			sharded[m] = true
		}
	}
	var out share
	for _, a := range t.Axes {
		try := share{axis: a.Name, parts: 1}
		for _, m := range s.m.Mesh {
			if n := try.parts * m.Size; !sharded[m.Name] && m.Size > 1 && a.Size%n == 0 && t.Bytes()/n >= leastShare {
				try.parts, try.over = n, append(try.over, m.Name)
			}
		}
		if try.parts > max(1, out.parts) {
			out = try
		}
	}
	return out
}

// of is the type of the share of a value of type t.
func (x share) of(t ir.Type, m *ir.Module) ir.Type {
	t = t.Clone()
	if x.parts > 1 {
		a := &t.Axes[t.Index(x.axis)]
		a.Size /= x.parts
		a.Mesh = append(slices.Clone(a.Mesh), x.over...)
	}
	return t
}

// gather appends the all-gather of shares that were received.
func (p *program) gather(v *ir.Value, x share, scope string, pos diag.Pos) *ir.Value {
	return p.collective(collective.AllGather, v, x, scope, pos)
}

// collective appends the collective by which v is sliced into shares or gathered from them; it returns v
// itself if v is sent whole.
func (p *program) collective(name string, v *ir.Value, x share, scope string, pos diag.Pos) *ir.Value {
	if x.parts <= 1 {
		return v
	}
	var made []*ir.Op
	b := op.Builder{F: p.f, Sink: &made, Scope: scope, Pos: pos}
	w := b.Collective(p.s.m, name, v, x.over, "axis", ir.Name(x.axis), "why", p.why())
	for _, o := range made {
		p.put(o, true)
	}
	return w
}

// gathers reports whether the layout lets activations be gathered.
func gathers(m *ir.Module) bool {
	return !slices.ContainsFunc(layout.All[*layout.Forbid](layout.Of(m)), func(r *layout.Forbid) bool {
		return len(r.Of) == 0 && slices.Contains(r.Collectives, collective.AllGather)
	})
}
