package op

import (
	"slices"

	"ptc/ir"
)

// role is what sharding an axis means, told by its name.
type role struct {
	kind   FactorKind
	reduce string
}

var (
	passes    = role{PassThrough, ""}
	sums      = role{Reduce, "sum"}
	maxes     = role{Reduce, "max"}
	kept      = role{Replicate, ""}
	exchanged = role{Exchange, ""}
	allPass   = func(string) role { return passes }
	elemRule  = func(o *ir.Op) Rule { return named(o, allPass) }
)

// named is the rule of an operation in which an axis name means the same
// dimension in every operand and result: one factor for each name, results'
// names first.
func named(o *ir.Op, of func(name string) role) Rule {
	var rule Rule
	var names []string // of the factors: few, so that none is looked up by hash
	if len(o.Results) > 0 {
		n := o.Results[0].Type.Rank() + 1
		names, rule.Factors = make([]string, 0, n), make([]Factor, 0, n)
	}
	visit := func(vs []*ir.Value, side func(f *Factor) []string) {
		for i, v := range vs {
			for _, a := range v.Type.Axes {
				j := slices.Index(names, a.Name)
				if j < 0 {
					j = len(names)
					names = append(names, a.Name)
					rule.Factors = append(rule.Factors, newFactor(o, of(a.Name), a.Size))
				}
				side(&rule.Factors[j])[i] = a.Name
			}
		}
	}
	visit(o.Results, func(f *Factor) []string { return f.Results })
	visit(o.Args, func(f *Factor) []string { return f.Args })
	return rule
}

// Placed reports whether o reads the positions of factor f in the whole value.
func Placed(o *ir.Op, f *Factor) bool {
	d := Of(o)
	if d.Positions == nil {
		return false
	}
	axes := d.Positions(o)
	in := func(name string) bool { return name != "" && slices.Contains(axes, name) }
	return slices.ContainsFunc(f.Args, in) || slices.ContainsFunc(f.Results, in)
}

func newFactor(o *ir.Op, r role, size int) Factor {
	n := len(o.Args)
	axes := make([]string, n+len(o.Results))
	return Factor{Kind: r.kind, Reduction: r.reduce, Size: size, Args: axes[:n:n], Results: axes[n:]}
}

// replicated is the rule that allows no sharding: a factor for each axis of
// each operand and result.
func replicated(o *ir.Op) Rule {
	var rule Rule
	for i, v := range o.Args {
		for _, a := range v.Type.Axes {
			f := newFactor(o, kept, a.Size)
			f.Args[i] = a.Name
			rule.Factors = append(rule.Factors, f)
		}
	}
	for i, v := range o.Results {
		for _, a := range v.Type.Axes {
			f := newFactor(o, kept, a.Size)
			f.Results[i] = a.Name
			rule.Factors = append(rule.Factors, f)
		}
	}
	return rule
}

// alongAxis is the axis that o names.
func alongAxis(o *ir.Op) []string { return []string{o.Attrs.Text("axis")} }

// along is the rule in which one axis must not be sharded.
func along(o *ir.Op, axis string) Rule {
	return named(o, func(n string) role {
		if n == axis {
			return kept
		}
		return passes
	})
}

// mapped is the rule of a movement of one operand in which to says, for an
// axis of the operand, its name in the result, and empty where it has none of
// its own; rest are axes of the result that are no operand axis' image.
func mapped(o *ir.Op, to func(axis string) string, rest ...string) Rule {
	var rule Rule
	x, y := o.Args[0].Type, o.Results[0].Type
	for _, a := range x.Axes {
		n := to(a.Name)
		r, size := passes, y.Size(n)
		if n == "" {
			r, size = kept, a.Size
		}
		// A split axis is sharded in its major part, and a merged one in the
		// major of its operands: the smaller of the sizes.
		f := newFactor(o, r, min(size, a.Size))
		f.Args[0], f.Results[0] = a.Name, n
		rule.Factors = append(rule.Factors, f)
	}
	for _, n := range rest {
		f := newFactor(o, kept, y.Size(n))
		f.Results[0] = n
		rule.Factors = append(rule.Factors, f)
	}
	return rule
}

// flopsPer counts k operations for each element of the first result.
func flopsPer(k int64) func(*ir.Op) int64 {
	return func(o *ir.Op) int64 { return k * int64(o.Results[0].Type.Elems()) }
}

// Work is the FLOPs of o for all instances of its run. Sums of
// them are of any size: a step of millions of devices fills 64 bits.
func Work(o *ir.Op) float64 { return float64(Of(o).Flops(o)) * float64(o.Times()) }

// noFlops is the cost of moving data.
func noFlops(*ir.Op) int64 { return 0 }

// localSizes rewrites the sizes of the result's axes under key.
func localSizes(key string) func(*ir.Op, []ir.Type) ir.Attrs {
	return func(o *ir.Op, results []ir.Type) ir.Attrs {
		local := append(ir.Sizes(nil), o.Attrs.Sizes(key)...)
		for i, s := range local {
			local[i].N = results[0].Size(s.Name)
		}
		return o.Attrs.With(key, local)
	}
}
