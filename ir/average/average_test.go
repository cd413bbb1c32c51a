package average_test

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/average"
	"ptc/ir/eval"
	"ptc/ir/op"
	"ptc/ir/tensor"
	"ptc/ir/verify"
)

// A function of a batch of B rows: of x [B, 3], weights w [B, 3] of which many are 0, and a
// parameter p [3]. BODY computes the loss.
const frame = `ptir 1 global "t"

func @eval class=entry
STACK  arg %0 : f32[a=3] param "p" init=zeros()
  arg %1 : f32[batch=B, a=3] data "x"
  arg %2 : f32[batch=B, a=3] data "w"
  %3 : f32[] = const dtype=f32 value=0.0
  %4 : f32[] = const dtype=f32 value=1.0
  %5 : f32[batch=B, a=3] = mul %1, %0
  %6 : f32[batch=B, a=3] = exp %5
  %7 : f32[batch=B, a=3] = mul %6, %2
BODY
  result %99 loss
end
`

const (
	masked = `  %10 : f32[] = reduce_sum %7 over=(batch, a)
  %11 : f32[] = reduce_sum %2 over=(batch, a)
  %12 : f32[] = max %11, %4
`
	// for each block the mean of what the next one reads, added up from zero
	chain = `  for blocks
    %20 : f32[batch=B, a=3] = enter %6
    %21 : f32[] = enter %3
    %22 : f32[batch=B, a=3] = tanh %20
    %23 : f32[] = reduce_sum %22 over=(batch, a)
    %24 : f32[] = div %23, %13
    %25 : f32[] = ADDED
    %26 : f32[batch=B, a=3] = leave %20, %22
    %27 : f32[] = leave %21, %25
  end for
`
	size = `  %13 : f32[] = const dtype=f32 value=SIZE
`
)

type testCase struct {
	name, body  string
	terms, rows int
	exact       bool
}

// cases are losses, with how many terms they have, how many rows belong together, and
// whether they are averages of rows.
var cases = []testCase{
	{"mean", size + `  %14 : f32[] = reduce_sum %6 over=(batch, a)
  %99 : f32[] = div %14, %13`, 1, 1, true},
	{"masked", masked + `  %99 : f32[] = div %10, %12`, 1, 1, true},
	{"plus", masked + `  %13 : f32[] = add %4, %11
  %99 : f32[] = div %10, %13`, 1, 1, true},
	{"guarded", masked + `  %13 : bool[] = gt %11, %3
  %14 : f32[] = reduce_sum %2 over=(a, batch)
  %15 : f32[] = reduce_sum %2 over=(batch, a)
  %16 : f32[] = div %10, %15
  %99 : f32[] = select %13, %16, %3`, 1, 1, true},
	{"counted in integers", `  %10 : f32[] = reduce_sum %7 over=(batch, a)
  %11 : bool[batch=B, a=3] = gt %2, %3
  %12 : i32[batch=B, a=3] = cast %11 to=i32
  %13 : i32[] = reduce_sum %12 over=(batch, a)
  %14 : f32[] = cast %13 to=f32
  %15 : f32[] = max %4, %14
  %99 : f32[] = div %10, %15`, 1, 1, true},
	{"reciprocal", masked + `  %13 : f32[] = div %4, %12
  %99 : f32[] = mul %13, %10`, 1, 1, true},
	{"a separate term", size + strings.ReplaceAll(masked, "%12", "%18") + `  %14 : f32[] = reduce_sum %6 over=(batch, a)
  %15 : f32[] = div %14, %13
  %16 : f32[] = div %10, %18
  %17 : f32[] = sub %16, %15
  %99 : f32[] = neg %17`, 2, 1, true},
	{"a separate norm of parameters", masked + `  %13 : f32[a=3] = mul %0, %0
  %14 : f32[] = reduce_sum %13 over=(a)
  %15 : f32[] = div %10, %12
  %99 : f32[] = add %15, %14`, 2, 1, true},
	{"two of one weight", masked + `  %13 : f32[] = div %10, %12
  %14 : f32[] = reduce_sum %2 over=(batch, a)
  %15 : f32[] = max %14, %4
  %16 : f32[] = div %10, %15
  %99 : f32[] = add %13, %16`, 1, 1, true},
	{"a quotient of each row", size + `  %10 : f32[batch=B] = reduce_sum %7 over=(a)
  %11 : f32[batch=B] = reduce_sum %6 over=(a)
  %12 : f32[batch=B] = div %10, %11
  %14 : f32[] = reduce_sum %12 over=(batch)
  %99 : f32[] = div %14, %13`, 1, 1, true},
	{"pairs of rows", size + `  %10 : f32[batch=HALF, two=2, a=3] = split %6 axis=batch into={batch=HALF, two=2}
  %11 : f32[batch=HALF, a=3] = reduce_max %10 over=(two)
  %12 : f32[] = reduce_sum %11 over=(batch, a)
  %99 : f32[] = div %12, %13`, 1, 2, true},
	{"instances of a stack", size + chain + `  %99 : f32[] = add %27, %3`, 1, 1, true},
	{"no sum of instances", size + strings.ReplaceAll(chain, "ADDED", "mul %24, %24") + `  %99 : f32[] = neg %27`, 1, 1, false},
	{"the root of a mean", masked + `  %13 : f32[] = div %10, %12
  %99 : f32[] = sqrt %13`, 1, 1, false},
	{"pairs of all rows", size + `  %10 : f32[other=B, a=3] = rename %6 axes={batch:other}
  %11 : f32[batch=B, other=B] = dot %6, %10 over=(a)
  %12 : f32[batch=B, other=B] = tanh %11
  %14 : f32[] = reduce_sum %12 over=(batch, other)
  %15 : f32[] = div %14, %13
  %99 : f32[] = div %15, %13`, 1, 1, false},
	{"statistics of the batch", size + `  %10 : f32[a=3] = reduce_sum %6 over=(batch)
  %11 : f32[batch=B, a=3] = div %6, %10
  %12 : f32[batch=B, a=3] = exp %11
  %14 : f32[] = reduce_sum %12 over=(batch, a)
  %99 : f32[] = div %14, %13`, 1, 1, false},
	{"positions in the batch", size + `  %10 : i32[batch=B] = index axis=batch size=B
  %11 : f32[batch=B] = cast %10 to=f32
  %12 : f32[batch=B, a=3] = mul %6, %11
  %14 : f32[] = reduce_sum %12 over=(batch, a)
  %99 : f32[] = div %14, %13`, 1, 1, false},
	{"a quotient and what is none", size + masked + `  %14 : f32[] = div %10, %12
  %15 : f32[] = exp %14
  %99 : f32[] = add %15, %14`, 2, 1, false},
}

func module(t *testing.T, body string, batch int) *ir.Module {
	t.Helper()
	stack := ""
	if strings.Contains(body, "for blocks") {
		stack = "  stack blocks count=3\n"
	}
	text := strings.NewReplacer("STACK", stack, "BODY", strings.ReplaceAll(body, "ADDED", "add %21, %24")).Replace(frame)
	text = strings.NewReplacer("HALF", fmt.Sprint(batch/2), "SIZE", fmt.Sprintf("%d.0", 3*batch), "=B", fmt.Sprint("=", batch)).Replace(text)
	m, err := ir.Parse("t", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return m
}

// run is the loss of rows from first on, then the sums and weights of its terms.
func run(t *testing.T, m *ir.Module, x *average.Average, p, rows, weights *tensor.Tensor, first, batch int) (loss float64, sums, by []float64) {
	t.Helper()
	f := m.Funcs[0]
	part := func(a *tensor.Tensor, v *ir.Value) *tensor.Tensor {
		out := tensor.New(v.Type)
		copy(out.Data, a.Data[3*first:3*(first+batch)])
		return out
	}
	res, err := eval.Func(m, f, []*tensor.Tensor{p, part(rows, f.Args[1].Value), part(weights, f.Args[2].Value)}, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := 1
	for _, term := range x.Terms {
		sum := res[0].Data[0]
		if len(x.Terms) > 1 || term.Weight != nil {
			sum, at = res[at].Data[0], at+1
		}
		w := 1.0
		if term.Weight != nil {
			w, at = res[at].Data[0], at+1
		}
		sums, by = append(sums, sum), append(by, w)
	}
	return res[0].Data[0], sums, by
}

// decomposed is the module of a batch whose results are the loss and its terms.
func decomposed(t *testing.T, body string, batch int) (*ir.Module, *average.Average) {
	t.Helper()
	m := module(t, body, batch)
	f := m.Funcs[0]
	x := average.Of(f, f.Results[0].Value, batch, &op.Builder{F: f})
	for i, term := range x.Terms {
		if len(x.Terms) > 1 || term.Weight != nil {
			f.Results = append(f.Results, ir.Result{Value: term.Sum, Role: ir.RoleStat, Path: fmt.Sprint("sum.", i)})
		}
		if term.Weight != nil {
			f.Results = append(f.Results, ir.Result{Value: term.Weight, Role: ir.RoleStat, Path: fmt.Sprint("weight.", i)})
		}
	}
	if err := verify.Module(m); err != nil {
		t.Fatal(err)
	}
	return m, x
}

// TestTotals: of every loss that is an average of rows, the totals over batches of any
// size are the loss of one batch of all rows; of every other one it is said.
func TestTotals(t *testing.T) {
	const all = 16
	for _, c := range cases {
		r := rand.New(rand.NewSource(1))
		whole, x := decomposed(t, c.body, all)
		if len(x.Terms) != c.terms || x.Rows != c.rows || x.Exact() != c.exact {
			t.Errorf("%s: %d terms, of %d rows, exact %v; want %d, %d, %v", c.name, len(x.Terms), x.Rows, x.Exact(), c.terms, c.rows, c.exact)
		}
		p, rows, weights := tensor.New(whole.Funcs[0].Args[0].Value.Type), tensor.New(whole.Funcs[0].Args[1].Value.Type), tensor.New(whole.Funcs[0].Args[2].Value.Type)
		for _, a := range []*tensor.Tensor{p, rows} {
			for i := range a.Data {
				a.Data[i] = r.NormFloat64()
			}
		}
		for i := range weights.Data {
			if i/3%4 == 1 || r.Intn(4) == 0 { // whole rows without one, so that small batches have none
				weights.Data[i] = float64(1 + r.Intn(3))
			}
		}
		want, _, _ := run(t, whole, x, p, rows, weights, 0, all)
		for _, batch := range []int{1, 2, 4, 8} {
			if batch%c.rows != 0 {
				continue
			}
			m, y := decomposed(t, c.body, batch)
			sums, by := make([]float64, len(y.Terms)), make([]float64, len(y.Terms))
			for first := 0; first < all; first += batch {
				_, s, w := run(t, m, y, p, rows, weights, first, batch)
				for i := range s {
					sums[i], by[i] = sums[i]+s[i], by[i]+w[i]
				}
			}
			got := 0.0
			for i, term := range y.Terms {
				if !(by[i] == 0 && term.Zero) {
					got += sums[i] / (max(by[i], term.Floor) + term.Plus)
				}
			}
			if near := math.Abs(got-want) <= 1e-5*math.Abs(want); near != c.exact && (c.exact || batch > 1) {
				t.Errorf("%s: %g of batches of %d, %g of one of %d", c.name, got, batch, want, all)
			}
		}
	}
}

// TestTermsArePlaced: where rows of a batch are related, the place in the source is known.
func TestTermsArePlaced(t *testing.T) {
	body := cases[slices.IndexFunc(cases, func(c testCase) bool { return c.name == "the root of a mean" })].body
	_, x := decomposed(t, body+" // m.ptl:7:3", 4)
	if at := x.Terms[0].At.String(); at != "m.ptl:7:3" {
		t.Errorf("the place is %q", at)
	}
}
