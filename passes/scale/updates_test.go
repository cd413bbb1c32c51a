package scale

import (
	"math"
	"math/rand"
	"strings"
	"testing"

	"ptc/ir"
)

// The update reads the step directly, by a value that the loss reads as well, and inside
// an operation that only the rate needs; the loss weighs its term by the step.
const stepped = `ptir 1 global "t"
meta precision(PRECISION)

func @step class=entry
  arg %0 : f32[a=4] param "w" init=normal(std=1.0)
  arg %2 : f32[a=4] state "w/m" init=zeros()
  arg %3 : f32[a=4, b=2] data "x"
  arg %1 : i32[] step
  %20 : f32[] = cast %1 to=f32
  %21 : f32[] = const dtype=f32 value=4.0
  %22 : f32[] = div %20, %21
  %23 : f32[] = const dtype=f32 value=1.0
  %24 : f32[] = min %22, %23
  %4 : f32[b=2] = dot %0, %3 over=(a)
  %5 : f32[] = reduce_sum %4 over=(b)
  %6 : f32[] = const dtype=f32 value=0.0
  %25 : f32[] = mul %20, %6
  %26 : f32[] = add %5, %25
  %7 : f32[a=4] = grad %26, %0
  %27 : f32[] = const dtype=f32 value=0.5
  %28 : f32[] = pow %27, %20
  %29 : f32[] = sub %23, %28
  %9 : f32[a=4] = add %2, %7
  %30 : f32[a=4] = div %9, %29
  %31 : f32[a=4] = mul %30, %24
  %10 : f32[a=4] = sub %0, %31
  result %26 loss
  result %24 stat "lr"
  result %7 grad "w"
  result %10 param "w"
  result %9 state "w/m"
end
`

// TestSkippedStepsAreNoUpdates: a run in which steps are skipped has, after each one that
// is not, the parameters, the states and the rate of a run that never saw the others.
func TestSkippedStepsAreNoUpdates(t *testing.T) {
	for _, precision := range []string{"compute=f16", "compute=f32, scale=1024"} {
		for seed := range int64(4) {
			r := rand.New(rand.NewSource(seed))
			text := strings.Replace(stepped, "PRECISION", precision, 1)
			some, all := newStepper(t, text), newStepper(t, text)
			if some.args[ScalePath] != nil { // small enough that nothing but what is drawn overflows
				some.args[ScalePath].Data[0], all.args[ScalePath].Data[0] = 256, 256
			}
			done, skipped := 0.0, 0.0
			for n := range 40 {
				some.args[""].Data[0] = float64(n + 1)
				if r.Intn(3) == 0 {
					skipped++
					some.step([]float64{math.Inf(1), math.NaN()}[r.Intn(2)])
					continue
				}
				done++
				all.args[""].Data[0] = done
				x := math.Ldexp(float64(1+r.Intn(7)), -3)
				some.step(x)
				all.step(x)
				same(t, n, "w", some.args["w"], all.args["w"].Data)
				same(t, n, "m", some.args["w/m"], all.args["w/m"].Data)
				if got, want := some.out[ir.RoleStat+" lr"].Data[0], math.Min(done/4, 1); got != want {
					t.Fatalf("step %d, update %g: the rate is %g, want %g", n+1, done, got, want)
				}
			}
			if got := some.args[SkippedPath].Data[0]; skipped == 0 || got != skipped {
				t.Errorf("%g steps counted as skipped, want %g", got, skipped)
			}
		}
	}
}
