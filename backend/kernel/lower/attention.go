package lower

import (
	"fmt"
	"slices"

	"ptc/backend/kernel"
	"ptc/backend/kernel/attention"
	"ptc/ir"
	"ptc/ir/fusion"
)

// attention generates products around a softmax: it maps their axes to rows, keys,
// columns and loops around them, and leaves the nest to backend/kernel/attention.
func (g *gen) attention() (*kernel.Kernel, error) {
	x := &attending{gen: g, Attention: g.k.Attention, deps: map[*ir.Value]dependence{}, operands: map[string]int{}}
	if err := x.products(); err != nil {
		return nil, err
	}
	s := &x.spec
	s.Outer, s.Inner, s.Groups = sizes(x.outer), sizes(x.inner), sizes(x.groups)
	s.Rows, s.Keys = x.rows.size, x.key.size
	s.Top, s.Sum, s.Keep = x.Top != nil, x.Sum != nil, x.keeps()
	s.Begin = func(tasks int64) *kernel.Builder { g.begin(tasks); return g.b }
	if len(x.limits) > 0 {
		s.Limits = x.bounds
	}
	s.Row, s.Score, s.Base, s.Weights, s.Known, s.Store = x.row, x.score, x.base, x.weighted, x.known, x.storeOut
	return attention.Generate(*s, g.m)
}

// attending is an attention as loops around rows and keys.
type attending struct {
	*gen
	*fusion.Attention
	spec attention.Spec

	outer, inner, groups []dim
	rows, key            dim
	cols                 [][]dim // of each of Outs
	weights              []*ir.Value
	limits               []limit
	operands             map[string]int // number among ByRow or ByKey, by value and columns
	deps                 map[*ir.Value]dependence
}

// products finds loops, operands and weights.
func (x *attending) products() error {
	x.key = dim{[]string{x.Key.Name}, int64(x.Key.Size)}
	var both, inner []ir.Axis
	for _, a := range x.Both {
		if x.summed(a.Name) {
			inner = append(inner, a)
		} else {
			both = append(both, a)
		}
	}
	x.outer, x.inner, x.groups = x.dims(both), x.dims(inner), x.dims(x.Rows)
	x.chooseRows()
	for _, o := range x.Into {
		row, key := o.Args[0], o.Args[1]
		if row.Type.Has(x.Key.Name) {
			row, key = key, row
		}
		cols := x.columns(row)
		x.spec.Into = append(x.spec.Into, attention.Into{
			Row: x.operand("row", &x.spec.ByRow, row, cols), Key: x.operand("key", &x.spec.ByKey, key, cols)})
	}
	for _, o := range x.Outs {
		weights, other := o.Args[0], o.Args[1]
		if !x.dependence(weights).scores {
			weights, other = other, weights
		}
		if d := x.dependence(weights); x.Sum != nil && d.norm && d.bare {
			return fmt.Errorf("weights are both divided by the sum of exponentials and not")
		}
		cols := x.columns(other)
		out := attention.Out{Weights: x.weight(weights)}
		switch over := o.Attrs.Names("over"); {
		case slices.Contains(over, x.Key.Name):
			out.Of = x.operand("key", &x.spec.ByKey, other, cols)
			out.Load = x.loadOut(o, cols)
		default:
			out.Over, out.Of = attention.OverRows, x.operand("row", &x.spec.ByRow, other, cols)
			if len(over) > len(x.Rows) {
				out.Over = attention.OverAll
			}
		}
		x.spec.Outs, x.cols = append(x.spec.Outs, out), append(x.cols, cols)
	}
	return nil
}

// summed reports whether a product over rows sums over axis name, of Both, as well.
func (x *attending) summed(name string) bool {
	for _, o := range x.Outs {
		if slices.Contains(o.Attrs.Names("over"), name) {
			return true
		}
	}
	return false
}

// chooseRows takes from the loops of rows the one that is cut into tiles: that by which
// most masks compare positions, or the largest.
func (x *attending) chooseRows() {
	if len(x.groups) == 0 {
		x.rows, x.limits = dim{size: 1}, x.limitsBy("")
		return
	}
	best, most := 0, -1
	for i, d := range x.groups {
		limits := x.limitsBy(last(d))
		n := 0
		for _, l := range limits {
			if l.row {
				n++
			}
		}
		if n > most || n == most && d.size > x.groups[best].size {
			best, most, x.limits = i, n, limits
		}
	}
	x.rows = x.groups[best]
	x.groups = slices.Concat(x.groups[:best], x.groups[best+1:])
}

// columns are the loops over the axes of operand v that the scores do not have.
func (x *attending) columns(v *ir.Value) []dim {
	var out []ir.Axis
	for _, a := range v.Type.Axes {
		if !slices.ContainsFunc(x.gen.k.Space, func(b ir.Axis) bool { return a.Name == b.Name }) {
			out = append(out, a)
		}
	}
	return x.dims(out)
}

// operand is the number among list of v with these columns.
func (x *attending) operand(side string, list *[]attention.Operand, v *ir.Value, cols []dim) int {
	name := fmt.Sprint(side, v.ID, cols)
	if i, ok := x.operands[name]; ok {
		return i
	}
	c, subs := takeLast(cols)
	if len(cols) > 1 {
		c, subs = cols[len(cols)-1], cols[:len(cols)-1]
	}
	o := attention.Operand{Subs: sizes(subs), Cols: c.size, Unit: attention.AlongCols}
	if w := (&contraction{gen: x.gen}).widest(v); side == "key" && w != nil {
		if a, ok := w.Axis(x.Key.Name); ok && a.Stride == 1 {
			o.Unit = attention.AlongKeys
		}
	}
	o.Load = func(at attention.At, along attention.Along, l attention.Lanes) (out *kernel.Value) {
		x.in(at, l, func() {
			x.place(at, along == attention.AlongKeys, cols, along == attention.AlongCols)
			out = x.b.Convert(x.b.Splat(x.value(v), l.N), kernel.F32)
			if _, view := x.gen.k.Views[v]; !view && l.Mask != nil {
				out = x.b.Select(l.Mask, out, x.b.Like(out, 0))
			}
		})
		return out
	}
	x.operands[name] = len(*list)
	*list = append(*list, o)
	return len(*list) - 1
}

// weight is the number of v among the weights.
func (x *attending) weight(v *ir.Value) int {
	if i := slices.Index(x.weights, v); i >= 0 {
		return i
	}
	x.weights = append(x.weights, v)
	return len(x.weights) - 1
}

// place puts the computation at a row or a key, and in columns cols.
func (x *attending) place(at attention.At, keys bool, cols []dim, along bool) {
	each := func(dims []dim, idx []kernel.Index) {
		for i, d := range dims {
			if i < len(idx) {
				x.set(d, coord{idx: idx[i]})
			}
		}
	}
	each(x.outer, at.Outer)
	each(x.inner, at.Inner)
	each(x.groups, at.Group)
	if len(x.rows.axes) > 0 {
		x.set(x.rows, coord{idx: at.Row})
	}
	x.set(x.key, coord{idx: at.Key, vec: keys})
	if n := len(cols); n > 0 {
		each(cols[:n-1], at.Sub)
		x.set(cols[n-1], coord{idx: at.Col, vec: along})
	}
}

// in runs body in a scope of its own, with lanes.
func (x *attending) in(at attention.At, l attention.Lanes, body func()) {
	x.within(func() {
		lanes, mask := x.lanes, x.mask
		x.lanes, x.mask = l.N, l.Mask
		body()
		x.lanes, x.mask = lanes, mask
	})
}

// dependence is what a value is computed from.
type dependence struct {
	scores, score bool // of Into, and not through what Exp takes Base off
	norm, bare    bool // of Norm, and of Exp not through Norm
	out           *ir.Op
}

func (x *attending) dependence(v *ir.Value) dependence {
	if d, ok := x.deps[v]; ok || v.Def == nil {
		return d
	}
	var d dependence
	switch o := v.Def; {
	case slices.Contains(x.Into, o):
		d = dependence{scores: true, score: true}
	case slices.Contains(x.Outs, o):
		d = dependence{out: o}
	case o == x.Top || o == x.Sum:
	case o == x.Norm:
		d = dependence{scores: true, norm: true}
	case o == x.Exp:
		d = dependence{scores: true, bare: true}
	default:
		for _, a := range o.Args {
			of := x.dependence(a)
			d.scores, d.score = d.scores || of.scores, d.score || of.score
			d.norm, d.bare = d.norm || of.norm, d.bare || of.bare
			if of.out != nil {
				d.out = of.out
			}
		}
	}
	x.deps[v] = d
	return d
}

// keeps reports whether weights need more of the scores than what Exp takes Base off.
func (x *attending) keeps() bool {
	if x.Top == nil {
		return false
	}
	for _, v := range x.weights {
		if x.dependence(v).score {
			return true
		}
	}
	return false
}
