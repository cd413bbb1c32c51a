package train

import (
	"slices"
	"strings"

	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// SampleFunc and SampleLogits name what [Lowerer.Sample] makes: the function, and its
// one result.
const (
	SampleFunc   = "sample"
	SampleLogits = "logits"
)

// Sample builds @sample in place of @step and @eval: the forward phase alone, of a
// model whose `apply` takes tokens, i32[batch, positions], and whose first result has
// a number for each token of the vocabulary at each position, or for the token behind
// the last one alone. The functions of a train
// block know the model by its loss; this one calls `apply` itself, since a loss may hide
// the logits.
func (l *Lowerer) Sample(t *Block) {
	f := l.Frame()
	e := t.entries["data"]
	if e == nil || t.entries["loss"] == nil {
		return
	}
	if t.Data = dataOf(f, e.Value); t.Data == nil {
		return
	}
	tokens := l.tokens(f, t)
	if tokens == nil {
		return
	}
	fb := eval.NewBuilder(SampleFunc, false)
	l.Builder = fb
	defer func() { l.Builder = nil }()
	logits, arg := l.apply(fb, t, tokens)
	if logits == nil || l.Stopped {
		return
	}
	for _, p := range l.Model.Params {
		if fb.Reads(p) {
			fb.Order = append(fb.Order, p)
		}
	}
	fb.Func.Results = []ir.Result{{Value: logits, Role: ir.RoleStat, Path: SampleLogits}}
	l.finishFunc(fb, []*ir.Arg{arg})
	l.meta(t, nil)
}

// tokens is the field of the data that `apply` takes: that of its parameter's name, or
// the first of i32 with two axes.
func (l *Lowerer) tokens(f *eval.Frame, t *Block) *value.Field {
	apply := t.Model.Decl.Fn("apply")
	if apply == nil {
		f.Wants("E0720", t.Node.Model, "`fn apply(tokens: i32[batch, seq])` in it", "", "the model `%s` has no function `apply` that predicts tokens", t.Model.Decl.Name.Name)
		return nil
	}
	var needed []string
	for _, p := range apply.Params {
		if p.Default == nil {
			needed = append(needed, p.Name.Name)
		}
	}
	if len(needed) != 1 {
		f.Wants("E0720", apply.Name, "only tokens", "", "`apply` of the model `%s` takes %s, and sampling provides only tokens", t.Model.Decl.Name.Name, value.Count(len(needed), "argument")+" ("+strings.Join(needed, ", ")+")")
		return nil
	}
	fits := func(d value.Field) bool { return d.Type.DType == ir.I32 && d.Type.Rank() == 2 }
	at := slices.IndexFunc(t.Data.Fields, func(d value.Field) bool { return d.Name == needed[0] && fits(d) })
	if at < 0 {
		at = slices.IndexFunc(t.Data.Fields, fits)
	}
	if at < 0 {
		f.Wants("E0720", t.entries["data"].Value, "a field of tokens, i32[batch, seq]", "", "the data of the model has no tokens")
		return nil
	}
	return &t.Data.Fields[at]
}

// apply emits a call of the model with tokens.
func (l *Lowerer) apply(fb *eval.Builder, t *Block, tokens *value.Field) (*ir.Value, *ir.Arg) {
	f := l.Frame()
	f.Scope = "loss"
	name, at := t.Model.Decl.Name.Name, t.Node.Model
	v := fb.Func.NewValue(tokens.Type, nil)
	f.Vars[name], f.Vars[tokens.Name] = l.Model.Root, value.Tensor{V: v}
	f.Saw(tokens.Type)
	span := syntax.Span{Pos: at.Pos, EndPos: at.EndPos}
	r := f.Expr(&syntax.Call{Span: span, Fun: &syntax.Name{Span: span, Name: name},
		Args: []*syntax.Arg{{Span: span, Value: &syntax.Name{Span: span, Name: tokens.Name}}}})
	if list, ok := r.(value.Tuple); ok && len(list) > 0 {
		r = list[0]
	}
	w, ok := r.(value.Tensor)
	switch {
	case len(l.Errs.List) > 0 || l.Stopped:
		return nil, nil
	case !ok:
		f.NotA(at, r, "a tensor, the logits")
		return nil, nil
	}
	x := tokens.Type.Axes
	y := w.V.Type
	each := y.Rank() == 3 && y.Size(x[1].Name) == x[1].Size
	behind := y.Rank() == 2 && !y.Has(x[1].Name)
	if !each && !behind || !y.DType.IsFloat() || y.Size(x[0].Name) != x[0].Size {
		f.Wants("E0720", at, "a float for each token of the vocabulary at each position, ["+x[0].Name+", "+x[1].Name+", vocab], or after the last one, ["+x[0].Name+", vocab]", "",
			"the model `%s` returns %s for tokens %s", name, w.V.Type, tokens.Type)
		return nil, nil
	}
	return w.V, &ir.Arg{Value: v, Role: ir.RoleData, Path: tokens.Name, Pos: t.entries["data"].At()}
}
