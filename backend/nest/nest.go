package nest

import (
	"fmt"
	"slices"

	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// Nest is a tile program, and where in it the values and loops of the kernel's analysis are.
type Nest struct {
	Program *tile.Program
	Tiles   map[*ir.Value]*tile.Value // of a product the operands and the sum
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
	g, p, err := build(name, k, s)
	if err != nil {
		return nil, err
	}
	g.out.Program = p
	return &g.out, nil
}

func build(name string, k *fusion.Kernel, s schedule.Schedule) (*gen, *tile.Program, error) {
	class := classes[k.Class]
	if class == nil {
		return nil, nil, fmt.Errorf("kernel @%s: found class %s; expected one of map, row, column, pieces, gemm, scatter, attention", k.F.Name, k.Class)
	}
	if err := supported(k.F); err != nil {
		return nil, nil, fmt.Errorf("kernel @%s: %w", k.F.Name, err)
	}
	g := newGen(name, k, s, every(k))
	class(g)
	p, err := g.b.Finish()
	if err != nil {
		return nil, nil, fmt.Errorf("kernel @%s (%s, schedule %q): %w", k.F.Name, k.Class, s, err)
	}
	return g, p, nil
}

// classes holds the shape of the nest of each class of kernels.
var classes = map[fusion.Class]func(*gen){
	fusion.Map:     (*gen).mapped,
	fusion.Row:     (*gen).row,
	fusion.Column:  (*gen).column,
	fusion.Pieces:  (*gen).pieces,
	fusion.Gemm:    (*gen).gemm,
	fusion.Scatter: (*gen).scatter,
	fusion.Attend:  (*gen).attention,
}

// gen is the state of generating one program.
type gen struct {
	k *fusion.Kernel
	s schedule.Schedule
	b *tile.Builder

	args, results []*tile.Buffer
	stored        []int         // which results the program has; the others are nil
	coords        *tile.View    // the device's coordinates, or nil
	merged        []fusion.Loop // axes that became one
	views         map[*ir.Value]*tile.View
	outs          []*tile.View             // of the results
	packed        map[*ir.Value]*tile.View // what an earlier phase put into work memory
	looked        map[string]bool          // axes along which positions are looked up
	dimensions    []fusion.Loop            // of an attention
	instead       map[*ir.Value]func() known
	core          *Attention
	out           Nest

	at        map[string]tile.Affine // position by axis; 0 where it is missing
	scopes    []map[*ir.Value]known  // by depth of blocks
	constants map[number]known       // of the phase
}

// number is a constant, by its bits.
type number struct {
	dtype ir.DType
	bits  uint64
}

// known is a value at the present position, and the depth of the block that has it.
type known struct {
	x     *tile.Value
	depth int
}

// every is all results of k.
func every(k *fusion.Kernel) []int {
	var out []int
	for i := range k.F.Results {
		out = append(out, i)
	}
	return out
}

func newGen(name string, k *fusion.Kernel, s schedule.Schedule, stored []int) *gen {
	g := &gen{k: k, s: s, stored: stored, results: make([]*tile.Buffer, len(k.F.Results)), b: tile.New(name), views: map[*ir.Value]*tile.View{}, at: map[string]tile.Affine{}, packed: map[*ir.Value]*tile.View{}, looked: map[string]bool{},
		out: Nest{Tiles: map[*ir.Value]*tile.Value{}, ranges: map[string]*tile.Range{}}}
	g.b.Schedule(s)
	f := k.F
	for _, o := range f.Ops {
		if op.Of(o).Class == op.Indexed {
			g.looked[o.Attrs.Text("axis")] = true
		}
	}
	for i, a := range f.Args {
		t := a.Value.Type
		buf := g.b.Buffer(fmt.Sprintf("in%d", i), t.DType, int64(t.Room()), tile.Read)
		g.args = append(g.args, buf)
		if a.Path == fusion.Coordinates {
			g.coords = g.b.View("coord", buf, op.Dense(t))
		}
	}
	for _, i := range stored {
		var over []*tile.Buffer
		for a := range f.Args {
			if k.InPlace(a, i) {
				over = append(over, g.args[a])
			}
		}
		t, use := f.Results[i].Value.Type, tile.Write
		if k.Class == fusion.Scatter {
			use = tile.ReadWrite
		}
		g.results[i] = g.b.Buffer(fmt.Sprintf("out%d", i), t.DType, int64(t.Room()), use, over...)
	}
	return g
}

// phase appends a phase over ranges of the dimensions.
func (g *gen) phase(grid []*tile.Range, body func()) {
	g.b.Phase(grid, func() {
		g.scopes = []map[*ir.Value]known{{}}
		g.constants = map[number]known{}
		body()
	})
}

// loop appends a loop over r, in whose body what is computed is forgotten after it.
func (g *gen) loop(r *tile.Range, stages int, init []*tile.Value, body func(carry []*tile.Value) []*tile.Value) []*tile.Value {
	return g.loopOf(r, tile.Loop{Stages: stages}, init, body)
}

// loopOf is a loop with bounds of its own.
func (g *gen) loopOf(r *tile.Range, l tile.Loop, init []*tile.Value, body func(carry []*tile.Value) []*tile.Value) []*tile.Value {
	return g.b.Loop(r, l, init, func(c []*tile.Value) []*tile.Value {
		g.scopes = append(g.scopes, map[*ir.Value]known{})
		out := body(c)
		g.scopes = g.scopes[:len(g.scopes)-1]
		return out
	})
}

// when appends an if, in whose body what is computed is forgotten after it.
func (g *gen) when(cond known, body func()) {
	g.b.If(cond.x, func() []*tile.Value {
		g.scopes = append(g.scopes, map[*ir.Value]known{})
		body()
		g.scopes = g.scopes[:len(g.scopes)-1]
		return nil
	}, nil)
}

// nest runs body inside a loop over single positions of each of dims.
func (g *gen) nest(dims []fusion.Loop, carry []*tile.Value, body func(carry []*tile.Value) []*tile.Value) []*tile.Value {
	if len(dims) == 0 {
		return body(carry)
	}
	r := block(dims[0], 1)
	return g.loop(r, 1, carry, func(c []*tile.Value) []*tile.Value {
		g.set(dims[0], r)
		return g.nest(dims[1:], c, body)
	})
}

// set puts the computation at the positions of r along d.
func (g *gen) set(d fusion.Loop, r *tile.Range) { g.at[d.Name()] = tile.At(r) }

// ranges makes blocks of dims, of size 1 but for those that sizes says, from the last
// one backwards: 0 is the whole axis. The computation is there from now on.
func (g *gen) ranges(dims []fusion.Loop, sizes ...int64) []*tile.Range {
	var out []*tile.Range
	for i, d := range dims {
		size := int64(1)
		if back := len(dims) - 1 - i; back < len(sizes) {
			size = sizes[back]
		}
		r := block(d, size)
		g.set(d, r)
		out = append(out, r)
	}
	return out
}

// whole makes ranges of whole dims. The computation is there from now on.
func (g *gen) whole(dims []fusion.Loop) []*tile.Range {
	var out []*tile.Range
	for _, d := range dims {
		r := block(d, 0)
		g.set(d, r)
		out = append(out, r)
	}
	return out
}

// outer splits the dimensions outside of rows and columns into those that number tasks
// and those that are loops in one.
func (g *gen) outer(dims []fusion.Loop) (grid, loops []fusion.Loop) {
	n := int64(len(dims))
	if g.s.Grid >= 0 {
		n = min(n, g.s.Grid)
	}
	return dims[:n:n], dims[n:]
}

// storeAll computes every result at the present positions, and then stores them: one
// may lie over an argument that another is computed from.
func (g *gen) storeAll() {
	out := make([]*tile.Value, len(g.stored))
	for n, i := range g.stored {
		out[n] = g.value(g.k.F.Results[i].Value)
	}
	for n, i := range g.stored {
		g.store(i, out[n])
	}
}

// store writes x to result i at the present positions.
func (g *gen) store(i int, x *tile.Value) {
	v := g.outs[i]
	g.b.Store(v, x, g.indices(v)...)
}

// indices are the present positions along the axes of v.
func (g *gen) indices(v *tile.View) []tile.Affine {
	at := make([]tile.Affine, len(v.Axes))
	for i, a := range v.Axes {
		at[i] = g.at[a.Name]
	}
	return at
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
