package gpu_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"ptc/backend/gpu"
	"ptc/backend/gpu/target"
)

// randomProduct is a kernel of one product at random: any sizes, axes of one element, operands that lie in any order,
// factors and casts before it, and a bias, gelu, a mask, a residual and a cast behind it.
func randomProduct(r *rand.Rand) string {
	one := func(of ...string) string { return of[r.Intn(len(of))] }
	flag := func(n int) bool { return r.Intn(n) == 0 }
	size := func(most int) int {
		if flag(8) {
			return 1
		}
		return 1 + r.Intn(most)
	}
	of := map[string]int{"a": 1 + r.Intn(3), "m": size(150), "p": 1 + r.Intn(3), "n": size(150), "q": 1 + r.Intn(3), "k": size(200), "x": 1 + r.Intn(4)}
	over := func(dtype string, axes ...string) string {
		var out []string
		for _, x := range axes {
			out = append(out, fmt.Sprintf("%s=%d", x, of[x]))
		}
		return dtype + "[" + strings.Join(out, ", ") + "]"
	}
	var head, body strings.Builder
	next := 0
	arg := func(t string) string {
		fmt.Fprintf(&head, "  arg %%A%d : %s in\n", next, t)
		next++
		return fmt.Sprintf("%%A%d", next-1)
	}
	args := func() int { return strings.Count(head.String(), "\n") }
	ops := 0
	add := func(t, format string, a ...any) string {
		fmt.Fprintf(&body, "  %%B%d : %s = %s\n", ops, t, fmt.Sprintf(format, a...))
		ops++
		return fmt.Sprintf("%%B%d", ops-1)
	}
	shuffled := func(axes []string) []string {
		if flag(2) {
			r.Shuffle(len(axes), func(i, j int) { axes[i], axes[j] = axes[j], axes[i] })
		}
		return axes
	}
	left, right, out, sum := []string{"m"}, []string{}, []string{"m"}, []string{"k"}
	if flag(3) {
		left, right, out = append([]string{"a"}, left...), append([]string{"a"}, right...), append([]string{"a"}, out...)
	}
	if flag(3) {
		left, out = append(left, "p"), append(out, "p")
	}
	left = append(left, "k")
	right = append(right, "k")
	if flag(4) {
		left, right, sum = append(left, "x"), append(right, "x"), append(sum, "x")
	}
	right, out = append(right, "n"), append(out, "n")
	if flag(3) {
		right, out = append(right, "q"), append(out, "q")
	}
	left, right, out = shuffled(left), shuffled(right), shuffled(out)
	dtype := one("f32", "bf16", "bf16", "bf16", "f16")
	operand := func(axes []string) string {
		if dtype == "f32" || flag(2) {
			v := arg(over(dtype, axes...))
			if dtype == "f32" && flag(3) {
				return add(over(dtype, axes...), "mul %s, %s", v, arg(over("f32", axes[r.Intn(len(axes))])))
			}
			return v
		}
		v := arg(over("f32", axes...))
		if flag(2) {
			v = add(over("f32", axes...), "mul %s, %s", v, arg(over("f32", axes[r.Intn(len(axes))])))
		}
		return add(over(dtype, axes...), "cast %s to=%s", v, dtype)
	}
	a, b := operand(left), operand(right)
	if flag(3) {
		a, b = b, a
	}
	to := ""
	if dtype != "f32" {
		to = " to=f32"
	}
	f := over("f32", out...)
	v := add(f, "dot %s, %s out=(%s) over=(%s)%s", a, b, strings.Join(out, ", "), strings.Join(sum, ", "), to)
	var results []string
	if flag(2) {
		v = add(f, "add %s, %s", v, arg(over("f32", out[len(out)-1])))
	}
	if flag(5) {
		results = append(results, v)
	}
	if flag(3) {
		half := add(f, "mul %s, %s", add("f32[]", "const dtype=f32 value=0.5"), v)
		e := add(f, "erf %s", add(f, "mul %s, %s", v, add("f32[]", "const dtype=f32 value=0.7071067811865476")))
		v = add(f, "mul %s, %s", half, add(f, "add %s, %s", e, add("f32[]", "const dtype=f32 value=1.0")))
	}
	if flag(3) {
		i, j := out[0], out[len(out)-1]
		at, to := add(over("i32", i), "index axis=%s size=%d", i, of[i]), add(over("i32", j), "index axis=%s size=%d", j, of[j])
		if i != j {
			v = add(f, "select %s, %s, %s", add(over("bool", i, j), "ge %s, %s", at, to), v, add("f32[]", "const dtype=f32 value=-2"))
		}
	}
	if flag(3) {
		v = add(f, "add %s, %s", v, arg(over("f32", out...)))
	}
	if flag(3) {
		t := one("bf16", "f16")
		v = add(over(t, out...), "cast %s to=%s", v, t)
	}
	results = append(results, v)
	n := args()
	text := "func @k class=kernel kind=gemm\n" + head.String() + body.String()
	for _, x := range results {
		text += "  result " + x + " out\n"
	}
	text += "end\n"
	for i := ops - 1; i >= 0; i-- {
		text = strings.ReplaceAll(text, fmt.Sprintf("%%B%d ", i), fmt.Sprintf("%%%d ", n+i))
		text = strings.ReplaceAll(text, fmt.Sprintf("%%B%d,", i), fmt.Sprintf("%%%d,", n+i))
		text = strings.ReplaceAll(text, fmt.Sprintf("%%B%d\n", i), fmt.Sprintf("%%%d\n", n+i))
	}
	return strings.ReplaceAll(text, "%A", "%")
}

// TestProductsRandom: products at random give on each target what the evaluator gives.
func TestProductsRandom(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	for i := range 6 {
		text := randomProduct(r)
		for _, on := range target.Names() {
			t.Run(fmt.Sprint(i, " ", on), func(t *testing.T) { runText(t, text, on, int64(i)) })
		}
	}
}

// long has few columns, and sums so long that reads of whole lines of many rows are more than a block's memory.
const long = `func @k class=kernel kind=gemm
  arg %0 : f32[a=2, m=84, p=2, k=193] in
  arg %1 : f32[a=2, k=193, n=75] in
  %2 : f32[m=84, n=75, p=2, a=2] = dot %0, %1 out=(m, n, p, a) over=(k)
  result %2 out
end
`

// TestProductsFit: a block of each target has memory for the schedules of products.
func TestProductsFit(t *testing.T) {
	texts, r := []string{long}, rand.New(rand.NewSource(77))
	for range 40 {
		texts = append(texts, randomProduct(r))
	}
	for i, text := range texts {
		f := parse(t, text)
		for _, name := range target.Names() {
			to, err := target.Resolve(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := gpu.Kernel(f, to, nil); err != nil {
				t.Errorf("%d: %v\n%s", i, err, text)
			}
		}
	}
	runText(t, long, "cuda:sm_89", 1)
}
