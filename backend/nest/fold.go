package nest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// Part is a program of some of a kernel's results, one phase. The parts of a kernel share no
// result, so that their tasks may be those of one launch, in any order.
type Part struct {
	Program *tile.Program
	Args    []int // what its buffers are: the function's arguments, and behind these its results
}

// Fold is kernel k of class attention as programs whose tasks have s.Rows queries and s.Over keys
// at a time, and so fit into the registers of a block of threads: one whose tasks are blocks of
// queries, for the products over keys, and one whose tasks are blocks of keys for those over the
// same of the queries' axes. Each computes the scores again, none adds to what another stores.
func Fold(name string, k *fusion.Kernel, s schedule.Schedule) ([]Part, error) {
	parts, err := fold(name, k, s)
	if err != nil {
		return nil, fmt.Errorf("kernel @%s (%s, schedule %q): %w", k.F.Name, k.Class, s, err)
	}
	return parts, nil
}

func fold(name string, k *fusion.Kernel, s schedule.Schedule) ([]Part, error) {
	if k.Class != fusion.Attend {
		return nil, fmt.Errorf("found class %s; expected %s", k.Class, fusion.Attend)
	}
	if s.Left == schedule.PerPhase || s.Right == schedule.PerPhase {
		return nil, fmt.Errorf("found operands that a phase before packs; expected them to be packed by each task, or not")
	}
	if err := supported(k.F); err != nil {
		return nil, err
	}
	var out []Part
	alike := products(k.Attention)
	for i, outs := range alike {
		stored := resultsOf(k, outs, i == 0)
		if len(stored) == 0 {
			continue
		}
		of := name
		if len(alike) > 1 {
			of = fmt.Sprintf("%s.%d", name, i)
		}
		f := &folding{gen: newGen(of, k, s, stored), a: k.Attention, outs: outs, copying: map[*tile.Value]bool{}}
		if err := f.weigh(); err != nil {
			return nil, err
		}
		f.lay()
		f.invert()
		if f.overKeys() {
			f.byRows()
		} else {
			f.byKeys()
		}
		p, err := f.b.Finish()
		if err != nil {
			return nil, err
		}
		part := Part{Program: p}
		for i := range k.F.Args {
			part.Args = append(part.Args, i)
		}
		for _, i := range stored {
			part.Args = append(part.Args, len(k.F.Args)+i)
		}
		out = append(out, part)
	}
	return out, nil
}

// products are the products of weights by what they sum over, those over keys first.
func products(a *fusion.Attention) [][]*ir.Op {
	var alike [][]*ir.Op
	at := map[string]int{}
	add := func(keys bool) {
		for _, o := range a.Outs {
			if slices.Contains(o.Attrs.Names("over"), a.Key.Name) != keys {
				continue
			}
			over := a.Key.Name
			if !keys {
				over = strings.Join(summed(a, o), " ")
			}
			if _, ok := at[over]; !ok {
				at[over] = len(alike)
				alike = append(alike, nil)
			}
			alike[at[over]] = append(alike[at[over]], o)
		}
	}
	add(true)
	add(false)
	return alike
}

// summed are the axes of queries and keys, larger than 1, that a product over rows sums over as well.
func summed(a *fusion.Attention, o *ir.Op) []string {
	var out []string
	for _, x := range a.Both {
		if x.Size > 1 && slices.Contains(o.Attrs.Names("over"), x.Name) {
			out = append(out, x.Name)
		}
	}
	return out
}

// resultsOf are the results of k that are made of the products outs, and where rest holds
// those that are made of none.
func resultsOf(k *fusion.Kernel, outs []*ir.Op, rest bool) []int {
	var out []int
	for i, r := range k.F.Results {
		o := madeOf(k, r.Value)
		if o == nil && rest || slices.Contains(outs, o) {
			out = append(out, i)
		}
	}
	return out
}

// madeOf is the product of weights that v is made of, or nil.
func madeOf(k *fusion.Kernel, v *ir.Value) *ir.Op {
	if _, view := k.Views[v]; view || v.Def == nil {
		return nil
	}
	if slices.Contains(k.Attention.Outs, v.Def) {
		return v.Def
	}
	if k.Part[v.Def] != fusion.PartEpilogue {
		return nil
	}
	for _, a := range v.Def.Args {
		if o := madeOf(k, a); o != nil {
			return o
		}
	}
	return nil
}

// folding is the state of generating a part.
type folding struct {
	*gen
	a       *fusion.Attention
	outs    []*ir.Op
	divided []bool // of each product, whether its weights are divided by the sum of this kernel

	outer, inner []fusion.Loop // problems, and those that the products sum over
	groups, rows []fusion.Loop // loops of rows; rows is the one that is cut into blocks, if there is one
	key          fusion.Loop
	cols         []fusion.Loop
	limits       *limits
	copying      map[*tile.Value]bool // copies of the present block that nothing has waited for
}

func (f *folding) overKeys() bool {
	return slices.Contains(f.outs[0].Attrs.Names("over"), f.a.Key.Name)
}

// weights are the operand of o that is over the scores, and the other one.
func (g *gen) weights(o *ir.Op) (weights, of *ir.Value) {
	if g.scored(o.Args[0]) {
		return o.Args[0], o.Args[1]
	}
	return o.Args[1], o.Args[0]
}

// weigh notes which products are of weights that the sum of exponentials divides: it is complete
// behind the last key, so that the sums are divided instead.
func (f *folding) weigh() error {
	for _, o := range f.outs {
		w, _ := f.weights(o)
		norm, bare := f.exponentials(w, map[*ir.Value]bool{})
		if f.a.Sum != nil && norm && bare {
			return fmt.Errorf("found weights that the sum of exponentials divides in part; expected all of them, or none")
		}
		f.divided = append(f.divided, f.a.Sum != nil && norm)
	}
	return nil
}

// invert has multiplications in the place of divisions by what is the same for a row, or for all:
// by sums of exponentials, which are not far from 1, and by constants.
func (f *folding) invert() {
	f.instead = map[*ir.Value]func() known{}
	for _, o := range f.a.Body {
		if o.Name != op.Div || o.Result().Type.DType != ir.F32 {
			continue
		}
		c, is := fusion.Literal(o.Args[1])
		if c = math.Abs(c); is && c > 0x1p-100 && c < 0x1p100 || o == f.a.Norm {
			f.instead[o.Result()] = func() known {
				return f.apply(op.Mul, f.find(o.Args[0]), f.apply(op.Div, f.constant(ir.F32, 1), f.find(o.Args[1])))
			}
		}
	}
}

// exponentials reports whether v is computed from the exponentials by their division, and
// whether it is otherwise.
func (f *folding) exponentials(v *ir.Value, seen map[*ir.Value]bool) (norm, bare bool) {
	switch {
	case seen[v] || !f.scored(v):
		return false, false
	case f.a.Norm != nil && v == f.a.Norm.Result():
		return true, false
	case v == f.a.Exp.Result():
		return false, true
	}
	seen[v] = true
	for _, x := range v.Def.Args {
		n, b := f.exponentials(x, seen)
		norm, bare = norm || n, bare || b
	}
	return norm, bare
}

// lay makes the dimensions.
func (f *folding) lay() {
	var both, inner []ir.Axis
	for _, x := range f.a.Both {
		if !f.overKeys() && slices.Contains(summed(f.a, f.outs[0]), x.Name) {
			inner = append(inner, x)
		} else {
			both = append(both, x)
		}
	}
	f.outer, f.inner = f.loops(both), f.loops(inner)
	f.chooseRows(f.loops(f.a.Rows))
	f.key = fusion.Loop{Axes: []string{f.a.Key.Name}, Size: int64(f.a.Key.Size)} // a range even if there is one
	var operands []*ir.Value
	for _, o := range f.a.Into {
		operands = append(operands, o.Args...)
	}
	for _, o := range f.outs {
		_, of := f.weights(o)
		operands = append(operands, of)
	}
	for _, v := range operands {
		for _, d := range f.columns(v) {
			if !slices.ContainsFunc(f.cols, func(e fusion.Loop) bool { return e.Name() == d.Name() }) {
				f.cols = append(f.cols, d)
			}
		}
	}
	f.dimensions = slices.Concat(f.outer, f.inner, f.groups, f.rows, []fusion.Loop{f.key}, f.cols)
	f.declare()
}

// chooseRows takes from the loops of rows the one that is cut into blocks: that by which most
// masks compare positions, or the largest.
func (f *folding) chooseRows(rows []fusion.Loop) {
	if len(rows) == 0 {
		f.limits = f.limitsBy(nil, f.outs)
		return
	}
	best, most := 0, -1
	for i, d := range rows {
		limits := f.limitsBy(d.Axes, f.outs)
		n := 0
		for _, l := range limits.found {
			if l.row {
				n++
			}
		}
		if n > most || n == most && d.Size > rows[best].Size {
			best, most, f.limits = i, n, limits
		}
	}
	f.rows, f.groups = rows[best:best+1], slices.Concat(rows[:best], rows[best+1:])
}

// as is v of dtype d.
func (g *gen) as(v *tile.Value, d ir.DType) *tile.Value {
	if v.Type.DType == d {
		return v
	}
	return g.b.Cast(v, d)
}
