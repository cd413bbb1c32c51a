package fusion

import (
	"fmt"

	"ptc/ir"
	"ptc/ir/op"
)

// weigh says how the products' weights depend on the exponentials.
func (a *attending) weigh() error {
	for _, o := range a.Outs {
		w := weights{attending: a, seen: map[*ir.Value]bool{}}
		w.read(o.Weights)
		if a.Sum != nil && w.norm && w.bare {
			return fmt.Errorf("the sum of exponentials divides weights in part")
		}
		o.Divided, o.NeedsScores, o.Vanishes = a.Sum != nil && w.norm, w.needsScores, a.vanishes(o.Weights)
	}
	return nil
}

// weights says what weights are computed from: Norm, Exp not through Norm, and scores through neither.
type weights struct {
	*attending
	seen                    map[*ir.Value]bool
	norm, bare, needsScores bool
}

func (w *weights) read(v *ir.Value) {
	switch {
	case w.seen[v] || !w.from[v].scores:
	case w.Norm != nil && v == w.Norm.Result():
		w.norm = true
	case v == w.Exp.Result():
		w.bare = true
	case w.Part[v.Def] == PartRoot:
		w.needsScores = true
	default:
		w.seen[v] = true
		for _, x := range v.Def.Args {
			w.read(x)
		}
	}
}

// vanishes reports whether v is 0 where the exponential is.
func (a *attending) vanishes(v *ir.Value) bool {
	if !a.from[v].scores {
		return false
	}
	o := v.Def
	of := func(i int) bool { return a.vanishes(o.Args[i]) }
	zero := func(i int) bool { return IsConst(o.Args[i], 0) }
	switch {
	case o == a.Exp || o == a.Norm:
		return true
	case o.Name == op.Mul:
		return of(0) || of(1)
	case o.Name == op.Div, o.Name == op.Neg, o.Name == op.Cast, o.Name == op.Detach, op.Has(o, op.ByName):
		return of(0)
	case o.Name == op.Add, o.Name == op.Sub:
		return of(0) && of(1)
	case o.Name == op.Select:
		return (zero(1) || of(1)) && (zero(2) || of(2))
	}
	return false
}
