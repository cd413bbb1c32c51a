package scale

import (
	"math"
	"math/rand"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/tensor"
	"ptc/passes/autodiff"
	"ptc/passes/pass"
	"ptc/passes/passtest"
	"ptc/passes/precision"
	"ptc/passes/simplify"
)

// The gradient of w is x, in f16 on its way, so x·scale overflows above 65504.
const product = `ptir 1 global "t"
meta precision(compute=f16)

func @step class=entry
  arg %0 : f32[a=4] param "w" init=normal(std=1.0)
  arg %2 : f32[a=4] state "w/m" init=zeros()
  arg %3 : f32[a=4, b=2] data "x"
  %4 : f32[b=2] = dot %0, %3 over=(a)
  %5 : f32[] = reduce_sum %4 over=(b)
  %7 : f32[a=4] = grad %5, %0
  %9 : f32[a=4] = add %2, %7
  %10 : f32[a=4] = sub %0, %9
  result %5 loss
  result %7 grad "w"
  result %10 param "w"
  result %9 state "w/m"
end
`

// stepper runs the function with its states, each value rounded to its dtype.
type stepper struct {
	t    *testing.T
	m    *ir.Module
	args map[string]*tensor.Tensor // by path
	out  map[string]*tensor.Tensor // of the last step, by role and path
}

func newStepper(t *testing.T, text string) *stepper {
	t.Helper()
	m := passtest.Parse(t, text)
	for _, run := range []pass.Func{Run, autodiff.Run, simplify.Run, precision.Run} {
		if err := run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
	}
	s := &stepper{t: t, m: m, args: map[string]*tensor.Tensor{}}
	for _, a := range m.Funcs[0].Args {
		s.args[a.Path] = tensor.New(a.Value.Type)
	}
	for i := range s.args["w"].Data {
		s.args["w"].Data[i] = float64(i) + 1
	}
	if scale := s.args[ScalePath]; scale != nil {
		scale.Data[0] = Initial
	}
	return s
}

func (s *stepper) step(x float64) {
	s.t.Helper()
	for i := range s.args["x"].Data {
		s.args["x"].Data[i] = x
	}
	f := s.m.Funcs[0]
	args := make([]*tensor.Tensor, len(f.Args))
	for i, a := range f.Args {
		args[i] = s.args[a.Path]
	}
	res, err := eval.Func(s.m, f, args, eval.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.out = map[string]*tensor.Tensor{}
	for i, r := range f.Results {
		s.out[r.Role+" "+r.Path] = res[i]
		if r.Role == ir.RoleParam || r.Role == ir.RoleState {
			s.args[r.Path] = res[i]
		}
	}
}

// TestRule compares the states with the rule as PyTorch documents and implements
// it (torch.amp.GradScaler; torch/csrc, _amp_update_scale_): found_inf ⇒ scale ·=
// backoff, tracker = 0; else tracker += 1, and at growth_interval scale ·= growth
// unless that is infinite, tracker = 0.
func TestRule(t *testing.T) {
	s := newStepper(t, product)
	r := rand.New(rand.NewSource(1))
	scale, tracker := float64(Initial), 0
	skipped, grown := 0, 0
	for n := range 400 {
		if n%50 == 49 { // near the end of an interval
			tracker = Interval - 1 - r.Intn(3)
			s.args[GoodPath].Data[0] = float64(tracker)
		}
		x := math.Ldexp(1+r.Float64(), r.Intn(8)-6) // at most 4
		if n%97 == 5 {
			x = []float64{math.Inf(1), math.NaN(), math.Inf(-1)}[r.Intn(3)]
		}
		before := [2]*tensor.Tensor{s.args["w"], s.args["w/m"]}
		s.step(x)

		found := !(math.Abs(x) < math.Inf(1)) || !(half(scale) < math.Inf(1))
		if found {
			skipped++
			scale, tracker = scale*0.5, 0
			for i, p := range []string{"w", "w/m"} {
				same(t, n, p, s.args[p], before[i].Data)
			}
		} else {
			if tracker++; tracker == 2000 {
				if doubled := scale * 2; doubled <= math.MaxFloat32 {
					scale = doubled
				}
				tracker = 0
				grown++
			}
			near(t, n, "grad", s.out["grad w"], 2*x)
			near(t, n, "momentum", s.args["w/m"], before[1].Data[0]+2*x)
		}
		if got := s.args[ScalePath].Data[0]; got != scale {
			t.Fatalf("step %d, x=%g: scale %g, want %g", n, x, got, scale)
		}
		if got := s.args[GoodPath].Data[0]; got != float64(tracker) {
			t.Fatalf("step %d, x=%g: %g good steps, want %d", n, x, got, tracker)
		}
		if s.out["stat loss_scale"].Data[0] != scale {
			t.Fatalf("step %d: reported %g, want %g", n, s.out["stat loss_scale"].Data[0], scale)
		}
	}
	if skipped < 5 || grown < 3 {
		t.Errorf("%d steps skipped, %d growths: the test sees too little", skipped, grown)
	}
}

// half rounds to f16. The cotangent that the contraction reads is the scale
// itself, and the largest number on the way of the gradient.
func half(x float64) float64 {
	v := []float64{x}
	ir.F16.Round(v)
	return v[0]
}

// TestLargestScale: the scale does not grow to infinity.
func TestLargestScale(t *testing.T) {
	s := newStepper(t, strings.Replace(product, "compute=f16", "compute=f32, scale=dynamic", 1))
	for _, c := range []struct{ from, to float64 }{{0x1p126, 0x1p127}, {0x1p127, 0x1p127}} {
		s.args[ScalePath].Data[0], s.args[GoodPath].Data[0] = c.from, Interval-1
		s.step(0x1p-10)
		if got := s.args[ScalePath].Data[0]; got != c.to || s.args[GoodPath].Data[0] != 0 {
			t.Errorf("from %g to %g after %d good steps, count %g; want %g", c.from, got, Interval, s.args[GoodPath].Data[0], c.to)
		}
	}
}

func same(t *testing.T, n int, what string, got *tensor.Tensor, want []float64) {
	t.Helper()
	for i, v := range got.Data {
		if math.Float64bits(v) != math.Float64bits(want[i]) {
			t.Fatalf("step %d is skipped and changes %s: %g, was %g", n, what, v, want[i])
		}
	}
}

// near allows for the rounding of x to f16.
func near(t *testing.T, n int, what string, got *tensor.Tensor, want float64) {
	t.Helper()
	for _, v := range got.Data {
		if !(math.Abs(v-want) <= 0x1p-10*(math.Abs(want)+8)) {
			t.Fatalf("step %d: %s %g, want %g", n, what, v, want)
		}
	}
}

// TestSmallGradientsSurvive: 2^-26 is below the least number of f16, and would be
// 0 without a scale.
func TestSmallGradientsSurvive(t *testing.T) {
	text := `ptir 1 global "t"
meta precision(compute=f16, scale=1024)

func @step class=entry
  arg %0 : f32[a=4] param "w" init=normal(std=1.0)
  arg %3 : f32[a=4, b=2] data "x"
  %4 : f32[b=2] = dot %0, %3 over=(a)
  %5 : f32[] = reduce_sum %4 over=(b)
  %20 : f32[] = const dtype=f32 value=1.4901161193847656e-08
  %6 : f32[] = mul %5, %20
  %7 : f32[a=4] = grad %6, %0
  %10 : f32[a=4] = sub %0, %7
  result %6 loss
  result %7 grad "w"
  result %10 param "w"
end
`
	m := passtest.Parse(t, text)
	for _, run := range []pass.Func{Run, autodiff.Run, simplify.Run, precision.Run} {
		if err := run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
	}
	f := m.Funcs[0]
	args := []*tensor.Tensor{tensor.New(f.Args[0].Value.Type), tensor.New(f.Args[1].Value.Type)}
	for i := range args[1].Data {
		args[1].Data[i] = 1
	}
	res, err := eval.Func(m, f, args, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range f.Results {
		if r.Role == ir.RoleGrad && res[i].Data[0] != 2*0x1p-26 {
			t.Errorf("the gradient is %g, want 2^-25", res[i].Data[0])
		}
	}
}
