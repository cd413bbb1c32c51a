package fusion_test

import (
	"fmt"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/fusion"
)

// kernel reads a kernel function: its lines, without the frame.
func kernel(t *testing.T, body string) *ir.Func {
	t.Helper()
	text := "ptir 1 fused \"\"\n\nfunc @k class=kernel\n  " +
		strings.Join(strings.Split(strings.TrimSpace(body), "\n"), "\n  ") + "\nend\n"
	m, errs := ir.Parse("k.ptir", []byte(text))
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, text)
	}
	return m.Funcs[0]
}

const (
	softmax = `
arg %0 : f32[a=4, b=8] in
%1 : f32[a=4] = reduce_max %0 over=(b)
%2 : f32[a=4, b=8] = sub %0, %1
%3 : f32[a=4, b=8] = exp %2
%4 : f32[a=4] = reduce_sum %3 over=(b)
%5 : f32[a=4, b=8] = div %3, %4
result %5 out`
	linear = `
arg %0 : f32[a=4, b=8] in
arg %1 : f32[b=8, c=2] in
arg %2 : f32[c=2] in
arg %3 : f32[a=4, c=2] in
%4 : f32[a=4, b=8] = neg %0
%5 : f32[b=8, c=2] = tanh %1
%6 : f32[a=4, c=2] = dot %4, %5 over=(b)
%7 : f32[a=4, c=2] = add %6, %2
%8 : f32[a=4, c=2] = add %7, %3
result %8 out`
)

// parts names where each operation that is no view belongs, as "%5 left".
func parts(k *fusion.Kernel) string {
	names := map[fusion.Part]string{fusion.PartView: "view", fusion.PartBody: "body", fusion.PartLeft: "left",
		fusion.PartRight: "right", fusion.PartRoot: "root", fusion.PartEpilogue: "epilogue"}
	var out []string
	for _, o := range k.F.Ops {
		s := fmt.Sprintf("%s %s", o.Name, names[k.Part[o]])
		if k.Class == fusion.Row && k.Part[o] != fusion.PartView {
			s += fmt.Sprint(" ", k.Phase[o])
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func axes(as []ir.Axis) string {
	var s []string
	for _, a := range as {
		s = append(s, a.Name)
	}
	return strings.Join(s, " ")
}

func TestAnalyze(t *testing.T) {
	for _, c := range []struct {
		name, body    string
		class         fusion.Class
		space, reduce string
		parts         string
	}{
		{"map", `
arg %0 : f32[a=4, b=8] in
arg %1 : f32[b=8] in
%2 : f32[b=8] = exp %1
%3 : f32[a=4, b=8] = mul %0, %2
result %3 out`, fusion.Map, "a b", "", "exp body, mul body"},
		{"map in the order of its result", `
arg %0 : f32[a=4, b=8] in
%1 : f32[b=8, a=4] = transpose %0 order=(b, a)
%2 : f32[b=8, a=4] = neg %1
result %2 out`, fusion.Map, "b a", "", "transpose view, neg body"},
		{"gather", `
arg %0 : f32[v=6, e=8] in
arg %1 : i32[s=4] in
%2 : f32[s=4, e=8] = gather %0, %1 axis=v
result %2 out`, fusion.Map, "s e", "", "gather body"},
		{"one sweep", `
arg %0 : f32[a=4, b=8] in
%1 : f32[a=4, b=8] = mul %0, %0
%2 : f32[a=4] = reduce_sum %1 over=(b)
result %2 out`, fusion.Row, "a b", "b", "mul body 0, reduce_sum root 0"},
		{"three sweeps", softmax, fusion.Row, "a b", "b",
			"reduce_max root 0, sub body 1, exp body 1, reduce_sum root 1, div body 2"},
		{"rows of several axes", `
arg %0 : f32[a=4, b=8, c=2] in
%1 : f32[b=8] = reduce_sum %0 over=(a, c)
%2 : f32[b=8] = sqrt %1
result %2 out`, fusion.Row, "a b c", "a c", "reduce_sum root 0, sqrt body 1"},
		{"rows in the order of storage", `
arg %0 : f32[a=4, b=8] in
%1 : f32[b=8, a=4] = transpose %0 order=(b, a)
%2 : f32[a=4] = reduce_sum %1 over=(b)
result %2 out`, fusion.Row, "a b", "b", "transpose view, reduce_sum root 0"},
		{"several sweeps against the order of storage", `
arg %0 : f32[a=4, b=8] in
%1 : f32[b=8, a=4] = transpose %0 order=(b, a)
%2 : f32[b=8] = reduce_max %1 over=(a)
%3 : f32[b=8, a=4] = sub %1, %2
result %3 out`, fusion.Row, "b a", "a", "transpose view, reduce_max root 0, sub body 1"},
		{"column", `
arg %0 : f32[a=4, b=8] in
arg %1 : f32[b=8] in
%2 : f32[a=4, b=8] = exp %0
%3 : f32[b=8] = reduce_sum %2 over=(a)
%4 : f32[b=8] = mul %3, %1
result %4 out`, fusion.Column, "a b", "a", "exp body, reduce_sum root, mul epilogue"},
		{"column that stores what it adds to its reduction", `
arg %0 : f32[a=4, b=8] in
arg %1 : f32[b=8] in
%2 : f32[b=8] = neg %1
%3 : f32[b=8] = reduce_sum %0 over=(a)
%4 : f32[b=8] = add %3, %2
result %2 out
result %4 out`, fusion.Column, "a b", "a", "neg body, reduce_sum root, add epilogue"},
		{"gemm", linear, fusion.Gemm, "a c", "b", "neg left, tanh right, dot root, add epilogue, add epilogue"},
		{"outer product", `
arg %0 : f32[a=4] in
arg %1 : f32[b=8] in
%2 : f32[a=4, b=8] = dot %0, %1 over=()
result %2 out`, fusion.Gemm, "a b", "", "dot root"},
		{"scatter", `
arg %0 : f32[s=4, e=8] in
arg %1 : i32[s=4] in
%2 : f32[s=4, e=8] = neg %0
%3 : f32[v=6, e=8] = scatter_add %2, %1 axis=v out={v=6, e=8}
result %3 out`, fusion.Scatter, "v e", "", "neg body, scatter_add root"},
		{"concat", `
arg %0 : f32[a=4] in
arg %1 : f32[a=2] in
%2 : f32[a=2] = neg %1
%3 : f32[a=6] = concat %0, %2 axis=a
result %3 out`, fusion.Pieces, "a", "", "neg body, concat root"},
	} {
		k, err := fusion.Analyze(kernel(t, c.body))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if k.Class != c.class || axes(k.Space) != c.space || axes(k.Reduce) != c.reduce || parts(k) != c.parts {
			t.Errorf("%s:\n got %s over (%s) reducing (%s): %s\nwant %s over (%s) reducing (%s): %s", c.name,
				k.Class, axes(k.Space), axes(k.Reduce), parts(k), c.class, c.space, c.reduce, c.parts)
		}
	}
}

func TestViews(t *testing.T) {
	k, err := fusion.Analyze(kernel(t, `
arg %0 : f32[a=6, b=8] in
%1 : f32[a=6, c=2, d=4] = split %0 axis=b into={c=2, d=4}
%2 : f32[a=3, c=2, d=4] = slice %1 axis=a start=2 limit=5
%3 : f32[a=3, c=2, d=4] = neg %2
result %3 out`))
	if err != nil {
		t.Fatal(err)
	}
	v := k.Views[k.F.Ops[1].Result()]
	if got := fmt.Sprint(v); got != "{0 {16 [{a 3 8 0} {c 2 4 0} {d 4 1 0}]}}" {
		t.Errorf("the slice of the split is %s", got)
	}
	if _, ok := k.Views[k.F.Ops[2].Result()]; ok {
		t.Error("a computed value is a view")
	}
}

func TestRejected(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`
arg %0 : f32[a=4, b=4] in
%1 : f32[a=4, b=4] = dot %0, %0 over=() 
%2 : f32[a=4] = reduce_sum %1 over=(b)
result %2 out`, "dot and reduce_sum in one kernel"},
		{`
arg %0 : f32[a=4, b=8] in
arg %1 : f32[b=8, c=2] in
arg %2 : f32[c=2, d=3] in
%3 : f32[a=4, c=2] = dot %0, %1 over=(b)
%4 : f32[a=4, d=3] = dot %3, %2 over=(c)
result %4 out`, "dot and dot in one kernel"},
		{`
arg %0 : f32[a=4, b=8] in
%1 : f32[a=4, b=8] = neg %0
%2 : f32[a=4, b=2] = slice %1 axis=b start=1 limit=3
result %2 out`, "slice of a computed value must be a kernel of its own"},
		{`
arg %0 : f32[v=6, e=8] in
arg %1 : i32[s=4] in
%2 : f32[v=6, e=8] = neg %0
%3 : f32[s=4, e=8] = gather %2, %1 axis=v
result %3 out`, "gather from a computed value"},
		{`
arg %0 : f32[a=4, b=8] in
%1 : f32[a=4, b=8] = neg %0
%2 : f32[a=4, b=8] = all_reduce %1 over=(dp) reduce=sum
result %2 out`, "all_reduce cannot be in a kernel"},
		{`
arg %0 : f32[a=4] in
arg %1 : f32[b=8] in
%2 : f32[a=4] = neg %0
%3 : f32[b=8] = neg %1
result %2 out
result %3 out`, "have different axes"},
		{`
arg %0 : f32[a=4, b=8] in
%1 : f32[a=4] = reduce_sum %0 over=(b)
%2 : f32[b=8] = reduce_sum %0 over=(a)
result %1 out
result %2 out`, "reductions over different axes in one kernel"},
		{`
arg %0 : f32[a=4, b=8] in
%1 : f32[] = reduce_sum %0 over=(a, b)
%2 : f32[a=4] = reduce_sum %0 over=(b)
result %1 out
result %2 out`, "reductions over different axes in one kernel"},
		{`
arg %0 : f32[] in
%1 : f32[] = reduce_sum %0 over=()
result %1 out`, "reduce_sum over no axes"},
		{`
arg %0 : f32[a=4, b=8] in
%1 : f32[b=8] = reduce_sum %0 over=(a)
%2 : f32[a=4, b=8] = sub %0, %1
result %2 out`, "a column kernel sweeps its input once; sub needs it again"},
		{`
arg %0 : f32[a=4, b=8] in
%1 : f32[b=8] = reduce_max %0 over=(a)
%2 : f32[a=4, b=8] = sub %0, %1
%3 : f32[b=8] = reduce_sum %2 over=(a)
result %3 out`, "a column kernel"},
		{`
arg %0 : f32[a=4, b=8] in
%1 : f32[a=4, b=8] = neg %0
%2 : f32[b=8] = reduce_sum %1 over=(a)
result %1 out
result %2 out`, "of a column kernel is not over the kept axes"},
		{`
arg %0 : f32[a=4, b=8] in
arg %1 : f32[b=8] in
%2 : f32[a=4] = reduce_sum %0 over=(b)
%3 : f32[b=8] = neg %1
result %2 out
result %3 out`, "is neither over the rows nor over the kept axes"},
		{`
arg %0 : f32[a=4, b=8] in
arg %1 : f32[c=2] in
%2 : f32[a=4] = reduce_sum %0 over=(b)
%3 : f32[a=4, c=2] = mul %2, %1
result %3 out`, "mul has axes beyond the kernel's"},
		{`
arg %0 : f32[b=8] in
%1 : f32[b=8] = neg %0
%2 : f32[] = dot %1, %1 over=(b)
result %2 out`, "neg is in the prologue of both operands"},
		{`
arg %0 : f32[a=4, b=8] in
arg %1 : f32[b=8, c=2] in
arg %2 : f32[d=3] in
%3 : f32[a=4, c=2] = dot %0, %1 over=(b)
%4 : f32[a=4, c=2, d=3] = mul %3, %2
result %4 out`, "mul has axes beyond the contraction's"},
		{`
arg %0 : f32[a=4, b=8] in
arg %1 : f32[b=8, c=2] in
%2 : f32[a=4, b=8] = neg %0
%3 : f32[a=4, c=2] = dot %2, %1 over=(b)
result %2 out
result %3 out`, "is not over the contraction's axes"},
		{`
arg %0 : f32[s=4] in
arg %1 : i32[s=4] in
%2 : f32[v=6] = scatter_add %0, %1 axis=v out={v=6}
%3 : f32[v=6] = neg %2
result %3 out`, "scatter_add must be the only result of its kernel"},
		{`
arg %0 : f32[a=4] in
%1 : f32[a=8] = concat %0, %0 axis=a
%2 : f32[a=8] = neg %1
result %1 out
result %2 out`, "concat must be the only result of its kernel"},
	} {
		_, err := fusion.Analyze(kernel(t, c.body))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q for%s", err, c.want, c.body)
		}
	}
}

func TestInPlace(t *testing.T) {
	for _, c := range []struct {
		name, body string
		arg        int
		want       bool
	}{
		{"element by element", `
arg %0 : f32[a=4, b=8] in
%1 : f32[a=4, b=8] = exp %0
result %1 out`, 0, true},
		{"other dtype of one size", `
arg %0 : i32[a=4, b=8] in
%1 : f32[a=4, b=8] = cast %0 to=f32
result %1 out`, 0, false},
		{"read along other axes too", `
arg %0 : f32[b=8] in
arg %1 : f32[a=4, b=8] in
%2 : f32[a=4, b=8] = mul %1, %0
result %2 out`, 0, false},
		{"the other operand", `
arg %0 : f32[b=8] in
arg %1 : f32[a=4, b=8] in
%2 : f32[a=4, b=8] = mul %1, %0
result %2 out`, 1, true},
		{"other order", `
arg %0 : f32[a=4, b=4] in
%1 : f32[b=4, a=4] = transpose %0 order=(b, a)
%2 : f32[b=4, a=4] = neg %1
result %2 out`, 0, false},
		{"other names", `
arg %0 : f32[a=4, b=4] in
%1 : f32[b=4, a=4] = rename %0 axes={a:b, b:a}
%2 : f32[a=4, b=4] = add %0, %1
result %2 out`, 0, false},
		{"a table", `
arg %0 : f32[v=4, e=8] in
arg %1 : i32[v=4] in
%2 : f32[v=4, e=8] = gather %0, %1 axis=v
result %2 out`, 0, false},
		{"a row that no later sweep reads", softmax, 0, true},
		{"a row whose result is stored before its last sweep", `
arg %0 : f32[a=4, b=8] in
%1 : f32[a=4] = reduce_sum %0 over=(b)
%2 : f32[a=4, b=8] = sub %0, %1
%3 : f32[a=4, b=8] = mul %2, %2
%4 : f32[a=4] = reduce_sum %3 over=(b)
%5 : f32[a=4, b=8] = mul %2, %4
result %2 out
result %5 out`, 0, false},
		{"a row stored in the first sweep and read in the second", `
arg %0 : f32[a=4, b=8] in
%1 : f32[a=4, b=8] = neg %0
%2 : f32[a=4] = reduce_sum %1 over=(b)
%3 : f32[a=4, b=8] = mul %0, %2
result %1 out
result %3 out`, 0, false},
		{"a row stored in the first sweep and read no more", `
arg %0 : f32[a=4, b=8] in
%1 : f32[a=4, b=8] = neg %0
%2 : f32[a=4] = reduce_sum %1 over=(b)
result %1 out
result %2 out`, 0, true},
		{"a value over the kept axes", `
arg %0 : f32[a=4] in
arg %1 : f32[a=4, b=8] in
%2 : f32[a=4] = reduce_sum %1 over=(b)
%3 : f32[a=4] = add %2, %0
result %3 out`, 0, false},
		{"column", `
arg %0 : f32[b=8] in
arg %1 : f32[a=4, b=8] in
%2 : f32[b=8] = reduce_sum %1 over=(a)
%3 : f32[b=8] = add %2, %0
result %3 out`, 0, true},
		{"a column of what is read before", `
arg %0 : f32[b=8] in
arg %1 : f32[a=4, b=8] in
%2 : f32[a=4, b=8] = mul %1, %0
%3 : f32[b=8] = reduce_sum %2 over=(a)
%4 : f32[b=8] = add %3, %0
result %4 out`, 0, false},
		{"gemm", linear, 3, true},
		{"an operand of a gemm", `
arg %0 : f32[a=4, b=4] in
arg %1 : f32[b=4, c=4] in
%2 : f32[a=4, c=4] = dot %0, %1 out=(a, c) over=(b)
%3 : f32[a=4, c=4] = add %2, %1
result %3 out`, 1, false},
	} {
		k, err := fusion.Analyze(kernel(t, c.body))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := k.InPlace(c.arg, 0); got != c.want {
			t.Errorf("%s: in place is %v", c.name, got)
		}
	}
}
