package precision

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/internal/dtype"
	"ptc/ir"
	"ptc/passes/pass"
)

// Rule is what a module's metadata say about dtypes:
// precision(compute=bf16, params=bf16, reduce=f32, scale=dynamic).
type Rule struct {
	Compute ir.DType // of the operands of contractions, and of what is stored for them
	Params  ir.DType // in which parameters are stored, gathered and sent
	Reduce  ir.DType // in which gradients are added up across devices
	Scale   Scale
}

// Scale says by what the loss is multiplied; the zero Scale is by nothing.
type Scale struct {
	Dynamic bool
	Static  float64 // where it is not dynamic; 0 for none
}

// On says whether the loss is scaled.
func (s Scale) On() bool { return s.Dynamic || s.Static != 0 }

func (s Scale) String() string {
	switch {
	case s.Dynamic:
		return "dynamic"
	case s.Static != 0:
		return "by " + ir.Float(s.Static).String()
	}
	return "none"
}

// Run applies the rule of m to every function of m, or makes everything
// f64 where the target is exact.
func Run(c *pass.Context, m *ir.Module) error {
	if c.Target.Exact {
		for _, f := range m.Funcs {
			widen(f)
		}
		return nil
	}
	rule, err := Of(m)
	if err != nil {
		return err
	}
	for _, f := range m.Funcs {
		if f.Class != ir.Entry {
			continue
		}
		if rule.Compute != ir.F32 || rule.Params != ir.F32 {
			lower(c, f, rule)
		}
		if rule.Reduce != ir.F32 && m.Devices() > 1 {
			communicate(c, f, rule.Reduce)
		}
	}
	return nil
}

// Of is the rule of m, float32 where nothing is said, or a diagnostic for one
// that cannot be followed.
func Of(m *ir.Module) (Rule, error) {
	r := Rule{Compute: ir.F32, Params: ir.F32, Reduce: ir.F32}
	t := m.MetaTerm("precision")
	if t == nil {
		return r, nil
	}
	for _, a := range t.Args {
		var err error
		if a.Key == "scale" {
			r.Scale, err = scaleOf(a.Val)
		} else {
			err = r.set(a.Key, t.Args.Text(a.Key))
		}
		if err != nil {
			return r, err
		}
	}
	if r.Compute == ir.F16 && !r.Scale.On() {
		r.Scale.Dynamic = true
	}
	return r, nil
}

// allowed are the dtypes of each setting.
var allowed = map[string][]ir.DType{"compute": dtype.Compute(), "params": dtype.Compute(), "reduce": dtype.Reduce()}

func (r *Rule) set(key, name string) error {
	dst := map[string]*ir.DType{"compute": &r.Compute, "params": &r.Params, "reduce": &r.Reduce}[key]
	if dst == nil {
		keys := []string{"compute", "params", "reduce", "scale"}
		return &diag.Error{Code: "E0604", Msg: fmt.Sprintf("precision: unknown setting `%s`", key),
			Want: "one of compute, params, reduce, scale", Hint: diag.DidYouMean(key, keys)}
	}
	names := dtype.Names(allowed[key])
	d, ok := ir.ParseDType(name)
	switch {
	case !ok || !d.IsFloat():
		return &diag.Error{Code: "E0604", Msg: fmt.Sprintf("precision: `%s` is not a float dtype", name),
			Want: diag.OneOf(names), Hint: diag.DidYouMean(name, names)}
	case !slices.Contains(allowed[key], d):
		return &diag.Error{Code: "E0605", Msg: fmt.Sprintf("precision: `%s = %s` is not available", key, d), Want: diag.OneOf(names)}
	}
	*dst = d
	return nil
}

// scaleOf reads `dynamic`, or a positive number.
func scaleOf(v ir.AttrVal) (Scale, error) {
	s := Scale{}
	switch v := v.(type) {
	case ir.Name:
		s.Dynamic = v == "dynamic"
	case ir.Int:
		s.Static = float64(v)
	case ir.Float:
		s.Static = float64(v)
	}
	// Both the scale and its inverse are normal numbers of f32.
	if s.Dynamic || s.Static >= 0x1p-126 && s.Static <= 0x1p126 {
		return s, nil
	}
	return s, &diag.Error{Code: "E0604", Msg: fmt.Sprintf("precision: the loss cannot be scaled by `%s`", v),
		Want: "`dynamic`, or a number from 2^-126 to 2^126"}
}
