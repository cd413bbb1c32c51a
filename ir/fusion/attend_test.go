package fusion_test

import (
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/fusion"
)

// forward is attention with a mask, a soft cap, a bias and dropout, which stores what
// the backward phase reads.
const forward = `
arg %0 : f32[b=2, s=4, h=2, d=3] in
arg %1 : f32[b=2, s=4, h=2, d=3] in
arg %2 : f32[b=2, s=4, h=2, d=3] in
arg %3 : f32[h=2, s=4, t=4] in
arg %4 : i32[] in
%5 : f32[b=2, t=4, h=2, d=3] = rename %1 axes={s:t}
%6 : f32[b=2, t=4, h=2, d=3] = rename %2 axes={s:t}
%7 : f32[b=2, s=4, h=2, t=4] = dot %0, %5 over=(d)
%8 : f32[] = const dtype=f32 value=2
%9 : f32[b=2, s=4, h=2, t=4] = div %7, %8
%10 : f32[b=2, s=4, h=2, t=4] = tanh %9
%11 : f32[b=2, s=4, h=2, t=4] = add %10, %3
%12 : i32[s=4] = index axis=s size=4
%13 : i32[t=4] = index axis=t size=4
%14 : bool[s=4, t=4] = ge %12, %13
%15 : f32[] = const dtype=f32 value=-inf
%16 : f32[b=2, s=4, h=2, t=4] = select %14, %11, %15
%17 : f32[b=2, s=4, h=2] = reduce_max %16 over=(t)
%18 : f32[b=2, s=4, h=2, t=4] = sub %16, %17
%19 : f32[b=2, s=4, h=2, t=4] = exp %18
%20 : f32[b=2, s=4, h=2] = reduce_sum %19 over=(t)
%21 : f32[b=2, s=4, h=2, t=4] = div %19, %20
%22 : f32[b=2, s=4, h=2, t=4] = random %4, %4 site=0 kind=uniform axes={b=2, s=4, h=2, t=4}
%23 : f32[] = const dtype=f32 value=0.9
%24 : bool[b=2, s=4, h=2, t=4] = lt %22, %23
%25 : f32[b=2, s=4, h=2, t=4] = div %21, %23
%26 : f32[] = const dtype=f32 value=0
%27 : f32[b=2, s=4, h=2, t=4] = select %24, %25, %26
%28 : f32[b=2, s=4, h=2, d=3] = dot %27, %6 over=(t)
result %28 out
result %17 out
result %20 out`

// grouped is attention in which two heads share keys, of which the second product is
// in another dtype.
const grouped = `
arg %0 : f32[b=2, s=4, heads=4, d=3] in
arg %1 : f32[b=2, t=5, kv=2, d=3] in
arg %2 : bf16[b=2, t=5, kv=2, d=3] in
arg %3 : f32[d=3] in
%4 : f32[b=2, s=4, kv=2, g=2, d=3] = split %0 axis=heads into={kv=2, g=2}
%5 : f32[b=2, s=4, kv=2, g=2, d=3] = mul %4, %3
%6 : f32[b=2, s=4, kv=2, g=2, t=5] = dot %5, %1 over=(d)
%7 : f32[b=2, s=4, kv=2, g=2] = reduce_max %6 over=(t)
%8 : f32[b=2, s=4, kv=2, g=2, t=5] = sub %6, %7
%9 : f32[b=2, s=4, kv=2, g=2, t=5] = exp %8
%10 : f32[b=2, s=4, kv=2, g=2] = reduce_sum %9 over=(t)
%11 : f32[b=2, s=4, kv=2, g=2, t=5] = div %9, %10
%12 : bf16[b=2, s=4, kv=2, g=2, t=5] = cast %11 to=bf16
%13 : bf16[b=2, s=4, kv=2, g=2, d=3] = dot %12, %2 over=(t)
%14 : f32[b=2, s=4, kv=2, g=2, d=3] = cast %13 to=f32
result %14 out`

// ringStep is the second block of keys that a ring brings: what the first has left is
// in %3, %4 and %5.
const ringStep = `
arg %0 : f32[b=2, s=4, d=3] in
arg %1 : f32[b=2, t=4, d=3] in
arg %2 : f32[b=2, t=4, d=3] in
arg %3 : f32[b=2, s=4] in
arg %4 : f32[b=2, s=4] in
arg %5 : f32[b=2, s=4, d=3] in
%6 : f32[b=2, s=4, t=4] = dot %0, %1 over=(d)
%7 : f32[b=2, s=4] = reduce_max %6 over=(t)
%8 : f32[b=2, s=4] = max %3, %7
%9 : f32[] = const dtype=f32 value=-inf
%10 : bool[b=2, s=4] = gt %8, %9
%11 : f32[] = const dtype=f32 value=0
%12 : f32[b=2, s=4] = select %10, %8, %11
%13 : f32[b=2, s=4, t=4] = sub %6, %12
%14 : f32[b=2, s=4, t=4] = exp %13
%15 : f32[b=2, s=4] = sub %3, %12
%16 : f32[b=2, s=4] = exp %15
%17 : f32[b=2, s=4] = reduce_sum %14 over=(t)
%18 : f32[b=2, s=4] = mul %4, %16
%19 : f32[b=2, s=4] = add %18, %17
%20 : f32[b=2, s=4, d=3] = dot %14, %2 over=(t)
%21 : f32[b=2, s=4, d=3] = mul %5, %16
%22 : f32[b=2, s=4, d=3] = add %21, %20
result %8 out
result %19 out
result %22 out`

// backward is the gradients of queries, keys and values, of two products that make
// the scores; heads share the keys of the second.
const backward = `
arg %0 : f32[b=2, s=4, h=2, d=3] in
arg %1 : f32[b=2, t=4, h=2, d=3] in
arg %2 : f32[b=2, s=4, h=2, r=2] in
arg %3 : f32[b=2, t=4, r=2] in
arg %4 : f32[b=2, t=4, h=2, d=3] in
arg %5 : f32[b=2, s=4, h=2] in
arg %6 : f32[b=2, s=4, h=2] in
arg %7 : f32[b=2, s=4, h=2, d=3] in
arg %8 : f32[b=2, s=4, h=2] in
arg %9 : f32[b=2, t=4, h=2, d=3] in
%10 : f32[b=2, s=4, h=2, t=4] = dot %0, %1 over=(d)
%11 : f32[b=2, s=4, h=2, t=4] = dot %2, %3 out=(b, s, h, t) over=(r)
%12 : f32[b=2, s=4, h=2, t=4] = add %10, %11
%13 : f32[b=2, s=4, h=2, t=4] = sub %12, %5
%14 : f32[b=2, s=4, h=2, t=4] = exp %13
%15 : f32[b=2, s=4, h=2, t=4] = div %14, %6
%16 : f32[b=2, s=4, h=2, t=4] = dot %7, %4 over=(d)
%17 : f32[b=2, t=4, h=2, d=3] = dot %15, %7 out=(b, t, h, d) over=(s)
%18 : f32[b=2, t=4, h=2, d=3] = add %9, %17
%19 : f32[b=2, s=4, h=2] = neg %8
%20 : f32[b=2, s=4, h=2, t=4] = add %16, %19
%21 : f32[b=2, s=4, h=2, t=4] = mul %15, %20
%22 : f32[b=2, s=4, h=2, d=3] = dot %21, %1 out=(b, s, h, d) over=(t)
%23 : f32[b=2, t=4, h=2, d=3] = dot %21, %0 out=(b, t, h, d) over=(s)
%24 : f32[b=2, s=4, h=2, r=2] = dot %21, %3 out=(b, s, h, r) over=(t)
%25 : f32[b=2, t=4, r=2] = dot %21, %2 out=(b, t, r) over=(s, h)
result %22 out
result %24 out
result %23 out
result %25 out
result %18 out`

func TestAttention(t *testing.T) {
	for _, c := range []struct {
		name, body       string
		both, rows, key  string
		into, outs       int
		top, sum, norm   bool
		scores, epilogue string
	}{
		{"forward", forward, "b h", "s", "t", 1, 1, true, true, true,
			"const div tanh add index index ge const select sub exp div random const lt div const select", ""},
		{"grouped", grouped, "b kv", "s g", "t", 1, 1, true, true, true, "sub exp div cast", "cast"},
		{"a step of a ring", ringStep, "b", "s", "t", 1, 1, true, true, false,
			"sub exp", "max const gt const select sub exp mul add mul add"},
		{"backward", backward, "b h", "s", "t", 3, 5, false, false, true,
			"add sub exp div neg add mul", "add"},
	} {
		k, err := fusion.Analyze(kernel(t, c.body))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		a := k.Attention
		if a == nil || k.Class != fusion.Attend {
			t.Errorf("%s is of class %s", c.name, k.Class)
			continue
		}
		if axes(a.Both) != c.both || axes(a.Rows) != c.rows || a.Key.Name != c.key || axes(k.Space) != c.both+" "+c.rows+" "+c.key {
			t.Errorf("%s: both (%s), rows (%s), key %s of (%s)", c.name, axes(a.Both), axes(a.Rows), a.Key.Name, axes(k.Space))
		}
		if len(a.Into) != c.into || len(a.Outs) != c.outs || (a.Top != nil) != c.top || (a.Sum != nil) != c.sum || (a.Norm != nil) != c.norm {
			t.Errorf("%s: %d products into scores, %d of them; top %v, sum %v, norm %v", c.name, len(a.Into), len(a.Outs), a.Top, a.Sum, a.Norm)
		}
		if got := opNames(a.Body); got != c.scores {
			t.Errorf("%s: body %s", c.name, got)
		}
		if got := opNames(a.Epilogue); got != c.epilogue {
			t.Errorf("%s: epilogue %s", c.name, got)
		}
		for i := range k.F.Args {
			for j := range k.F.Results {
				if k.InPlace(i, j) {
					t.Errorf("%s: result %d may be written over argument %d", c.name, j, i)
				}
			}
		}
	}
}

func opNames(ops []*ir.Op) string {
	var s []string
	for _, o := range ops {
		s = append(s, o.Name)
	}
	return strings.Join(s, " ")
}

// core is the plain form; %3 and on are what a case adds.
const core = `
arg %0 : f32[b=2, s=4, h=2, d=3] in
arg %1 : f32[b=2, t=4, h=2, d=3] in
arg %2 : f32[b=2, s=4, h=2] in
%3 : f32[b=2, s=4, h=2, t=4] = dot %0, %1 over=(d)
%4 : f32[b=2, s=4, h=2] = reduce_max %3 over=(t)
%5 : f32[b=2, s=4, h=2, t=4] = sub %3, %4
%6 : f32[b=2, s=4, h=2, t=4] = exp %5
%7 : f32[b=2, s=4, h=2] = reduce_sum %6 over=(t)
%8 : f32[b=2, s=4, h=2, t=4] = div %6, %7
`

func TestNoAttention(t *testing.T) {
	// known is the backward phase's form, with the statistics given.
	known := strings.NewReplacer("reduce_max %3 over=(t)", "neg %2", "reduce_sum %6 over=(t)", "abs %2").Replace(core)
	for _, c := range []struct{ body, want string }{
		{core + `%9 : f32[b=2, s=4, h=2, d=3] = dot %8, %1 out=(b, s, h, d) over=(t)
result %9 out
result %8 out`, "is over the scores"},
		{core + `%9 : f32[b=2, s=4, h=2, d=3] = dot %8, %1 out=(b, s, h, d) over=(t)
result %9 out
result %2 out`, "has nothing of the scores"},
		{core + `%9 : f32[b=2, s=4, h=2, t=4] = sub %8, %7
%10 : f32[b=2, s=4, h=2, d=3] = dot %9, %1 out=(b, s, h, d) over=(t)
result %10 out`, "sub of scores needs the complete sum over `t`"},
		{core + `%9 : f32[b=2, s=4, h=2, t=4] = mul %8, %4
%10 : f32[b=2, s=4, h=2, d=3] = dot %9, %1 out=(b, s, h, d) over=(t)
result %10 out`, "mul of scores needs the complete maximum over `t`"},
		{core + `%9 : f32[b=2, s=4, h=2, t=4] = mul %8, %8
%10 : f32[b=2, s=4, h=2, d=3] = dot %9, %1 out=(b, s, h, d) over=(t)
result %10 out`, "mul makes of the exponentials what is not proportional to them"},
		{core + `%9 : f32[b=2, s=4, h=2, t=4] = sub %8, %3
%10 : f32[b=2, s=4, h=2, d=3] = dot %9, %1 out=(b, s, h, d) over=(t)
result %10 out`, "sub makes of the exponentials what is not proportional to them"},
		{core + `%9 : bool[b=2, s=4, h=2, t=4] = gt %8, %2
%10 : f32[b=2, s=4, h=2, t=4] = select %9, %3, %3
%11 : f32[b=2, s=4, h=2, d=3] = dot %10, %1 out=(b, s, h, d) over=(t)
result %11 out`, "gt makes of the exponentials what is not proportional to them"},
		{core + `%9 : f32[b=2, s=4, h=2, t=4] = add %8, %6
%10 : f32[b=2, s=4, h=2, d=3] = dot %9, %1 out=(b, s, h, d) over=(t)
result %10 out`, "the sum of exponentials divides weights in part"},
		{core + `%9 : f32[b=2, t=4, h=2, d=3] = dot %8, %0 out=(b, t, h, d) over=(s)
result %9 out`, "a product over the rows needs the complete sum over `t`"},
		{core + `%9 : f32[b=2, s=4, h=2, d=3] = dot %8, %1 out=(b, s, h, d) over=(t)
%10 : f32[s=4, h=2, t=4] = reduce_sum %8 over=(b)
result %9 out
result %10 out`, "reduce_sum of scores over other axes than `t`"},
		{core + `%9 : f32[b=2, s=4, h=2, d=3] = dot %8, %1 out=(b, s, h, d) over=(t)
%10 : f32[b=2, s=4, h=2] = reduce_sum %3 over=(t)
result %9 out
result %10 out`, "a sum over `t` of other than the exponentials"},
		{core + `%9 : f32[b=2, s=4, h=2, d=3] = dot %8, %1 out=(b, s, h, d) over=(t)
%10 : f32[b=2, s=4, h=2] = reduce_max %8 over=(t)
result %9 out
result %10 out`, "a maximum of other scores than those of the exponential"},
		{core + `%9 : f32[b=2, s=4, h=2, d=3] = dot %8, %1 out=(b, s, h, d) over=(t)
%10 : f32[b=2, s=4, h=2] = reduce_sum %9 over=(d)
result %9 out
result %10 out`, "reduce_sum of what are no scores"},
		{core + `%9 : f32[b=2, s=4, h=2, d=3] = dot %8, %1 out=(b, s, h, d) over=(t)
%10 : f32[b=2, s=4, h=2, e=4] = rename %9 axes={d:e}
result %10 out`, "rename of a computed value must be a kernel of its own"},
		{core + `%9 : f32[b=2, s=4, h=2, d=3] = dot %8, %1 out=(b, s, h, d) over=(t)
%10 : f32[b=2, s=4, h=2] = dot %9, %0 out=(b, s, h) over=(d)
result %9 out
result %10 out`, "a product of a result of the kernel"},
		{core + `%9 : f32[b=2, s=4, h=2, d=3] = dot %8, %1 out=(b, s, h, d) over=(t)
%10 : f32[b=2, s=4, h=2, t=4] = exp %5
%11 : f32[b=2, s=4, h=2, d=3] = dot %10, %1 out=(b, s, h, d) over=(t)
result %9 out
result %11 out`, "two exponentials of scores in one kernel"},
		{core + `%9 : f32[s=4, d=3, b=2] = dot %8, %1 out=(s, d, b) over=(t, h)
result %9 out`, "a product over `t` and other axes"},
		{core + `%9 : f32[b=2, s=4, h=2, d=3] = dot %8, %1 out=(b, s, h, d) over=(t)
%10 : f32[b=2, s=4, h=2, d=3] = dot %6, %1 out=(b, s, h, d) over=(t)
%11 : f32[b=2, s=4, h=2, d=3] = add %9, %10
result %11 out`, "add joins the results of two products"},
		{known + `%9 : f32[b=2, t=4, d=3, s=4] = dot %8, %0 out=(b, t, d, s) over=(h)
result %9 out`, "a product over neither `t` nor all of (s)"},
		{known + `%9 : f32[b=2, s=4, h=2] = dot %8, %5 out=(b, s, h) over=(t)
result %9 out`, "a product of scores and scores"},
		{known + `%9 : f32[b=2, s=4, h=2, d=3] = dot %8, %1 out=(b, s, h, d) over=(t)
%10 : f32[b=2, s=4, h=2] = reduce_sum %8 over=(t)
result %9 out
result %10 out`, "a sum over `t` of other than the exponentials"},
	} {
		_, err := fusion.Analyze(kernel(t, c.body))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q for%s", err, c.want, c.body)
		}
	}
}
