package decode

import (
	"maps"
	"math"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// partial is what is known of a value in an area: a number, or that it is open, or
// neither.
type partial struct {
	known, open bool
	value       float64
}

func is(x partial, v float64) bool { return x.known && x.value == v }

// product is that of two factors: 0 where one is, whatever the other is.
func product(x, y partial) partial {
	switch {
	case is(x, 0) || is(y, 0):
		return partial{known: true}
	case x.known && y.known:
		return partial{known: true, value: x.value * y.value}
	}
	return partial{open: x.open || y.open}
}

// compute is an elementwise operation of operands of which some are known. What is open
// is finite.
func compute(o *ir.Op, args []partial) partial {
	all, unknown := true, partial{}
	for _, x := range args {
		all = all && x.known
		unknown.open = unknown.open || x.open
	}
	infinite := func(x partial, sign int) bool { return x.known && math.IsInf(x.value, sign) }
	x := args[0]
	var y partial
	if len(args) > 1 {
		y = args[1]
	}
	switch {
	case o.Name == op.Select && x.known:
		if x.value != 0 {
			return y
		}
		return args[2]
	case all:
		return evaluate(o, args)
	case o.Name == op.And && (is(x, 0) || is(y, 0)), o.Name == op.Mul && (is(x, 0) || is(y, 0)), o.Name == op.Div && is(x, 0):
		return partial{known: true}
	case o.Name == op.Or && (is(x, 1) || is(y, 1)):
		return partial{known: true, value: 1}
	case o.Name == op.Add && (infinite(x, -1) || infinite(y, -1)), o.Name == op.Sub && infinite(x, -1), o.Name == op.Min && (infinite(x, -1) || infinite(y, -1)):
		return partial{known: true, value: math.Inf(-1)}
	case (o.Name == op.Mul || o.Name == op.Div) && infinite(x, -1) && y.known && y.value > 0:
		return partial{known: true, value: math.Inf(-1)}
	}
	return unknown
}

// evaluate is o of numbers.
func evaluate(o *ir.Op, args []partial) partial {
	c := &ir.Op{Name: o.Name, Attrs: o.Attrs}
	var in []*tensor.Tensor
	for i, x := range args {
		t := ir.Scalar(o.Args[i].Type.DType)
		c.Args = append(c.Args, &ir.Value{Type: t})
		in = append(in, tensor.Scalar(t.DType, x.value))
	}
	c.Results = []*ir.Value{{Type: ir.Scalar(o.Result().Type.DType), Def: c}}
	out, err := op.Of(o).Eval(&op.Context{}, c, in)
	if err != nil || len(out) != 1 {
		return partial{}
	}
	return partial{known: true, value: out[0].Data[0]}
}

// lineOf is the result of o as a sum of indices, digits and a constant, or nil.
func (p *prover) lineOf(o *ir.Op) *line {
	arg := func(i int) *line { return p.lines[o.Args[i]] }
	switch o.Name {
	case op.Const:
		return &line{plus: o.Attrs.Float("value", 0)}
	case op.Index:
		if !o.Attrs.Has(ir.AttrFirst) {
			return &line{index: map[string]int{o.Attrs.Text("axis"): 1}}
		}
	case op.Add:
		return sum(arg(0), arg(1), 1)
	case op.Sub:
		return sum(arg(0), arg(1), -1)
	case op.Neg:
		return sum(&line{}, arg(0), -1)
	case op.Detach, op.Transpose, op.Broadcast:
		return arg(0)
	case op.Cast:
		if o.Result().Type.DType != ir.Bool && o.Args[0].Type.DType != ir.Bool {
			return arg(0)
		}
	case op.Rename:
		if l := arg(0); l != nil {
			to := &line{index: map[string]int{}, digit: l.digit, plus: l.plus}
			for n, k := range l.index {
				to.index[renamed(o, n)] = k
			}
			return to
		}
	}
	return nil
}

// sum is x plus sign times y, nil where one is not known.
func sum(x, y *line, sign int) *line {
	if x == nil || y == nil {
		return nil
	}
	z := &line{index: map[string]int{}, digit: map[digit]int{}, plus: x.plus + float64(sign)*y.plus}
	maps.Copy(z.index, x.index)
	maps.Copy(z.digit, x.digit)
	for n, k := range y.index {
		if z.index[n] += sign * k; z.index[n] == 0 {
			delete(z.index, n)
		}
	}
	for d, k := range y.digit {
		if z.digit[d] += sign * k; z.digit[d] == 0 {
			delete(z.digit, d)
		}
	}
	return z
}

// difference is the left operand less the right one of a comparison.
func (p *prover) difference(o *ir.Op) *line {
	switch o.Name {
	case op.Lt, op.Le, op.Gt, op.Ge, op.Eq, op.Ne:
		return sum(p.lines[o.Args[0]], p.lines[o.Args[1]], -1)
	}
	return nil
}

// compares is what a comparison is in an area where an index is from a distance to that
// of the position on, δ ≥ the distance: k·(index − digit) + c = k·δ + c.
func (p *prover) compares(o *ir.Op, a area) (truth float64, ok bool) {
	d := p.difference(o)
	if d == nil || len(a.axes) != 1 || len(d.index) != 1 || len(d.digit) != 1 {
		return 0, false
	}
	k := d.index[a.axes[0]]
	if k == 0 || d.digit[a.digits[0]] != -k {
		return 0, false
	}
	least := d.plus + float64(k*a.first()) // of k·δ + c where k > 0, the most where k < 0
	low, high := least, math.Inf(1)
	if k < 0 {
		low, high = math.Inf(-1), least
	}
	return decide(o.Name, low, high)
}

// decide compares what is from low to high with 0.
func decide(name string, low, high float64) (truth float64, ok bool) {
	var yes, no bool
	switch name {
	case op.Lt:
		yes, no = high < 0, low >= 0
	case op.Le:
		yes, no = high <= 0, low > 0
	case op.Gt:
		yes, no = low > 0, high <= 0
	case op.Ge:
		yes, no = low >= 0, high < 0
	case op.Eq:
		no = low > 0 || high < 0
	case op.Ne:
		yes = low > 0 || high < 0
	}
	if yes {
		return 1, true
	}
	return 0, no
}

// before reports whether an index along an axis is always before an area of it.
func (p *prover) before(v *ir.Value, axis string, a area) bool {
	if len(a.axes) != 1 || a.axes[0] != axis {
		return false
	}
	most, ok := p.most(v, a.digits[0])
	return ok && most < float64(a.first())
}

// most is by how much v is more than a digit of the position at most.
func (p *prover) most(v *ir.Value, d digit) (most float64, ok bool) {
	if l := p.lines[v]; l != nil {
		if len(l.digit) > 1 || len(l.digit) == 1 && l.digit[d] != 1 {
			return 0, false
		}
		most = l.plus // a digit is never below 0
		for n, k := range l.index {
			most += float64(max(k, 0) * (v.Type.Size(n) - 1))
		}
		return most, true
	}
	if v.Def == nil {
		return 0, false
	}
	args := v.Def.Args
	switch v.Def.Name {
	case op.Broadcast, op.Transpose, op.Rename:
		return p.most(args[0], d)
	case op.Select:
		args = args[1:]
	case op.Max, op.Min:
	default:
		return 0, false
	}
	x, okx := p.most(args[0], d)
	y, oky := p.most(args[1], d)
	if v.Def.Name == op.Min {
		if !okx || oky && y < x {
			return y, oky
		}
		return x, true
	}
	return max(x, y), okx && oky
}
