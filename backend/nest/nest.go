package nest

import (
	"fmt"
	"slices"

	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/internal/order"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// Nest is a tile program, and where in it the values and loops of the kernel's analysis are.
type Nest struct {
	Program *tile.Program
	Tiles   map[*ir.Value]*tile.Value // of a product the operands and the sum, of an attention all values
	Limits  []Limit                   // of an attention, in the order of the analysis
	ranges  map[string]*tile.Range    // by the names of loops
}

// Ranges are those of loops.
func (n *Nest) Ranges(loops []fusion.Loop) []*tile.Range {
	var out []*tile.Range
	for _, l := range loops {
		out = append(out, n.ranges[l.Name()])
	}
	return out
}

// note notes the ranges that the computation is at along loops.
func (n *Nest) note(g *gen, loops []fusion.Loop) {
	for i, r := range g.present(loops) {
		n.ranges[loops[i].Name()] = r
	}
}

// Program is the tile program of kernel k, named name, as s says.
func Program(name string, k *fusion.Kernel, s schedule.Schedule) (*tile.Program, error) {
	n, err := Build(name, k, s)
	if err != nil {
		return nil, err
	}
	return n.Program, nil
}

// Build is the nest of kernel k, named name, as s says.
func Build(name string, k *fusion.Kernel, s schedule.Schedule) (*Nest, error) {
	shape := shapes[k.Class]
	if shape == nil {
		return nil, fmt.Errorf("kernel @%s: found class %s; expected one of map, row, column, pieces, gemm, scatter, attention", k.F.Name, k.Class)
	}
	if err := supported(k.F); err != nil {
		return nil, fmt.Errorf("kernel @%s: %w", k.F.Name, err)
	}
	g := newGen(name, k, s, order.Of(len(k.F.Results)))
	out := &Nest{Tiles: map[*ir.Value]*tile.Value{}, ranges: map[string]*tile.Range{}}
	shape(g, out)
	var err error
	if out.Program, err = g.b.Finish(); err != nil {
		return nil, fmt.Errorf("kernel @%s (%s, schedule %q): %w", k.F.Name, k.Class, s, err)
	}
	return out, nil
}

// shapes holds how the nest of each class of kernels is generated.
var shapes = map[fusion.Class]func(*gen, *Nest){
	fusion.Map:     func(g *gen, _ *Nest) { mapped(g) },
	fusion.Row:     func(g *gen, _ *Nest) { row(g) },
	fusion.Column:  func(g *gen, _ *Nest) { column(g) },
	fusion.Pieces:  func(g *gen, _ *Nest) { pieces(g) },
	fusion.Scatter: func(g *gen, _ *Nest) { scatter(g) },
	fusion.Gemm:    gemm,
	fusion.Attend:  attention,
}

// supported says what no nest can hold.
func supported(f *ir.Func) error {
	toldDevice := slices.ContainsFunc(f.Args, func(a *ir.Arg) bool { return a.Path == fusion.Coordinates })
	for _, o := range f.Ops {
		d := op.Lookup(o.Name)
		switch {
		case d == nil || len(o.Results) != 1:
			return fmt.Errorf("found %s with %d results; expected an operation with one", o.Name, len(o.Results))
		case d.Class == op.Elementwise && o.Name != op.Cast && len(d.Attrs) > 0:
			return fmt.Errorf("found %s; expected elementwise operations without attributes", o.Name)
		case op.DependsOnDevice(o) && len(f.Attrs.Sizes("mesh")) > 0 && !toldDevice:
			return fmt.Errorf("found %s, which depends on the device; expected its coordinates as an argument", o.Name)
		}
	}
	return nil
}
