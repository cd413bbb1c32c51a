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

// Attention is a tile program of products around a softmax, and what is what in it. In
// the program each task has all scores of a problem: how many there are at a time is the
// lowering's own, which folds them as [fusion.Attention] says.
type Attention struct {
	Program *tile.Program

	Outer []*tile.Range // problems, which share no result
	Inner []*tile.Range // problems as well, over which products of OverAll sum
	Rows  []*tile.Range // loops of rows
	Key   *tile.Range

	Into []Into
	Outs []Out
	Body []*tile.Value // the work on scores, and what it reads
	// As in [fusion.Attention]; nil where there is none.
	Exp, Base, Top, Sum, Norm *tile.Value
	// Limits are what hides keys from the positions of each of Rows, or one list where there are none.
	Limits [][]Limit
}

// Limit is a comparison of positions: where Cond is not as Holds says, the score is −∞. It hides the
// keys above a bound where Upper holds, else those below. The bound, included, is the sum of Const
// and Plus less Minus, and where Row holds the row's position more.
type Limit struct {
	Cond        *tile.Value
	Holds       bool
	Upper, Row  bool
	Const       int64
	Plus, Minus []*tile.Value // the same for all rows and keys
}

// Into is a product that makes scores of rows and keys, over columns that both have.
type Into struct {
	Row, Key, Result *tile.Value
	Cols             []*tile.Range
}

// Out is a product of weights and rows or keys, whose columns its result has.
type Out struct {
	Over                Over
	Weights, Of, Result *tile.Value
	Cols                []*tile.Range
}

// Over is what a product of weights sums over.
type Over uint8

// What products of weights sum over.
const (
	OverKeys Over = iota
	OverRows      // over rows
	OverAll       // over rows and inner problems
)

// Attend is the tile program of kernel k of class attention, named name. It records the
// schedule s, which does not show in it.
func Attend(name string, k *fusion.Kernel, s schedule.Schedule) (*Attention, error) {
	if k.Class != fusion.Attend {
		return nil, fmt.Errorf("kernel @%s: found class %s; expected %s", k.F.Name, k.Class, fusion.Attend)
	}
	g, p, err := build(name, k, s)
	if err != nil {
		return nil, err
	}
	g.core.Program = p
	return g.core, nil
}

// attention is products around a softmax, all of a problem at once.
//
//	grid (outer…) { scores = dot …; compute; reduce; compute; dot …; compute; store }
func (g *gen) attention() {
	a := g.k.Attention
	var both, inner []ir.Axis
	for _, x := range a.Both {
		if slices.ContainsFunc(a.Outs, func(o *ir.Op) bool { return slices.Contains(o.Attrs.Names("over"), x.Name) }) {
			inner = append(inner, x)
		} else {
			both = append(both, x)
		}
	}
	outer, in, rows := g.loops(both), g.loops(inner), g.loops(a.Rows)
	key := fusion.Loop{Axes: []string{a.Key.Name}, Size: int64(a.Key.Size)} // a range even if there is one
	g.dimensions = slices.Concat(outer, in, rows, []fusion.Loop{key})
	columns := map[*ir.Value][]fusion.Loop{}
	for _, o := range slices.Concat(a.Into, a.Outs) {
		for _, v := range o.Args {
			columns[v] = g.columns(v)
			for _, d := range columns[v] {
				if !slices.ContainsFunc(g.dimensions, func(e fusion.Loop) bool { return e.Name() == d.Name() }) {
					g.dimensions = append(g.dimensions, d)
				}
			}
		}
	}
	g.declare()
	problem := g.ranges(outer)
	g.phase(slices.Concat(problem, g.whole(g.dimensions[len(outer):])), func() {
		g.core = &Attention{Outer: problem, Inner: g.present(in), Rows: g.present(rows), Key: g.present([]fusion.Loop{key})[0]}
		g.products(columns)
		g.softmax()
		g.storeAll()
		g.bounded(rows)
	})
}

// bounded notes what hides keys.
func (g *gen) bounded(rows []fusion.Loop) {
	lists := []*limits{g.limitsBy(nil, g.k.Attention.Outs)}
	if len(rows) > 0 {
		lists = nil
	}
	for _, d := range rows {
		lists = append(lists, g.limitsBy(d.Axes, g.k.Attention.Outs))
	}
	for _, l := range lists {
		values := func(vs []*ir.Value) (out []*tile.Value) {
			for _, v := range vs {
				out = append(out, l.same(v).x)
			}
			return out
		}
		var list []Limit
		for _, x := range l.found {
			list = append(list, Limit{g.value(x.of.Value), x.of.Holds, x.upper, x.row, x.at.Const, values(x.at.Plus), values(x.at.Minus)})
		}
		g.core.Limits = append(g.core.Limits, list)
	}
}

// present are the ranges that the computation is at along dims.
func (g *gen) present(dims []fusion.Loop) []*tile.Range {
	var out []*tile.Range
	for _, d := range dims {
		out = append(out, rangesOf([]tile.Affine{g.at[d.Name()]})...)
	}
	return out
}

// products generates the products of an attention, of whose operands these are columns.
func (g *gen) products(columns map[*ir.Value][]fusion.Loop) {
	a, x := g.k.Attention, g.core
	for _, o := range a.Into {
		row, key := o.Args[0], o.Args[1]
		if row.Type.Has(a.Key.Name) {
			row, key = key, row
		}
		x.Into = append(x.Into, Into{g.value(row), g.value(key), g.value(o.Result()), g.present(columns[row])})
	}
	for _, o := range a.Outs {
		weights, of := o.Args[0], o.Args[1]
		if !g.scored(weights) {
			weights, of = of, weights
		}
		x.Outs = append(x.Outs, Out{g.sums(o), g.value(weights), g.value(of), g.value(o.Result()), g.present(columns[of])})
	}
}

// softmax notes the work on scores.
func (g *gen) softmax() {
	a, x := g.k.Attention, g.core
	for _, o := range a.Body {
		x.Body = append(x.Body, g.value(o.Result()))
	}
	x.Exp, x.Base = g.value(a.Exp.Result()), g.value(a.Base)
	for _, o := range []struct {
		op *ir.Op
		to **tile.Value
	}{{a.Top, &x.Top}, {a.Sum, &x.Sum}, {a.Norm, &x.Norm}} {
		if o.op != nil {
			*o.to = g.value(o.op.Result())
		}
	}
}

// columns are the axes of an operand that the scores do not have.
func (g *gen) columns(v *ir.Value) []fusion.Loop {
	var out []ir.Axis
	for _, a := range v.Type.Axes {
		if !slices.ContainsFunc(g.k.Space, func(b ir.Axis) bool { return a.Name == b.Name }) {
			out = append(out, a)
		}
	}
	return g.loops(out)
}

// sums is what product o of weights sums over.
func (g *gen) sums(o *ir.Op) Over {
	switch over := o.Attrs.Names("over"); {
	case slices.Contains(over, g.k.Attention.Key.Name):
		return OverKeys
	case len(over) > len(g.k.Attention.Rows):
		return OverAll
	}
	return OverRows
}

// scored reports whether v is computed from scores, and not through what is folded over
// them.
func (g *gen) scored(v *ir.Value) bool {
	o, a := v.Def, g.k.Attention
	if _, view := g.k.Views[v]; view || o == nil || o == a.Top || o == a.Sum || slices.Contains(a.Outs, o) {
		return false
	}
	return slices.Contains(a.Into, o) || slices.ContainsFunc(o.Args, g.scored)
}

// folded is a product or a reduction of whole axes.
func (g *gen) folded(o *ir.Op) known {
	var over []fusion.Loop
	for _, d := range g.dimensions {
		if slices.Contains(o.Attrs.Names("over"), d.Last()) {
			over = append(over, d)
		}
	}
	operand := func(v *ir.Value) *tile.Value { return g.over(v, g.along(v, g.dimensions)) }
	ranges := g.along(o.Args[0], over)
	if op.Of(o).Class == op.Reduction {
		return known{g.b.Reduce(tile.Kind(o.Name), operand(o.Args[0]), ranges...), g.b.Depth()}
	}
	return known{g.b.Dot(operand(o.Args[0]), operand(o.Args[1]), nil, o.Result().Type.DType, ranges...), g.b.Depth()}
}
