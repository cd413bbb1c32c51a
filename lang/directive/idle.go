package directive

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/layout"
	"ptc/lang/syntax"
)

// checkIdle warns of mesh axes that no rule is over.
func (y *Layout) checkIdle() {
	used := y.dividing()
	for _, a := range y.mod.Mesh {
		if a.Size > 1 && !used[a.Name] {
			y.Warnings = append(y.Warnings, fmt.Sprintf("layout `%s`: the %d devices of mesh axis `%s` all do the same work: nothing is sharded over it (W0402)",
				y.decl.Name.Name, a.Size, a.Name))
		}
	}
}

// checkPointless warns of directives that change nothing in this layout.
func (y *Layout) checkPointless() {
	added := y.adds()
	for _, d := range y.decl.Directives {
		switch d := d.(type) {
		case *syntax.Shard:
			y.pointlessShard(d)
		case *syntax.Zero:
			if y.alone(d.Over) {
				y.pointless(d, "zero", "its mesh axes have one device")
			}
		case *syntax.Replicate:
			if !y.shardsAny(d) {
				y.pointless(d, "replicate", "no rule shards these parameters")
			}
		case *syntax.Overlap:
			if y.mod.Devices() == 1 {
				y.pointless(d, "overlap", "one device has no collectives")
			}
		case *syntax.Forbid:
			if y.mod.Devices() == 1 {
				y.pointless(d, "forbid", "one device has no collectives")
			}
		case *syntax.Precision:
			if !added && y.precision.Reduce != ir.F32 {
				y.pointless(d, "reduce", "no devices reduce gradients")
			}
		case *syntax.Pipeline:
			y.pointlessPipeline(d)
		case *syntax.Entry:
			switch {
			case d.Key.Name == "bucket" && !added:
				y.pointless(d, "bucket", "no devices reduce gradients")
			case d.Key.Name == "two_level" && !y.lists():
				y.pointless(d, "two_level", "no rule is over a list of mesh axes")
			case d == y.rounds && y.times() == 1:
				y.pointless(d, "accumulate", "the batch has one part")
			}
		}
	}
}

// pointlessShard warns of a rule over single devices, and of one about the borders of
// modules that a rule about every tensor has anyway.
func (y *Layout) pointlessShard(d *syntax.Shard) {
	if y.alone(d.Over) {
		y.pointless(d, "shard", "its mesh axes have one device")
		return
	}
	if len(d.Between) == 0 {
		return
	}
	all := !slices.ContainsFunc(d.Axes, func(a *syntax.Ident) bool {
		return !slices.ContainsFunc(y.shards, func(r shardRule) bool {
			return r.axis == a.Name && len(r.of)+len(r.between) == 0 && sameNames(r.mesh, d.Over)
		})
	})
	if all {
		y.pointless(d, "shard", "another rule shards the same in all modules")
	}
}

// pointlessPipeline warns of options that a pipeline of one chunk or one device has no
// use for. Microbatches of one device accumulate gradients.
func (y *Layout) pointlessPipeline(d *syntax.Pipeline) {
	if y.mod.MeshSize(d.Over.Name) > 1 {
		if name := y.oneChunk[d]; name != "" {
			y.pointless(d, "schedule = "+name, "with one chunk for each device there is nothing to interleave")
		}
		return
	}
	if y.mod.MeshSize(d.Over.Name) == 1 && y.micro <= 1 {
		y.pointless(d, "pipeline", "its mesh axis has one device, and the batch is one microbatch")
		return
	}
	if d.Options == nil {
		return
	}
	for _, e := range d.Options.Entries {
		if e.Key.Name != "microbatches" && y.mod.MeshSize(d.Over.Name) == 1 {
			y.pointless(e, e.Key.Name, "one device has all stages, and only `microbatches` counts")
		}
	}
}

func sameNames(a, b []*syntax.Ident) bool {
	return slices.EqualFunc(a, b, func(a, b *syntax.Ident) bool { return a.Name == b.Name })
}

// alone is whether each of these mesh axes has one device.
func (y *Layout) alone(over []*syntax.Ident) bool {
	return len(over) > 0 && !slices.ContainsFunc(over, func(a *syntax.Ident) bool { return y.mod.MeshSize(a.Name) != 1 })
}

func (y *Layout) pointless(n syntax.Node, what, why string) {
	y.Warnings = append(y.Warnings, layout.NoEffect(y.decl.Name.Name, what, n.At(), why))
}

// adds is whether devices have gradients to add up: what they work on differs,
// by a rule about an axis everywhere or at the borders of modules.
func (y *Layout) adds() bool {
	return slices.ContainsFunc(y.decl.Directives, func(d syntax.Directive) bool {
		s, ok := d.(*syntax.Shard)
		return ok && len(s.Of) == 0 && !y.alone(s.Over)
	})
}

// lists is whether a rule is over several mesh axes that have several devices.
func (y *Layout) lists() bool {
	several := func(over []*syntax.Ident) bool {
		n := 0
		for _, a := range over {
			if y.mod.MeshSize(a.Name) > 1 {
				n++
			}
		}
		return n > 1
	}
	return slices.ContainsFunc(y.decl.Directives, func(d syntax.Directive) bool {
		switch d := d.(type) {
		case *syntax.Shard:
			return several(d.Over)
		case *syntax.Zero:
			return several(d.Over)
		}
		return false
	})
}

// shardsAny is whether a rule would shard a parameter that w keeps whole.
func (y *Layout) shardsAny(w *syntax.Replicate) bool {
	meets := func(over []*syntax.Ident) bool {
		return !y.alone(over) && (len(w.Over) == 0 || slices.ContainsFunc(over, func(a *syntax.Ident) bool {
			return slices.ContainsFunc(w.Over, func(b *syntax.Ident) bool { return a.Name == b.Name && y.mod.MeshSize(a.Name) > 1 })
		}))
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
