package lower

import (
	"fmt"
	"slices"

	"ptc/backend/cpu/attention"
	"ptc/backend/kernel"
	"ptc/backend/nest"
	"ptc/backend/tile"
)

// Attention lowers an attention: it maps its ranges to rows, keys, columns and loops
// around them, and leaves the nest to backend/cpu/attention. It has the blocks of the
// program's schedule where that has any; otherwise they are left to the generator.
func Attention(a *nest.Attention, m kernel.Machine) (*kernel.Kernel, error) {
	x, err := attendingOf(a, m)
	if err != nil {
		return nil, err
	}
	if s := a.Program.Schedule; s.Rows != 0 || s.Over != 0 || s.Task != 0 {
		x.spec.Blocks = &attention.Blocks{Rows: whole(s.Rows), Keys: whole(s.Over), Task: whole(s.Task)}
	}
	k, err := attention.Generate(x.spec, m)
	if x.err != nil {
		return nil, x.err
	}
	return k, err
}

// attendingOf says what is what in a.
func attendingOf(a *nest.Attention, m kernel.Machine) (*attending, error) {
	p := a.Program
	ph := p.Phases[0]
	if err := supported(ph.Body); err != nil {
		return nil, fmt.Errorf("tile %s: %w", p.Name, err)
	}
	x := &attending{evaluator: newEvaluator(p, m), Attention: a, deps: map[*tile.Value]dependence{}, operands: map[string]int{}}
	for _, o := range ph.Body.Ops {
		if o.Kind == tile.Store {
			x.stores = append(x.stores, o)
		}
	}
	x.chooseRows()
	if err := x.products(); err != nil {
		return nil, fmt.Errorf("tile %s: %w", p.Name, err)
	}
	s := &x.spec
	s.Outer, s.Inner, s.Groups = extents(x.Outer), extents(x.Inner), extents(x.groups)
	s.Rows, s.Keys = extent(x.rows), x.Key.Extent
	s.Top, s.Sum, s.Keep = x.Top != nil, x.Sum != nil, x.keeps()
	s.Begin = func(tasks int64) *kernel.Builder { return x.begin(p.Name, tasks) }
	if len(x.limits) > 0 {
		s.Limits = x.bounds
	}
	s.Row, s.Score, s.Base, s.Weights, s.Known, s.Store = x.row, x.score, x.base, x.weighted, x.statistics, x.storeOut
	return x, nil
}

// attending is an attention as loops around rows and keys.
type attending struct {
	*evaluator
	*nest.Attention
	spec attention.Spec

	groups   []*tile.Range // loops of rows besides rows
	rows     []*tile.Range // at most one
	weights  []*tile.Value
	limits   []nest.Limit
	operands map[string]int // number among ByRow or ByKey
	deps     map[*tile.Value]dependence
	stores   []*tile.Op
}

// products finds operands and weights.
func (x *attending) products() error {
	for _, p := range x.Into {
		x.spec.Into = append(x.spec.Into, attention.Into{
			Row: x.operand("row", &x.spec.ByRow, p.Row, p.Cols), Key: x.operand("key", &x.spec.ByKey, p.Key, p.Cols)})
	}
	for _, p := range x.Outs {
		if d := x.dependence(p.Weights); x.Sum != nil && d.norm && d.bare {
			return fmt.Errorf("weights are both divided by the sum of exponentials and not")
		}
		out := attention.Out{Weights: x.weight(p.Weights)}
		switch p.Over {
		case nest.OverKeys:
			out.Of, out.Load = x.operand("key", &x.spec.ByKey, p.Of, p.Cols), x.loadOut(p)
		case nest.OverRows:
			out.Over, out.Of = attention.OverRows, x.operand("row", &x.spec.ByRow, p.Of, p.Cols)
		case nest.OverAll:
			out.Over, out.Of = attention.OverAll, x.operand("row", &x.spec.ByRow, p.Of, p.Cols)
		}
		x.spec.Outs = append(x.spec.Outs, out)
	}
	return nil
}

// chooseRows takes from the loops of rows the one that is cut into tiles: that by which
// most masks compare positions, or the largest.
func (x *attending) chooseRows() {
	if len(x.Rows) == 0 {
		x.limits = x.Limits[0]
		return
	}
	best, most := 0, -1
	for i, r := range x.Rows {
		n := 0
		for _, l := range x.Limits[i] {
			if l.Row {
				n++
			}
		}
		if n > most || n == most && r.Extent > x.Rows[best].Extent {
			best, most, x.limits = i, n, x.Limits[i]
		}
	}
	x.rows = x.Rows[best : best+1]
	x.groups = slices.Concat(x.Rows[:best], x.Rows[best+1:])
}

// operand is the number among list of v with these columns.
func (x *attending) operand(side string, list *[]attention.Operand, v *tile.Value, cols []*tile.Range) int {
	name := fmt.Sprintf("%s %p", side, v)
	for _, r := range cols {
		name += " " + r.Name
	}
	if i, ok := x.operands[name]; ok {
		return i
	}
	o := attention.Operand{Cols: 1, Unit: attention.AlongCols}
	if n := len(cols) - 1; n >= 0 {
		o.Cols, o.Subs = cols[n].Extent, extents(cols[:n])
	}
	if w := widest(v); side == "key" && w != nil && stride(w, x.Key) == 1 {
		o.Unit = attention.AlongKeys
	}
	o.Load = func(at attention.At, along attention.Along, l attention.Lanes) (out *kernel.Value) {
		x.in(l, func() {
			x.place(at, along == attention.AlongKeys, cols, along == attention.AlongCols)
			e := x.value(v)
			out = x.b.Convert(x.b.Splat(e, l.N), kernel.F32)
			if l.Mask != nil && (!loads(v.Def) || e.Type.Lanes < l.N) {
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
func (x *attending) weight(v *tile.Value) int {
	if i := slices.Index(x.weights, v); i >= 0 {
		return i
	}
	x.weights = append(x.weights, v)
	return len(x.weights) - 1
}

// place puts the computation at a row or a key, and in columns cols.
func (x *attending) place(at attention.At, keys bool, cols []*tile.Range, along bool) {
	x.put(x.Outer, at.Outer)
	x.put(x.Inner, at.Inner)
	x.put(x.groups, at.Group)
	x.put(x.rows, []kernel.Index{at.Row})
	x.at[x.Key] = coord{idx: at.Key, vec: keys}
	if n := len(cols) - 1; n >= 0 {
		x.put(cols[:n], at.Sub)
		x.at[cols[n]] = coord{idx: at.Col, vec: along}
	}
}

// in runs body in a scope of its own, with lanes.
func (x *attending) in(l attention.Lanes, body func()) {
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
	folded        bool // of scores, or what is folded over them
	out           *tile.Value
}

func (x *attending) dependence(v *tile.Value) dependence {
	if d, ok := x.deps[v]; ok {
		return d
	}
	d := dependence{folded: true}
	switch {
	case slices.ContainsFunc(x.Into, func(p nest.Into) bool { return p.Result == v }):
		d.scores, d.score = true, true
	case slices.ContainsFunc(x.Outs, func(p nest.Out) bool { return p.Result == v }):
		d.out = v
	case v == x.Top || v == x.Sum:
	case v == x.Norm:
		d.scores, d.norm = true, true
	case v == x.Exp:
		d.scores, d.bare = true, true
	default:
		d.folded = false
		for _, a := range operands(v) {
			of := x.dependence(a)
			d.scores, d.score = d.scores || of.scores, d.score || of.score
			d.norm, d.bare = d.norm || of.norm, d.bare || of.bare
			d.folded = d.folded || of.folded
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
	return x.Top != nil && slices.ContainsFunc(x.weights, func(v *tile.Value) bool { return x.dependence(v).score })
}
