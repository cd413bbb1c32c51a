package lang

import (
	"math"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	evaluate "ptc/ir/eval"
	array "ptc/ir/tensor"
)

// rule is a hand-written optimizer on one number: w after step t with gradient
// g; s is its state, zeros at first.
type rule func(t, w, g, lr, decay float64, s []float64) float64

func signOf(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

var optimizers = []struct {
	expr  string
	decay float64 // of the matrix; the vector never decays
	rule  rule
}{
	{"SGD(lr = LR, momentum = 0.0)", 0, func(t, w, g, lr, d float64, s []float64) float64 { return w - lr*(g+d*w) }},
	{"SGD(lr = LR, momentum = 0.9, weight_decay = 0.2)", 0.2, func(t, w, g, lr, d float64, s []float64) float64 {
		s[0] = 0.9*s[0] + g + d*w
		return w - lr*s[0]
	}},
	{"SGD(lr = LR, momentum = 0.9, nesterov = true)", 0, func(t, w, g, lr, d float64, s []float64) float64 {
		s[0] = 0.9*s[0] + g
		return w - lr*(g+0.9*s[0])
	}},
	{"Adam(lr = LR, beta1 = 0.8, beta2 = 0.9, eps = 1e-3)", 0, func(t, w, g, lr, d float64, s []float64) float64 {
		s[0] = 0.8*s[0] + 0.2*g
		s[1] = 0.9*s[1] + 0.1*g*g
		return w - lr*(s[0]/(1-math.Pow(0.8, t)))/(math.Sqrt(s[1]/(1-math.Pow(0.9, t)))+1e-3)
	}},
	{"AdamW(lr = LR, weight_decay = 0.3, eps = 1e-3)", 0.3, func(t, w, g, lr, d float64, s []float64) float64 {
		s[0] = 0.9*s[0] + 0.1*g
		s[1] = 0.95*s[1] + 0.05*g*g
		return w*(1-lr*d) - lr*(s[0]/(1-math.Pow(0.9, t)))/(math.Sqrt(s[1]/(1-math.Pow(0.95, t)))+1e-3)
	}},
	{"Lion(lr = LR, weight_decay = 0.3)", 0.3, func(t, w, g, lr, d float64, s []float64) float64 {
		u := signOf(0.9*s[0] + 0.1*g)
		s[0] = 0.99*s[0] + 0.01*g
		return w - lr*(u+d*w)
	}},
	{"SignEC(lr = LR, limit = 0.05)", 0, func(t, w, g, lr, d float64, s []float64) float64 {
		a := g + s[0]
		u := signOf(a) * math.Min(math.Abs(a), 0.05)
		s[0] = a - u
		return w - lr*u
	}},
}

// The model is v·m·u for a vector v and a matrix m: the loss is the mean of
// (m - 1)² plus that of (v - 2)², whose gradients are known.
const optimProgram = `import std.optim
config { a = 2  b = 3 }
model M {
  param m : [a, b] ~ zeros
  param v : [b]    ~ zeros
  fn apply(x) { return mean((m - 1) ** 2) + mean((v - 2) ** 2) + 0 * mean(x) }
}
train M {
  loss = M(x)
  optimizer = optim.OPT
  data = source("synthetic", x = f32[a])
}
`

// Eight steps of every optimizer agree with the hand-written ones, with and
// without clipping. The rate grows until the parameters swing about their goal,
// so that gradient and momentum differ in sign.
func TestOptimizersAgreeWithReference(t *testing.T) {
	for _, o := range optimizers {
		for _, clip := range []float64{0, 0.5} {
			lr := "linear(peak = 2.0, warmup = 10)"
			expr := replace(o.expr, "LR", lr)
			if clip > 0 {
				expr = expr[:len(expr)-1] + ", clip = 0.5)"
			}
			checkOptimizer(t, expr, o.decay, clip, o.rule)
		}
	}
}

func replace(s, old, by string) string {
	for i := 0; i+len(old) <= len(s); i++ {
		if s[i:i+len(old)] == old {
			return s[:i] + by + s[i+len(old):]
		}
	}
	return s
}

func checkOptimizer(t *testing.T, expr string, decay, clip float64, r rule) {
	t.Helper()
	p, errs := Load("t.ptl", []byte(replace(optimProgram, "OPT", expr)), nil)
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	res, errs := p.Lower(Options{})
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	f := res.Module.Func("step")
	now := map[string]*array.Tensor{}
	for i, a := range f.Args {
		x := array.New(a.Value.Type)
		for j := range x.Data {
			if a.Role == ir.RoleParam {
				x.Data[j] = math.Sin(float64(3*i + j + 1))
			}
		}
		now[a.Role+a.Path] = x
	}
	want := map[string][]float64{"m": clone(now["paramm"].Data), "v": clone(now["paramv"].Data)}
	states := map[string][]float64{"m": make([]float64, 12), "v": make([]float64, 6)}
	for step := 1; step <= 8; step++ {
		now["step"].Data[0] = float64(step)
		var args []*array.Tensor
		for _, a := range f.Args {
			args = append(args, now[a.Role+a.Path])
		}
		out, err := evaluate.Func(res.Module, f, args, evaluate.Options{Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		lr := 0.2 * float64(step)
		norm := reference(want, states, float64(step), lr, decay, clip, r)
		for i, q := range f.Results {
			switch {
			case q.Path == "grad_norm" && math.Abs(out[i].Data[0]-norm) > 1e-6*(1+norm):
				t.Errorf("%s: the norm is %g in step %d, the reference says %g", expr, out[i].Data[0], step, norm)
			case q.Path == "lr" && math.Abs(out[i].Data[0]-lr) > 1e-12:
				t.Errorf("%s: the rate is %g in step %d, the reference says %g", expr, out[i].Data[0], step, lr)
			case q.Role == ir.RoleParam:
				for j, w := range want[q.Path] {
					if math.Abs(out[i].Data[j]-w) > 1e-5*(1+math.Abs(w)) {
						t.Errorf("%s: %s[%d] is %g after step %d, the reference says %g", expr, q.Path, j, out[i].Data[j], step, w)
					}
				}
			}
			if q.Role == ir.RoleParam || q.Role == ir.RoleState {
				now[q.Role+q.Path] = out[i]
			}
		}
	}
}

func clone(x []float64) []float64 { return append([]float64(nil), x...) }

// reference makes a step in place and returns the norm of the gradients.
func reference(w, states map[string][]float64, step, lr, decay, clip float64, r rule) float64 {
	goal := map[string]float64{"m": 1, "v": 2}
	grads := map[string][]float64{}
	sum := 0.0
	for _, k := range []string{"m", "v"} {
		for _, x := range w[k] {
			g := 2 * (x - goal[k]) / float64(len(w[k]))
			grads[k] = append(grads[k], g)
			sum += g * g
		}
	}
	norm, scale := math.Sqrt(sum), 1.0
	if clip > 0 {
		scale = math.Min(1, clip/norm)
	}
	for _, k := range []string{"m", "v"} {
		d := decay
		if k == "v" {
			d = 0
		}
		for i, g := range grads[k] {
			w[k][i] = r(step, w[k][i], g*scale, lr, d, states[k][2*i:2*i+2])
		}
	}
	return norm
}

// What SignEC cuts off is carried: the updates over the rate, and the
// remainder, add up to the gradients.
func TestSignECLosesNothing(t *testing.T) {
	p, _ := Load("t.ptl", []byte(replace(optimProgram, "OPT", "SignEC(lr = 0.1, limit = 0.01)")), nil)
	res, errs := p.Lower(Options{})
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	f := res.Module.Func("step")
	now := map[string]*array.Tensor{}
	for _, a := range f.Args {
		now[a.Role+a.Path] = array.New(a.Value.Type)
	}
	sum := make([]float64, 3)
	for range 20 {
		var args []*array.Tensor
		for _, a := range f.Args {
			args = append(args, now[a.Role+a.Path])
		}
		out, err := evaluate.Func(res.Module, f, args, evaluate.Options{Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range f.Results {
			now[q.Role+q.Path] = out[i]
		}
		for i, g := range now["gradv"].Data {
			sum[i] += g
		}
	}
	for i := range sum {
		moved, kept := -now["paramv"].Data[i]/0.1, now["statev/e"].Data[i]
		if math.Abs(kept) < 1 || math.Abs(moved+kept-sum[i]) > 1e-9 {
			t.Errorf("the updates add up to %g and the remainder is %g, the gradients to %g", moved, kept, sum[i])
		}
	}
}

// TestDecayDeclared: a parameter's declaration says whether it decays, else its
// axes do; a pattern of the optimizer wins over both. What is frozen is not told.
func TestDecayDeclared(t *testing.T) {
	const program = `import std.optim
config { a = 2  b = 3 }
module B(bias) {
  param w : [a, b] ~ ones
  param r : [a, b] ~ ones no_decay
  param v : [b]    ~ ones when bias
  param u : [b]    ~ ones decay
  fn apply(x) { return x * sum(w * r) * sum(u) * (sum(v) if bias else 1) }
}
model M {
  one  : B(bias = true)
  some : B(bias = false)[4]
  fn apply(x) {
    x = one(x)
    for s in some { x = s(x) }
    return mean(x)
  }
}
train M {
  loss      = M(x)
  optimizer = optim.AdamW(lr = 0.1, no_decay = ["some.0.w"], decay = ["some.?.r", "one.v"])
  data      = source("synthetic", x = f32[a])
  freeze    = ["some.3.*"]
}
`
	p, errs := Load("m.ptl", []byte(program), nil)
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	r, errs := p.Lower(Options{})
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	want := "weight decay: parameters with decay: 11 (`one.w`, `one.v`, `one.u`, `some.{0..2}.r`, `some.{0..2}.u`, `some.{1..2}.w`); without: 2 (`one.r`, `some.0.w`)"
	if len(r.Remarks) != 1 || r.Remarks[0] != want {
		t.Errorf("remarks %q, want %q", r.Remarks, want)
	}
	if len(r.Unused)+len(r.Warnings) > 0 {
		t.Errorf("unused %q, warnings %q", r.Unused, r.Warnings)
	}
}

// TestWarnsOfStopGradient: a parameter whose gradient is always zero is named, and
// one that is frozen is not.
func TestWarnsOfStopGradient(t *testing.T) {
	const program = `import std.optim
config { a = 2 }
model M {
  param w, c, d, e : [a] ~ ones
  fn apply(x) { return mean(x * w * stop_gradient(c) + where(d > 0, x, 0)) }
}
train M {
  loss      = M(x)
  optimizer = optim.SGD(lr = 0.1)
  data      = source("synthetic", x = f32[a])
  FREEZE
}
`
	for freeze, want := range map[string]string{"": "`c`, `d` only through `stop_gradient`", `freeze = "c"`: "parameter `d` only", `freeze = ["c", "d"]`: ""} {
		p, errs := Load("m.ptl", []byte(strings.ReplaceAll(program, "FREEZE", freeze)), nil)
		if len(errs) > 0 {
			t.Fatal(diag.Plain.Render(errs, p.Source))
		}
		r, errs := p.Lower(Options{})
		if len(errs) > 0 {
			t.Fatal(diag.Plain.Render(errs, p.Source))
		}
		if len(r.Unused) != 1 || r.Unused[0] != "e" {
			t.Errorf("unused %q, want e", r.Unused)
		}
		if got := strings.Join(r.Warnings, ""); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("with %q: warnings %q, want %q", freeze, got, want)
		}
	}
}
