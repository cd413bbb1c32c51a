package precision

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/passes/pass"
)

// Rule is what a module's metadata say about dtypes:
// precision(compute=bf16, params=f32, reduce=f32).
type Rule struct{ Compute, Params, Reduce ir.DType }

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
	if rule.Compute == ir.F32 {
		return nil
	}
	for _, f := range m.Funcs {
		if f.Attrs.Text("class") == "entry" {
			lower(c, f, rule.Compute)
		}
	}
	return nil
}

// Of is the rule of m, float32 where nothing is said, or a diagnostic for one that cannot be
// followed.
func Of(m *ir.Module) (Rule, error) {
	r := Rule{ir.F32, ir.F32, ir.F32}
	t := m.MetaTerm("precision")
	if t == nil {
		return r, nil
	}
	for _, a := range t.Args {
		if err := r.set(a.Key, t.Args.Text(a.Key)); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *Rule) set(key, name string) error {
	d, ok := ir.ParseDType(name)
	switch {
	case !ok || !d.IsFloat():
		return &diag.Error{Code: "E0604", Msg: fmt.Sprintf("precision: `%s` is not a float dtype", name),
			Want: "f32 or bf16", Hint: diag.DidYouMean(name, []string{"f32", "bf16", "f16"})}
	case key == "compute" && d == ir.F16:
		return &diag.Error{Code: "E0605", Msg: "precision: `compute = f16` is not available: it needs loss scaling, without which small gradients vanish",
			Hint: "use `compute = bf16`, which has the range of f32"}
	case key == "compute" && (d == ir.F32 || d == ir.BF16):
		r.Compute = d
	case (key == "params" || key == "reduce") && d == ir.F32:
	case key == "compute" || key == "params" || key == "reduce":
		return &diag.Error{Code: "E0605", Msg: fmt.Sprintf("precision: `%s = %s` is not available", key, d), Want: "f32"}
	default:
		return &diag.Error{Code: "E0604", Msg: fmt.Sprintf("precision: unknown setting `%s`", key),
			Want: "one of compute, params, reduce", Hint: diag.DidYouMean(key, []string{"compute", "params", "reduce"})}
	}
	return nil
}
