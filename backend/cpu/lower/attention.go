package lower

import (
	"fmt"
	"slices"

	"ptc/backend/cpu/attention"
	"ptc/backend/kernel"
	"ptc/backend/nest"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
)

// attentionKernel makes the kernel of attention k: it maps its ranges to rows, keys, columns and loops
// around them, and leaves the nest to backend/cpu/attention. It has the blocks of s where that has any;
// otherwise they are left to the generator.
func attentionKernel(name string, k *fusion.Kernel, s schedule.Schedule, m kernel.Machine) (*kernel.Kernel, error) {
	x, err := attendingOf(name, k, s, m)
	if err != nil {
		return nil, err
	}
	if s.Rows != 0 || s.Over != 0 || s.Task != 0 {
		x.spec.Blocks = &attention.Blocks{Rows: whole(s.Rows), Keys: whole(s.Over), Task: whole(s.Task)}
	}
	out, err := attention.Generate(x.spec, m)
	if x.err != nil {
		return nil, x.err
	}
	return out, err
}

// attendingOf is attention k as loops around rows and keys.
func attendingOf(name string, k *fusion.Kernel, s schedule.Schedule, m kernel.Machine) (*attending, error) {
	in, err := nest.Build(name, k, s)
	if err != nil {
		return nil, err
	}
	body := in.Program.Phases[0].Body
	if err := supported(body); err != nil {
		return nil, fmt.Errorf("tile %s: %w", name, err)
	}
	l := k.AttentionLoops(k.Attention.Outs)
	x := &attending{
		evaluator: newEvaluator(in.Program, m), Attention: k.Attention, loops: l, program: in,
		outer: in.Ranges(l.Outer), inner: in.Ranges(l.Inner), groups: in.Ranges(l.Groups), rows: in.Ranges(l.Rows),
		key: in.Ranges([]fusion.Loop{l.Key})[0], stores: stores(body), operands: map[string]int{},
	}
	x.deps = x.roots()
	x.products()
	x.spec.Outer, x.spec.Inner, x.spec.Groups = extents(x.outer), extents(x.inner), extents(x.groups)
	x.spec.Rows, x.spec.Keys = extent(x.rows), x.key.Extent
	x.spec.Top, x.spec.Sum = x.Top != nil, x.Sum != nil
	x.spec.Keep = x.Top != nil && slices.ContainsFunc(x.Outs, func(o *fusion.Out) bool { return o.NeedsScores })
	x.spec.Begin = func(tasks int64) *kernel.Builder { return x.begin(name, tasks) }
	if len(l.Limits) > 0 {
		x.spec.Limits = x.bounds
	}
	x.spec.Row, x.spec.Score, x.spec.Base, x.spec.Weights, x.spec.Known, x.spec.Store = x.row, x.score, x.base, x.weighted, x.statistics, x.storeOut
	return x, nil
}

// attending lowers an attention.
type attending struct {
	*evaluator
	*fusion.Attention
	loops   *fusion.AttentionLoops
	program *nest.Nest
	spec    attention.Spec

	outer, inner, groups, rows []*tile.Range // of loops
	key                        *tile.Range
	stores                     []*tile.Op // of each result
	weights                    []*tile.Value
	operands                   map[string]int // number among ByRow or ByKey
	deps                       map[*tile.Value]dependence
}

// tile is v in the tile program.
func (x *attending) tile(v *ir.Value) *tile.Value { return x.program.Tiles[v] }

// products numbers the operands and weights of products.
func (x *attending) products() {
	for _, p := range x.Into {
		x.spec.Into = append(x.spec.Into, attention.Into{
			Row: x.operand("row", &x.spec.ByRow, p.Row), Key: x.operand("key", &x.spec.ByKey, p.Key)})
	}
	for _, p := range x.Outs {
		out := attention.Out{Weights: x.weight(x.tile(p.Weights))}
		switch p.Over {
		case fusion.OverKeys:
			out.Of, out.Load = x.operand("key", &x.spec.ByKey, p.Of), x.loadOut(p)
		case fusion.OverRows:
			out.Over, out.Of = attention.OverRows, x.operand("row", &x.spec.ByRow, p.Of)
		case fusion.OverAll:
			out.Over, out.Of = attention.OverAll, x.operand("row", &x.spec.ByRow, p.Of)
		}
		x.spec.Outs = append(x.spec.Outs, out)
	}
}

// columns are the ranges of the axes of an operand that the scores lack.
func (x *attending) columns(operand *ir.Value) []*tile.Range {
	return x.program.Ranges(x.loops.Columns(operand))
}

// operand is the number of an operand among list.
func (x *attending) operand(side string, list *[]attention.Operand, of *ir.Value) int {
	v, cols := x.tile(of), x.columns(of)
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
	if w := widest(v); side == "key" && w != nil && stride(w, x.key) == 1 {
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
	x.put(x.outer, at.Outer)
	x.put(x.inner, at.Inner)
	x.put(x.groups, at.Group)
	x.put(x.rows, []kernel.Index{at.Row})
	x.at[x.key] = coord{idx: at.Key, vec: keys}
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
	scores bool // of scores, and not through what is folded over them
	folded bool // of scores, or what is folded over them
}

// roots are the dependences from which those of all other values follow.
func (x *attending) roots() map[*tile.Value]dependence {
	deps := map[*tile.Value]dependence{}
	for _, p := range x.Into {
		deps[x.tile(p.Result())] = dependence{true, true}
	}
	for _, p := range x.Outs {
		deps[x.tile(p.Result())] = dependence{false, true}
	}
	for _, o := range []*ir.Op{x.Top, x.Sum} {
		if o != nil {
			deps[x.tile(o.Result())] = dependence{false, true}
		}
	}
	return deps
}

func (x *attending) dependence(v *tile.Value) dependence {
	d, known := x.deps[v]
	if !known {
		for _, a := range operands(v) {
			of := x.dependence(a)
			d.scores, d.folded = d.scores || of.scores, d.folded || of.folded
		}
		x.deps[v] = d
	}
	return d
}

// bounds are the limits of keys in the group at hand.
func (x *attending) bounds(at attention.At) (out []attention.Limit) {
	x.in(attention.Lanes{N: 1}, func() {
		x.place(at, false, nil, false)
		index := func(v *tile.Value) kernel.Index { return kernel.Of(x.b.Convert(x.value(v), kernel.I64)) }
		for i, l := range x.loops.Limits {
			idx := kernel.Int(l.At.Const)
			for _, v := range x.program.Limits[i].Plus {
				idx = idx.Add(index(v))
			}
			for _, v := range x.program.Limits[i].Minus {
				idx = idx.Sub(index(v))
			}
			out = append(out, attention.Limit{Upper: l.Upper, Row: l.Row, At: idx})
		}
	})
	return out
}
