package directive

import (
	"math"
	"slices"

	"ptc/internal/diag"
	dtypes "ptc/internal/dtype"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Precision is `precision { compute = bf16 … }`.
type Precision struct {
	line
	Options *syntax.Options `parser:"'precision' @@"`
}

var _ = define(Form{Word: "precision", Node: &Precision{}, Keys: []Key{
	{Name: "compute", Words: dtypes.Names(layout.Precisions["compute"])}, {Name: "params", Words: dtypes.Names(layout.Precisions["params"])},
	{Name: "reduce", Words: dtypes.Names(layout.Precisions["reduce"])}, {Name: "loss_scale", Words: []string{"dynamic"}},
	{Name: "products", Words: []string{layout.Float8}}, {Name: "on", Paths: true},
}})

// ownDType is the name here of a dtype that others call so, or the name itself.
func ownDType(name string) string {
	if d, ok := dtypes.Alias(name); ok {
		return d.String()
	}
	return name
}

func (d *Precision) read(r *reading) {
	r.single(d, "precision")
	readers := map[string]func(syntax.Expr){}
	for k, types := range layout.Precisions {
		names := dtypes.Names(types)
		readers[k] = func(x syntax.Expr) {
			w, ok := r.word(x)
			if ok && !slices.Contains(names, w) {
				r.f.Wants("E0413", x, diag.OneOf(names), diag.DidYouMean(ownDType(w), names), "`%s` cannot be %s", k, value.Clip(w))
				return
			}
			*r.precision.Set(k), _ = ir.ParseDType(w)
		}
	}
	var scaled, on syntax.Expr
	readers["loss_scale"] = func(x syntax.Expr) { scaled = x }
	readers["on"] = func(x syntax.Expr) { on = x }
	readers["products"] = func(x syntax.Expr) {
		if w, ok := r.word(x); ok && w != layout.Float8 {
			r.f.Wants("E0413", x, "`"+layout.Float8+"`, or no `products`: they are of the dtype of `compute` then", "", "`products` cannot be %s", value.Clip(w))
		} else if ok {
			r.precision.Products = layout.Float8
		}
	}
	r.options(d.Options, readers)
	if scaled != nil {
		r.setScale(scaled)
	}
	if on != nil {
		r.setProducts(on)
	}
}

// setProducts reads `on = [Block, "head.*"]`: the modules of whose products `products`
// speaks. A path with points is a string.
func (r *reading) setProducts(x syntax.Expr) {
	if r.precision.Products == "" {
		r.f.Wants("E0413", x, "`products = f8`, or no `on`", "", "`on` names modules, but there is no `products`")
		return
	}
	ps := r.paths(x)
	r.modulesOf(ps, "computed in "+layout.Float8)
	r.precision.On = r.model.patterns(ps)
}

// setScale reads `loss_scale = dynamic` or a number. Only in f16 do gradients
// vanish for want of range, so elsewhere it is a mistake.
func (r *reading) setScale(x syntax.Expr) {
	if c := r.precision.Compute; c != ir.F16 {
		r.f.Wants("E0413", x, "`compute = f16`, or no `loss_scale`", "", "gradients in %s have enough range without a scale", c)
		return
	}
	if n, ok := x.(*syntax.Name); ok && n.Name == "dynamic" {
		r.precision.Scale.Dynamic = true
		return
	}
	var c value.Number
	switch v := r.f.Expr(x).(type) {
	case value.Unknown:
		return
	case value.Number:
		c = v
	case value.Word:
		r.f.Wants("E0413", x, "`dynamic`, or a number such as 1024", diag.DidYouMean(v.Name, []string{"dynamic"}), "`loss_scale` cannot be %s", value.Clip(v.Name))
		return
	default:
		r.f.Wants("E0413", x, "`dynamic`, or a number such as 1024", "", "`loss_scale` is %s", v.What())
		return
	}
	if !(c.V > 0) || math.IsInf(c.V, 0) {
		r.f.Wants("E0413", x, "a positive finite number, or `dynamic`", "", "`loss_scale` is %s", value.FormatNumber(c))
		return
	}
	r.precision.Scale.Static = c.V
}

func (d *Precision) check(c *checking) {
	if !c.adds() && c.precision.Reduce != ir.F32 {
		c.noEffect(d, "reduce", "no devices reduce gradients")
	}
}
