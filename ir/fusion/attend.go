package fusion

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// from says what a value of an attention kernel is computed from. What is over the
// scores is of scores alone, whatever else it reads: the rules below see to it that
// this is the base, the sum, or of arguments.
type from struct {
	scores, exp bool
	top, sum    bool
	out         *Out
}

func (f from) roots() bool { return f.scores || f.top || f.sum || f.out != nil }

// attending is the analysis of one function.
type attending struct {
	*Kernel
	*Attention
	space []ir.Axis // of the scores
	rows  []ir.Axis // the same without Key
	less  *ir.Op    // what Exp is the exponential of: scores less Base
}

// attends reports whether f may be of class Attend: the reasons of that class are
// given, rather than that two roots do not go together.
func attends(f *ir.Func) bool {
	dots := 0
	for _, o := range f.Ops {
		if o.Name == op.Dot {
			dots++
		}
	}
	return dots > 1 && len(exponentials(f)) > 0
}

// exponentials are the operations of f that may be [Attention.Exp]: of a value less
// another that lacks one of its axes.
func exponentials(f *ir.Func) (out []*ir.Op) {
	dots := map[*ir.Value]bool{}
	for _, o := range f.Ops {
		after := o.Name == op.Dot
		for _, a := range o.Args {
			after = after || dots[a]
		}
		for _, r := range o.Results {
			dots[r] = after
		}
		if o.Name != op.Exp || !after {
			continue
		}
		sub := o.Args[0].Def
		if sub == nil || sub.Name != op.Sub || !dots[sub.Args[0]] {
			continue
		}
		x, base := sub.Args[0].Type.Axes, sub.Args[1].Type.Axes
		if len(base) == len(x)-1 && subspace(base, x) {
			out = append(out, o)
		}
	}
	return out
}

// attend analyzes a kernel of class Attend.
func (k *Kernel) attend() error {
	exps := exponentials(k.F)
	if len(exps) > 1 {
		return fmt.Errorf("two exponentials of scores in one kernel")
	}
	less := exps[0].Args[0].Def
	a := &attending{Kernel: k, Attention: &Attention{Exp: exps[0], Scores: less.Args[0], Base: less.Args[1], from: map[*ir.Value]from{}}, less: less}
	a.space, a.rows = less.Args[0].Type.Axes, a.Base.Type.Axes
	for _, x := range a.space {
		if !subspace([]ir.Axis{x}, a.rows) {
			a.Key = x
		}
	}
	for _, o := range k.F.Ops {
		if k.isView(o) {
			continue
		}
		if err := a.operation(o); err != nil {
			return err
		}
	}
	for _, check := range []func() error{a.axes, a.statistics, a.weigh, a.demand, a.results} {
		if err := check(); err != nil {
			return err
		}
	}
	k.Class, k.Attention = Attend, a.Attention
	k.Space = append(append(slices.Clone(a.Both), a.Attention.Rows...), a.Key)
	k.Reduce = []ir.Axis{a.Key}
	return nil
}

// operation says what o's result is from, and refuses what no block of keys can be
// folded by.
func (a *attending) operation(o *ir.Op) error {
	switch op.Of(o).Class {
	case op.Elementwise, op.Source:
		return a.elementwise(o)
	case op.Contraction:
		return a.product(o)
	case op.Reduction:
		return a.reduction(o)
	case op.Indexed:
		if o.Name == op.Gather {
			if _, ok := a.Views[o.Args[0]]; !ok {
				return fmt.Errorf("%s from a computed value", o.Name)
			}
			return a.elementwise(o)
		}
	case op.Movement:
		if op.Has(o, op.ByName) {
			return a.elementwise(o)
		}
		if op.CanView(o) {
			return fmt.Errorf("%s of a computed value must be a kernel of its own", o.Name)
		}
	}
	return fmt.Errorf("%s cannot be in an attention", o.Name)
}

// product is of operands alone, then it makes scores, or of scores and one operand.
func (a *attending) product(o *ir.Op) error {
	x, y := a.from[o.Args[0]], a.from[o.Args[1]]
	out := o.Result()
	a.Part[o] = PartRoot
	if !x.roots() && !y.roots() {
		if !SameSpace(out.Type.Axes, a.space) {
			return fmt.Errorf("a product makes %s, and the scores are over %s", out.Type, names(a.space))
		}
		if o.Args[0].Type.Has(a.Key.Name) == o.Args[1].Type.Has(a.Key.Name) {
			return fmt.Errorf("both operands of a product have the keys `%s`", a.Key.Name)
		}
		a.from[out] = from{scores: true}
		row, key := o.Args[0], o.Args[1]
		if row.Type.Has(a.Key.Name) {
			row, key = key, row
		}
		a.Into = append(a.Into, &Into{o, row, key})
		return nil
	}
	if x.scores && y.scores {
		return fmt.Errorf("a product of scores and scores")
	}
	if !x.scores && x.roots() || !y.scores && y.roots() {
		return fmt.Errorf("a product of a result of the kernel")
	}
	made := &Out{Op: o, Weights: o.Args[0], Of: o.Args[1]}
	if y.scores {
		made.Weights, made.Of = made.Of, made.Weights
	}
	a.from[out] = from{out: made}
	a.Outs = append(a.Outs, made)
	return nil
}

func (a *attending) reduction(o *ir.Op) error {
	over, of := o.Attrs.Names("over"), a.from[o.Args[0]]
	a.Part[o] = PartRoot
	switch {
	case !of.scores:
		return fmt.Errorf("%s of what are no scores", o.Name)
	case len(over) != 1 || over[0] != a.Key.Name:
		return fmt.Errorf("%s of scores over other axes than `%s`", o.Name, a.Key.Name)
	case o.Name == op.ReduceMax && o.Args[0] == a.Scores && a.Top == nil:
		a.Top = o
		a.from[o.Result()] = from{top: true}
	case o.Name == op.ReduceSum && o.Args[0] == a.Exp.Result() && a.Sum == nil:
		a.Sum = o
		a.from[o.Result()] = from{sum: true}
	case o.Name == op.ReduceMax:
		return fmt.Errorf("a maximum of other scores than those of the exponential")
	default:
		return fmt.Errorf("a sum over `%s` of other than the exponentials", a.Key.Name)
	}
	return nil
}

// elementwise work on scores reads what is known before the keys are, except for the
// base and the sum where the softmax has them.
func (a *attending) elementwise(o *ir.Op) error {
	if len(o.Results) != 1 {
		return fmt.Errorf("%s cannot be in an attention", o.Name)
	}
	var f from
	for _, v := range o.Args {
		x := a.from[v]
		f.scores, f.exp = f.scores || x.scores, f.exp || x.exp
		f.top, f.sum = f.top || x.top, f.sum || x.sum
		if f.out != nil && x.out != nil && f.out != x.out {
			return fmt.Errorf("%s joins the results of two products", o.Name)
		}
		if x.out != nil {
			f.out = x.out
		}
	}
	if !f.scores {
		a.from[o.Result()] = f
		return nil
	}
	if err := a.early(o); err != nil {
		return err
	}
	if t := o.Result().Type; !SameSpace(t.Axes, a.space) {
		return fmt.Errorf("%s has axes beyond the scores': %s", o.Name, t)
	}
	if a.normalizes(o) {
		a.Norm = o
	}
	a.from[o.Result()] = from{scores: true, exp: f.exp || o == a.Exp}
	return nil
}

// normalizes reports whether o is the division of the exponentials by their sum,
// which is of this kernel, or where that has none an argument.
func (a *attending) normalizes(o *ir.Op) bool {
	if o.Name != op.Div || o.Args[0] != a.Exp.Result() {
		return false
	}
	if a.Sum != nil {
		return o.Args[1] == a.Sum.Result()
	}
	return a.Norm == nil && SameSpace(o.Args[1].Type.Axes, a.rows)
}

// early refuses work on scores that needs what is complete behind all keys alone.
func (a *attending) early(o *ir.Op) error {
	for i, v := range o.Args {
		switch f := a.from[v]; {
		case f.scores || !f.roots():
		case o == a.less && i == 1 && !f.sum && f.out == nil:
		case o.Name == op.Div && i == 1 && a.Sum != nil && v == a.Sum.Result() && o.Args[0] == a.Exp.Result():
		case f.out != nil:
			return fmt.Errorf("%s of scores reads the result of a product over the scores", o.Name)
		case f.sum:
			return fmt.Errorf("%s of scores needs the complete sum over `%s`", o.Name, a.Key.Name)
		default:
			return fmt.Errorf("%s of scores needs the complete maximum over `%s`", o.Name, a.Key.Name)
		}
	}
	return nil
}

// axes tells those of queries and keys from those of queries alone.
func (a *attending) axes() error {
	switch {
	case len(a.Into) == 0 || !a.from[a.Scores].scores:
		return fmt.Errorf("no product makes the scores")
	case len(a.Outs) == 0:
		return fmt.Errorf("no product reads the weights")
	}
	both := map[string]bool{}
	for _, v := range a.operands() {
		for _, x := range v.Type.Axes {
			both[x.Name] = both[x.Name] || v.Type.Has(a.Key.Name)
		}
	}
	for _, x := range a.rows {
		if both[x.Name] {
			a.Both = append(a.Both, x)
		} else {
			a.Attention.Rows = append(a.Attention.Rows, x)
		}
	}
	if len(a.Attention.Rows) == 0 {
		return fmt.Errorf("no axis of queries alone")
	}
	for _, o := range a.Outs {
		if err := a.contracted(o); err != nil {
			return err
		}
	}
	return nil
}

// operands are those of products that are not over the scores.
func (a *Attention) operands() (all []*ir.Value) {
	for _, o := range a.Into {
		all = append(all, o.Args...)
	}
	for _, o := range a.Outs {
		all = append(all, o.Of)
	}
	return all
}

// contracted checks the axes of a product that reads what is over the scores.
func (a *attending) contracted(o *Out) error {
	over := o.Attrs.Names("over")
	if slices.Contains(over, a.Key.Name) {
		if len(over) != 1 {
			return fmt.Errorf("a product over `%s` and other axes", a.Key.Name)
		}
		return nil
	}
	if slices.ContainsFunc(a.Attention.Rows, func(x ir.Axis) bool { return !slices.Contains(over, x.Name) }) {
		return fmt.Errorf("a product over neither `%s` nor all of %s", a.Key.Name, names(a.Attention.Rows))
	}
	for _, n := range over {
		if !slices.ContainsFunc(a.rows, func(x ir.Axis) bool { return x.Name == n }) {
			return fmt.Errorf("a product over `%s`, which the scores do not have", n)
		}
	}
	if o.Of.Type.Has(a.Key.Name) {
		return fmt.Errorf("both operands of a product keep the keys `%s`", a.Key.Name)
	}
	if a.Top != nil || a.Sum != nil {
		return fmt.Errorf("a product over the rows needs the complete sum over `%s`", a.Key.Name)
	}
	if o.Over = OverRows; len(over) > len(a.Attention.Rows) {
		o.Over = OverAll
	}
	return nil
}

// statistics checks that what is folded a block at a time can be: a larger maximum
// scales what has been summed.
func (a *attending) statistics() error {
	if a.Top != nil && !a.from[a.Base].top {
		return fmt.Errorf("the exponential takes off another value than the maximum")
	}
	if a.Norm != nil && a.Sum != nil && a.Norm.Args[1] != a.Sum.Result() {
		a.Norm = nil // by an argument, before the sum
	}
	if a.Top == nil && (a.Sum == nil || a.Norm == nil) {
		return nil
	}
	for _, o := range a.F.Ops {
		if len(o.Results) == 1 && o != a.Exp && a.from[o.Result()].exp && !a.proportional(o) {
			return fmt.Errorf("%s makes of the exponentials what is not proportional to them", o.Name)
		}
	}
	return nil
}

// proportional reports whether o's result is proportional to the exponentials, where
// its operands that have any are.
func (a *attending) proportional(o *ir.Op) bool {
	exp := func(i int) bool { return a.from[o.Args[i]].exp }
	switch o.Name {
	case op.Mul:
		return exp(0) != exp(1)
	case op.Div:
		return exp(0) && !exp(1)
	case op.Add, op.Sub:
		return exp(0) && exp(1)
	case op.Select:
		return !exp(0) && (exp(1) || IsConst(o.Args[1], 0)) && (exp(2) || IsConst(o.Args[2], 0))
	case op.Cast:
		return o.Result().Type.DType.IsFloat()
	case op.Neg, op.Detach:
		return true
	}
	return op.Has(o, op.ByName)
}
