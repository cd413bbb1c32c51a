package train

import (
	"fmt"

	"ptc/ir"
	"ptc/ir/average"
	"ptc/lang/eval"
)

// measured is a scalar that validation averages: the loss, which has no name, or a metric.
type measured struct {
	name  string
	value *ir.Value
}

// statPath is the path of the scalar among the statistics of a program.
func (m measured) statPath() string {
	if m.name == "" {
		return ir.RoleLoss
	}
	return ir.MetricPath(m.name)
}

// averages gives @eval the sums and weights of its loss and metrics as results, and the
// module the rule that makes averages of them. Of a loss that is a plain mean there is
// nothing to say.
func (l *Lowerer) averages(fb *eval.Builder, t *Block, x *forward) {
	args := fb.Func.Args
	fb.Func.Args = append(args[:len(args):len(args)], x.fields...)
	defer func() { fb.Func.Args = args }()
	size := 1
	if len(t.Data.Fields) > 0 && t.Data.Fields[0].Type.Rank() > 0 {
		size = t.Data.Fields[0].Type.Axes[0].Size
	}
	var rules ir.Terms
	for _, m := range append([]measured{{value: x.loss}}, x.metrics...) {
		fb.Ops.Scope, fb.Ops.Pos = "loss", t.entries["loss"].Value.At()
		x := average.Of(fb.Func, m.value, size, &fb.Ops)
		if r := l.rule(fb, m, x); r != nil {
			rules = append(rules, *r)
		}
	}
	if rules != nil {
		l.Mod.Meta = append(l.Mod.Meta, ir.Term{Head: "averages", Args: ir.A("rules", rules)})
	}
}

// rule is how a scalar is averaged; nil for a loss that is the mean of its rows.
func (l *Lowerer) rule(fb *eval.Builder, m measured, x *average.Average) *ir.Term {
	path, single := m.statPath(), len(x.Terms) == 1 && x.Terms[0].Weight == nil
	if m.name == "" && single && x.Exact() && x.Rows == 1 {
		return nil
	}
	var terms ir.Terms
	for i, term := range x.Terms {
		attrs := ir.Attrs{}
		stat := func(key string, v *ir.Value) {
			name := path + "." + key
			if i > 0 {
				name = fmt.Sprintf("%s.%d.%s", path, i+1, key)
			}
			fb.Func.Results = append(fb.Func.Results, ir.Result{Value: v, Role: ir.RoleStat, Path: name})
			attrs = attrs.With(key, ir.Str(name))
		}
		if !single {
			stat("sum", term.Sum)
		}
		if term.Weight != nil {
			stat("weight", term.Weight)
		}
		for _, n := range []struct {
			key string
			v   float64
		}{{"at_least", term.Floor}, {"plus", term.Plus}} {
			if n.v != 0 {
				attrs = attrs.With(n.key, ir.Float(n.v))
			}
		}
		if term.Zero {
			attrs = attrs.With("zero", ir.BoolVal(true))
		}
		if term.Related {
			attrs = attrs.With("related", ir.Str(term.At.String()))
		}
		terms = append(terms, ir.Term{Head: "term", Args: attrs})
	}
	return &ir.Term{Head: "average", Args: ir.A("of", ir.Str(m.name), "rows", ir.Int(x.Rows), "terms", terms)}
}
