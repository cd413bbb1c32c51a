package random

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/tensor"
	"ptc/passes/check"
	"ptc/passes/pass"
)

// Narrow is c under a precision that is drawn as well.
func (c *Case) Narrow() *Case {
	s := *c
	d := newDice(c.Seed + 1<<34)
	options := []string{"compute = " + d.one("bf16", "bf16", "bf16", "f16", "f16", "f32")}
	half := !strings.HasSuffix(options[0], "f32")
	if d.chance(0.4) || !half {
		options = append(options, "params = "+d.one("bf16", "bf16", "f16"))
	}
	if d.chance(0.4) {
		options = append(options, "reduce = bf16")
	}
	switch {
	case strings.HasSuffix(options[0], "f16") && !strings.HasSuffix(options[0], "bf16") && d.chance(0.5):
		options = append(options, "loss_scale = "+d.one("64", "1024"))
	case half && d.chance(0.3):
		options = append(options, "products = f8")
	}
	s.l.directives = append(slices.Clone(c.l.directives), "precision { "+strings.Join(options, "  ")+" }")
	return &s
}

// steady reports whether small changes of what c computes make small changes of its
// gradients. Choosing experts, or the largest of several positions, is not.
func (c *Case) steady() bool { return !c.m.has("moe") && c.m.pool != "max" }

// snapshots are the modules of one compilation: before narrow dtypes, with them on
// one device, and as planned for all devices.
type snapshots struct{ wide, narrow, planned *ir.Module }

// compile compiles the layout and keeps the modules.
func (c *Case) compile() (s snapshots, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	keep := map[string]**ir.Module{"cleanup": &s.wide, "precision": &s.narrow, "order": &s.planned}
	hook := func(_ int, name string, text func() string, _ time.Duration) error {
		if at := keep[name]; at != nil {
			m, errs := ir.Parse(name, []byte(text()))
			if errs.Err() == nil {
				*at = m.Unrolled()
			}
			return errs.Err()
		}
		return nil
	}
	_, _, err = compiler.Compile(compiler.Options{File: "case.ptl", Source: []byte(c.Source()), Layout: "many", Target: "ref", VerifyEach: true,
		Chunk: &pass.Chunk{Bytes: 1, Rows: 16, Most: 4}, Hooks: []compiler.Hook{hook}})
	return s, err
}

// Verify executes the modules of the layout and compares. In float64 narrow dtypes
// and a layout change nothing: all results agree to 1e-9. As the dtypes round, the
// layout is as far from one device as rounding takes it: see [spread].
func (c *Case) Verify() (r Result) {
	s, err := c.compile()
	if err != nil {
		if l, ok := diag.As(err); ok && clear(l) {
			return Result{Refused: l[0].Error()}
		}
		return Result{Result: matrix.Result{Err: err}}
	}
	r.Devices = c.Devices()
	k := check.New(int64(c.Seed))
	for i, m := range []*ir.Module{s.wide, s.narrow, s.planned} {
		if err := k.Hook(i, []string{"cleanup", "precision", "order"}[i], m, 0); err != nil {
			r.Err = err
			return r
		}
	}
	for _, row := range k.Report.Rows {
		if row.Kind != "exact" { // TolRounded is of whole passes; spread is sharper
			continue
		}
		r.Worst = max(r.Worst, row.Diff)
		if !row.OK {
			r.Diffs = append(r.Diffs, fmt.Sprintf("%s: %s by %.1e in float64", row.Pass, row.Worst, row.Diff))
		}
	}
	if len(r.Diffs) == 0 && c.steady() {
		r.Err = c.rounded(s, &r)
	}
	return r
}

// deviations is how many of its standard deviations a result may be away. Sums of
// many independent roundings are nearly normal, and beyond six of its standard
// deviations a normal variable is once in 5·10⁸.
const deviations = 6

// samples estimate a standard deviation: that it is less than a third of the true
// one happens to eight squares of normal variables once in 10⁴, and then only what is beyond two of
// the true ones is reported wrongly.
const samples = 8

// rounded compares losses and gradients of the layout with those of one device, as
// dtypes round.
func (c *Case) rounded(s snapshots, r *Result) error {
	in := check.RandomInputs(s.narrow, int64(c.Seed))
	one, err := check.Execute(s.narrow, in, false)
	if err != nil {
		return err
	}
	many, err := check.Execute(s.planned, in, false)
	if err != nil {
		return err
	}
	apart := map[string]float64{} // sums of squared distances of samples
	for i := range samples {
		out, err := check.ExecuteBy(s.narrow, in, eval.Options{Round: dither(c.Seed, uint64(i))})
		if err != nil {
			return err
		}
		each(one, out, func(what string, d, _ float64) { apart[what] += d * d / samples })
	}
	each(one, many, func(what string, d, norm float64) {
		limit := deviations*math.Sqrt(apart[what]) + 1e-6*norm
		if !(d <= limit) {
			r.Diffs = append(r.Diffs, fmt.Sprintf("%s by %.1e where rounding on one device makes %.1e", what, d/norm, limit/deviations/norm))
		}
	})
	return nil
}

// each visits the losses and gradients that are finite on one device: how far those
// of b are, and how large those of a are.
func each(a, b check.Outcome, visit func(what string, distance, norm float64)) {
	var functions []string
	for f := range a {
		functions = append(functions, f)
	}
	slices.Sort(functions)
	for _, f := range functions {
		var keys []check.Key
		for k := range a[f] {
			if k.Role == ir.RoleLoss || k.Role == ir.RoleGrad {
				keys = append(keys, k)
			}
		}
		slices.SortFunc(keys, func(x, y check.Key) int { return strings.Compare(x.String(), y.String()) })
		for _, k := range keys {
			x, y := a[f][k], b[f][k]
			norm := distanceOf(x, tensor.New(x.Type))
			if y == nil {
				visit("@"+f+" "+k.String(), math.Inf(1), norm)
			} else if norm-norm == 0 {
				visit("@"+f+" "+k.String(), distanceOf(x, y), norm)
			}
		}
	}
}

// distanceOf is the Euclidean distance, infinite where an element is not finite.
func distanceOf(a, b *tensor.Tensor) float64 {
	var sum float64
	for i, x := range a.Data {
		sum += (x - b.Data[i]) * (x - b.Data[i])
	}
	if sum-sum != 0 {
		return math.Inf(1)
	}
	return math.Sqrt(sum)
}

// formats are the bits of the significand, with the leading one, and the exponent of
// the least normal number.
var formats = map[ir.DType]struct{ digits, least int }{
	ir.F32: {24, -126}, ir.BF16: {8, -126}, ir.F16: {11, -14}, ir.F8E4M3: {4, -6}, ir.F8E5M2: {3, -14},
}

// dither rounds stochastically: to one of the two neighbours, to each with the
// probability that makes the mean exact (Parker, "Monte Carlo Arithmetic", 1997).
func dither(seed, sample uint64) func(d ir.DType, x []float64) {
	r := rand.New(rand.NewPCG(seed, sample))
	return func(d ir.DType, x []float64) {
		f, ok := formats[d]
		if !ok {
			d.Round(x)
			return
		}
		one := make([]float64, 1)
		for i, v := range x {
			_, e := math.Frexp(v)
			one[0] = v + (r.Float64()-0.5)*math.Ldexp(1, max(e-1, f.least)-f.digits+1)
			d.Round(one)
			if v == 0 || one[0]-one[0] != 0 { // zero is exact, and nothing overflows by chance
				one[0] = v
				d.Round(one)
			}
			x[i] = one[0]
		}
	}
}

// TestRandomPrecisions: random models under random layouts and precisions are what one
// device computes, in float64 and as the dtypes round.
func TestRandomPrecisions(t *testing.T) {
	n := *caseCount
	if n < 1 {
		n = 24
	}
	var refused atomic.Int64
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error {
			c := New(*caseFrom + uint64(i) + 1<<35).Smooth().Narrow()
			r := c.Verify()
			if *printCases {
				t.Logf("%s\n%s", c.Source(), r)
			}
			switch {
			case r.Refused != "":
				if !c.mayRefuse(r.Refused) {
					refused.Add(1)
				}
				t.Logf("seed %d is refused: %s", c.Seed, r.Refused)
			case !r.OK():
				small := c
				if !*keepFailing {
					small = c.minimize((*Case).Verify)
				}
				t.Errorf("seed %d, %d devices: %s\nmade small:\n%s\n%s", c.Seed, c.Devices(), r.Result, small.Source(), small.Verify().Result)
			}
			return nil
		})
	}
	_ = group.Wait() // each case has reported its failure
	t.Logf("%d cases, %d refused", n, refused.Load())
	if int(refused.Load())*10 > n {
		t.Errorf("%d of %d layouts are refused: the generator is to make legal ones", refused.Load(), n)
	}
}

// TestCoarserRoundingIsSeen: a plan that rounds products to eight bits is not within the
// rounding of bf16.
func TestCoarserRoundingIsSeen(t *testing.T) {
	c := New(11).Smooth()
	under := func(precision string) (*Case, snapshots) {
		x := *c
		x.l.directives = append(slices.Clone(c.l.directives), "precision { "+precision+" }")
		s, err := x.compile()
		if err != nil {
			t.Fatal(err)
		}
		return &x, s
	}
	narrow, s := under("compute = bf16")
	var same, coarser Result
	if err := narrow.rounded(s, &same); err != nil || len(same.Diffs) > 0 {
		t.Fatalf("the same precision: %v, %v", err, same.Diffs)
	}
	_, eight := under("compute = bf16  products = f8")
	s.planned = eight.planned
	if err := narrow.rounded(s, &coarser); err != nil || len(coarser.Diffs) == 0 {
		t.Errorf("products of eight bits pass for bf16: %v", err)
	}
}

// TestDitherIsFair: stochastic rounding gives numbers of the dtype, whose mean is exact.
func TestDitherIsFair(t *testing.T) {
	for d, f := range formats {
		round, v := dither(1, 2), 1+math.Ldexp(0.3, 1-f.digits)
		var sum float64
		const n = 20000
		for range n {
			x := []float64{v}
			round(d, x)
			if x[0] != 1 && x[0] != 1+math.Ldexp(1, 1-f.digits) {
				t.Fatalf("%s: %v becomes %v", d, v, x[0])
			}
			sum += x[0] / n
		}
		if off := math.Abs(sum-v) * math.Ldexp(1, f.digits-1); off > 0.03 {
			t.Errorf("%s: the mean is off by %.2f of the distance of neighbours", d, off)
		}
	}
}
