package simplify

import (
	"ptc/ir"
	"ptc/ir/op"
)

func init() {
	register([]rule{
		{"exp-log-sum", "exp(x - c - log(l)) is exp(x - c)/l, where l is a sum with exp(x - c) in it", []string{op.Exp}, expLogSum},
	})
}

// expLogSum has a softmax by the logarithm of its sum, as of a loss, divide exponentials
// that are there already.
func expLogSum(r *rewriter, o *ir.Op) *ir.Value {
	x := o.Args[0]
	if !from(x, op.Sub) {
		return nil
	}
	whole, less := x.Def.Args[0], x.Def.Args[1]
	if from(less, op.Log) { // (x - c) - log(l)
		if e := summed(less.Def.Args[0], whole); e != nil {
			return r.keep(o, r.emit(o, op.Div, nil, e, less.Def.Args[0]))
		}
	}
	if !from(less, op.Add) { // x - (c + log(l))
		return nil
	}
	for i, l := range less.Def.Args {
		if !from(l, op.Log) {
			continue
		}
		l = l.Def.Args[0]
		e := summedIf(l, func(y *ir.Value) bool {
			return from(y, op.Sub) && y.Def.Args[0] == whole && y.Def.Args[1] == less.Def.Args[1-i]
		})
		if e != nil {
			return r.keep(o, r.emit(o, op.Div, nil, e, l))
		}
	}
	return nil
}

// summed is the exponential of x of which l is the sum, and perhaps of more; or nil.
func summed(l, x *ir.Value) *ir.Value {
	return summedIf(l, func(y *ir.Value) bool { return y == x })
}

// summedIf is the exponential of what is so.
func summedIf(l *ir.Value, so func(*ir.Value) bool) *ir.Value {
	switch {
	case from(l, op.ReduceSum) && from(l.Def.Args[0], op.Exp) && so(l.Def.Args[0].Def.Args[0]):
		return l.Def.Args[0]
	case from(l, op.Add):
		for _, a := range l.Def.Args {
			if e := summedIf(a, so); e != nil {
				return e
			}
		}
	}
	return nil
}
