package eval

import (
	"math"
	"slices"
	"strconv"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// A low-rank adapter of a parameter w is two thin ones whose product is added to it:
//
//	w + scale · down · up
//
// Hu et al., "LoRA: low-rank adaptation of large language models" (2021), section 4.1.
// `up` starts at zero, so that the model starts as it is without. A product x·w is
// computed as x·w + scale·(x·down)·up, which never has the sum of the two; whatever else
// reads w reads the sum.
//
// `down` has the axes of w that its product contracts and `up` the others; those that
// both factors have and that stay, such as the experts of a mixture, are in both. Only
// the product says which these are, and parameters are made before it: so a program with
// adapters is evaluated once without them, to see its products.

// RankAxis is the axis between the two parameters of an adapter.
const RankAxis = "lora_rank"

// Adapters are those of one `lora` block: for the parameters that any of the patterns
// selects.
type Adapters struct {
	Node  *syntax.Lora
	Paths []*syntax.Path
	On    []string // the same as patterns
	Rank  int
	Scale float64
}

// Contraction is how a product reads a parameter: the axes over which it sums, and those
// that the other factor has as well.
type Contraction struct{ Over, Both []string }

// Lora is the adapters that a program asks for. An evaluation with Products sees how
// products read such parameters, and one with Contractions, which is that, makes them.
type Lora struct {
	Adapters     []*Adapters
	Products     map[string]Contraction
	Contractions map[string]Contraction
}

// of are those that are asked for the parameter at a path.
func (l *Lora) of(path string) *Adapters {
	for _, a := range l.Adapters {
		if value.MatchesAny(a.On, path) {
			return a
		}
	}
	return nil
}

// observe remembers the first product of a parameter that is to have an adapter.
func (f *Frame) observe(over []string, factor, other value.Tensor) {
	products := f.Interp.Lora.Products
	p := f.Interp.Builder.adaptable[factor.V]
	if p == nil {
		return
	}
	if _, seen := products[p.Path]; seen {
		return
	}
	var both []string
	for _, n := range factor.V.Type.Names() {
		if other.V.Type.Has(n) && !slices.Contains(over, n) {
			both = append(both, n)
		}
	}
	products[p.Path] = Contraction{slices.Clone(over), both}
}

// SeeProducts turns what was seen of written instances into the same of omitted ones,
// and reports patterns that select no factor of a product.
func (f *Frame) SeeProducts() map[string]Contraction {
	m, l := f.Interp.Model, &f.Interp.Lora
	for _, p := range m.Params {
		if p.Like == nil {
			continue
		}
		if c, ok := l.Products[p.Like.Path]; ok {
			l.Products[p.Path] = c
		}
	}
	for _, a := range l.Adapters {
		for i, on := range a.On {
			if !m.Selects(on) {
				f.Errorf("E0412", a.Paths[i], "no parameter path matches `%s`", value.Clip(on))
			} else if !l.multiplied(on) {
				f.Wants("E0513", a.Paths[i], "a parameter that is itself a factor of `dot`", "", "no product reads a parameter that matches `%s`", value.Clip(on))
			}
		}
	}
	return l.Products
}

func (l *Lora) multiplied(pattern string) bool {
	for path := range l.Products {
		if value.MatchPath(pattern, path) {
			return true
		}
	}
	return false
}

// adapt declares the adapter of p where one is asked for.
func (g *Frame) adapt(p *value.Param) {
	l := &g.Interp.Lora
	a := l.of(p.Path)
	if a == nil || l.Contractions == nil {
		return
	}
	c, ok := l.Contractions[p.Path]
	if !ok {
		return // a pattern selects more than the factors of products
	}
	both, inner, outer := sides(p.Type, c)
	rank := ir.Axis{Name: RankAxis, Size: a.Rank}
	width := 1
	for _, x := range inner {
		width *= x.Size
	}
	if p.Type.Has(RankAxis) {
		g.Errorf("E0513", a.Node, "the parameter `%s` has an axis `%s` itself", p.Path, RankAxis)
		return
	}
	// As the authors' own code starts `down` (microsoft/LoRA, loralib): uniform up to
	// 1/√width, Kaiming's for a leaky rectifier of slope √5.
	bound := 1 / math.Sqrt(float64(width))
	down := &value.Param{Path: value.Join(p.Path, "lora_down"), Pos: p.Pos, Node: p.Node,
		Type: ir.Type{DType: p.Type.DType, Axes: slices.Concat(both, inner, []ir.Axis{rank})},
		Init: ir.Term{Head: "uniform", Args: ir.A("low", ir.Float(-bound), "high", ir.Float(bound))}}
	up := &value.Param{Path: value.Join(p.Path, "lora_up"), Pos: p.Pos, Node: p.Node,
		Type: ir.Type{DType: p.Type.DType, Axes: slices.Concat(both, []ir.Axis{rank}, outer)},
		Init: ir.Term{Head: "zeros"}}
	p.Adapter = &value.Adapter{Down: down, Up: up, Over: c.Over, Scale: a.Scale}
	for _, q := range []*value.Param{down, up} {
		if !g.pathFits(p.Node, q.Path) {
			return
		}
		q.Adapts = p
		g.addParam(p.Node, q)
	}
}

// sides sorts the axes of a parameter by what its product does with them.
func sides(t ir.Type, c Contraction) (both, in, out []ir.Axis) {
	for _, x := range t.Axes {
		switch {
		case slices.Contains(c.Over, x.Name):
			in = append(in, x)
		case slices.Contains(c.Both, x.Name):
			both = append(both, x)
		default:
			out = append(out, x)
		}
	}
	return both, in, out
}

// adapted is the tensor of a parameter with an adapter, as what is no product reads it.
// It is computed once in a function, and left out in the end where only products read
// the parameter.
func (f *Frame) adapted(n syntax.Node, p *value.Param, w value.Tensor) value.Value {
	fb := f.Interp.Builder
	if v := fb.sums[p]; v != nil {
		return value.Tensor{V: v}
	}
	before := len(fb.Func.Ops)
	down, up := value.Tensor{V: fb.Param(p.Adapter.Down)}, value.Tensor{V: fb.Param(p.Adapter.Up)}
	delta := f.Emit(n, "dot", ir.A("over", ir.Names{RankAxis}), f.scaled(n, down, p.Adapter.Scale), up)
	v, ok := f.Emit(n, "add", nil, w, delta).(value.Tensor)
	if !ok {
		return value.Unknown{}
	}
	fb.sums[p], fb.adaptable[v.V] = v.V, p
	fb.spare = append(fb.spare, fb.Func.Ops[before:]...)
	return v
}

func (f *Frame) scaled(n syntax.Node, x value.Value, by float64) value.Value {
	t, ok := x.(value.Tensor)
	if !ok || by == 1 {
		return x
	}
	return f.Emit(n, "mul", nil, t, f.ConstTensor(n, value.Number{V: by}, t.V.Type.DType))
}

// Product emits the product of two tensors. Where one of them is a parameter with an
// adapter that contracts the same axes, its adapter's product is added.
func (f *Frame) Product(n syntax.Node, attrs ir.Attrs, over []string, a, b value.Tensor) value.Value {
	fb := f.Interp.Builder
	if fb == nil || len(fb.adaptable) == 0 {
		return f.Emit(n, "dot", attrs, a, b)
	}
	if f.Interp.Lora.Products != nil {
		f.observe(over, a, b)
		f.observe(over, b, a)
	}
	x, w := a, b
	p := fb.adaptable[b.V]
	if p == nil {
		x, w, p = b, a, fb.adaptable[a.V]
	}
	if p == nil || p.Adapter == nil || !sameNames(over, p.Adapter.Over) {
		return f.Emit(n, "dot", attrs, a, b)
	}
	w.V = fb.Param(p)
	if b.V == x.V {
		a = w
	} else {
		b = w
	}
	main := f.Emit(n, "dot", attrs, a, b)
	low := f.Emit(n, "dot", ir.A("over", ir.Names(over)), x, value.Tensor{V: fb.Param(p.Adapter.Down)})
	low = f.Emit(n, "dot", attrs.With("over", ir.Names{RankAxis}), f.scaled(n, low, p.Adapter.Scale), value.Tensor{V: fb.Param(p.Adapter.Up)})
	return f.Emit(n, "add", nil, main, low)
}

func sameNames(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(n string) bool { return !slices.Contains(b, n) })
}

// DropSpare removes the sums that only products would have read.
func (fb *Builder) DropSpare() {
	if len(fb.spare) == 0 {
		return
	}
	dead := map[*ir.Op]bool{}
	uses := fb.Func.Uses()
	for i := len(fb.spare) - 1; i >= 0; i-- {
		o := fb.spare[i]
		if slices.ContainsFunc(o.Results, func(r *ir.Value) bool { return uses[r] > 0 }) {
			continue
		}
		dead[o] = true
		for _, x := range o.Args {
			uses[x]--
		}
	}
	fb.Func.Ops = slices.DeleteFunc(fb.Func.Ops, func(o *ir.Op) bool { return dead[o] })
	fb.spare = nil
}

var adapterEntries = []string{"alpha", "on", "rank"}

// AdapterEntries are the names of entries of a `lora` block.
func AdapterEntries() []string { return slices.Clone(adapterEntries) }

// ReadAdapters checks a `lora` block's options.
func (f *Frame) ReadAdapters(x *syntax.Lora) *Adapters {
	a := &Adapters{Node: x, Rank: 8}
	alpha, said := 0.0, map[string]*syntax.Entry{}
	for _, e := range x.Entries {
		k := e.Key.Name
		if old := said[k]; old != nil {
			f.Interp.Errs.Add(source.Twice(e.Key, old))
			continue
		}
		said[k] = e
		switch k {
		case "rank", "alpha":
		default:
			f.Wants("E0503", e.Key, diag.OneOf(adapterEntries), diag.DidYouMean(k, adapterEntries), "`lora` has no entry `%s`", k)
			continue
		}
		c, ok := f.Number(e.Value)
		if !ok {
			continue
		}
		if k == "alpha" {
			if alpha = c.V; !(alpha > 0) || math.IsInf(alpha, 0) {
				f.Wants("E0513", e.Value, "a positive number", "", "`alpha` is %s", value.FormatNumber(c))
			}
			continue
		}
		n, ok := c.Int()
		if !ok || n < 1 || n > source.MaxSize {
			f.Wants("E0216", e.Value, "a whole number from 1 to "+strconv.Itoa(source.MaxSize), "", "`rank` is %s", value.FormatNumber(c))
			continue
		}
		a.Rank = n
	}
	if len(x.On) == 0 {
		f.Wants("E0504", x, "`on = blocks.*.attn.wq`", "", "`lora` lacks `on`")
	}
	for _, on := range x.On {
		for _, p := range on.Paths {
			a.Paths, a.On = append(a.Paths, p), append(a.On, p.String())
		}
	}
	if a.Scale = 1; alpha != 0 {
		a.Scale = alpha / float64(a.Rank)
	}
	return a
}
