package directive

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/lang/syntax"
)

// checkIdle warns of mesh axes that no rule is over.
func (y *Layout) checkIdle() {
	used := y.dividing()
	for _, a := range y.mod.Mesh {
		if a.Size > 1 && !used[a.Name] {
			y.Warnings = append(y.Warnings, fmt.Sprintf("layout `%s`: the %d devices of mesh axis `%s` all do the same work: nothing is sharded over it",
				y.decl.Name.Name, a.Size, a.Name))
		}
	}
}

// checkPointless warns of directives that can change nothing in this layout,
// whatever the sizes of its mesh.
func (y *Layout) checkPointless() {
	added := y.adds()
	for _, d := range y.decl.Directives {
		switch d := d.(type) {
		case *syntax.Replicate:
			if !y.shardsAny(d) {
				y.pointless(d, "replicate", "no rule shards these parameters")
			}
		case *syntax.Overlap:
			if len(y.mod.Mesh) == 0 {
				y.pointless(d, "overlap", "one device has no collectives")
			}
		case *syntax.Forbid:
			if len(y.mod.Mesh) == 0 {
				y.pointless(d, "forbid", "one device has no collectives")
			}
		case *syntax.Precision:
			if !added && y.precision.Reduce != ir.F32 {
				y.pointless(d, "reduce", "no devices add up gradients")
			}
		case *syntax.Pipeline:
			if name := y.oneChunk[d]; name != "" {
				y.pointless(d, "schedule = "+name, "with one chunk for each device there is nothing to interleave")
			}
		case *syntax.Entry:
			switch {
			case d.Key.Name == "bucket" && !added:
				y.pointless(d, "bucket", "no devices add up gradients")
			case d.Key.Name == "two_level" && !y.lists():
				y.pointless(d, "two_level", "no rule is over a list of mesh axes")
			}
		}
	}
}

func (y *Layout) pointless(n syntax.Node, what, why string) {
	y.Warnings = append(y.Warnings, fmt.Sprintf("layout `%s`: `%s` of line %d has no effect: %s", y.decl.Name.Name, what, n.At().Line, why))
}

// adds is whether devices have gradients to add up: what they work on differs,
// by a rule about an axis everywhere or at the borders of modules.
func (y *Layout) adds() bool {
	return slices.ContainsFunc(y.decl.Directives, func(d syntax.Directive) bool {
		s, ok := d.(*syntax.Shard)
		return ok && len(s.Of) == 0
	})
}

// lists is whether a rule is over several mesh axes.
func (y *Layout) lists() bool {
	return slices.ContainsFunc(y.decl.Directives, func(d syntax.Directive) bool {
		switch d := d.(type) {
		case *syntax.Shard:
			return len(d.Over) > 1
		case *syntax.Zero:
			return len(d.Over) > 1
		}
		return false
	})
}

// shardsAny is whether a rule would shard a parameter that w keeps whole.
func (y *Layout) shardsAny(w *syntax.Replicate) bool {
	meets := func(over []*syntax.Ident) bool {
		return len(w.Over) == 0 || slices.ContainsFunc(over, func(a *syntax.Ident) bool {
			return slices.ContainsFunc(w.Over, func(b *syntax.Ident) bool { return a.Name == b.Name })
		})
	}
	for _, d := range y.decl.Directives {
		if z, ok := d.(*syntax.Zero); ok && meets(z.Over) {
			return true
		}
	}
	for _, p := range y.in.Params {
		if !slices.ContainsFunc(w.What, func(q *syntax.Path) bool { return y.covers(q, p.Path) }) {
			continue
		}
		for _, r := range y.shards {
			named := len(r.of) == 0 || slices.ContainsFunc(r.of, func(q *syntax.Path) bool { return y.covers(q, p.Path) })
			if named && len(r.between) == 0 && p.Type.Has(r.axis) && meets(r.mesh) {
				return true
			}
		}
	}
	return false
}
