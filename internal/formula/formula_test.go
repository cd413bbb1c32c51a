package formula

import (
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTextIsRead(t *testing.T) {
	values := func(name string) (float64, bool) {
		v, ok := map[string]float64{"lr": 3e-4, "beta1": 0.9, "warmup": 60, "zero": 0}[name]
		return v, ok
	}
	lr, beta1 := 3e-4, 0.9 // variables, since the arithmetic of Go's constants is exact
	for _, c := range []struct {
		text, back string
		want       float64
	}{
		{"lr", "lr", 3e-4},
		{"1-beta1", "1 - beta1", 1 - beta1},
		{"lr / 10", "lr / 10", lr / 10},
		{"max(warmup, 1)", "max(warmup, 1)", 60},
		{"1 - (2 - 3)", "1 - (2 - 3)", 2},
		{"1 - 2 - 3", "1 - 2 - 3", -4},
		{"2 * (1 + lr)", "2 * (1 + lr)", 2 * (1 + 3e-4)},
		{"-lr ** 2", "-lr ** 2", -math.Pow(3e-4, 2)},
		{"(-2) ** 2", "(-2) ** 2", 4},
		{"(2 ** 3) ** 2", "(2 ** 3) ** 2", 64},
		{"warmup != 0", "warmup != 0", 1},
		{"(1 < 2) == (2 < 1)", "(1 < 2) == (2 < 1)", 0},
		{"warmup % 7", "warmup % 7", 4},
		{"-(-(1))", "-(-1)", 1},
		{"sqrt(exp(0) + .5e1) - 1e+2", "sqrt(exp(0) + 5) - 100", math.Sqrt(6) - 100},
	} {
		x, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := x.Eval(values); got != c.want || x.String() != c.back {
			t.Errorf("%s is %s, %v; expected %s, %v", c.text, x, got, c.back, c.want)
		}
	}
	x, err := Parse("a + none * a")
	if err != nil || !math.IsNaN(x.Eval(values)) {
		t.Errorf("a name without a value: %v", err)
	}
	if diff := cmp.Diff([]string{"a", "none"}, x.Names()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoArithmetic(t *testing.T) {
	for text, say := range map[string]string{
		"": "missing at its end", "1 +": "missing at its end", "(1": "`)` is missing", "1)": "after the expression", "f(1)": "no function `f`",
		"max(1)": "takes 2", "exp(1, 2)": "`)` is missing", "1..2": "no number", "1 < 2 < 3": "after the expression", "2 ** 3 ** 4": "after the expression",
		"é": "where a number", "neg(1)": "no function", "1e999": "no number", strings.Repeat("(", 100) + "1": "more than 64",
		strings.Repeat("-", 100) + "1": "more than 64", strings.Repeat("1+", 300) + "1": "more than 256", strings.Repeat("1", MaxText+1): "bytes",
	} {
		if x, err := Parse(text); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%.20s is %v, %v; expected %s", text, x, err, say)
		}
	}
	if Number(math.Inf(1)) != nil || Number(math.NaN()) != nil || Apply("+", Number(1), nil) != nil || Apply("f", Number(1)) != nil || Apply("+", Number(1)) != nil {
		t.Error("an expression of nothing")
	}
}

// random is an expression of some depth.
func random(r *rand.Rand, depth int) *Expr {
	if depth == 0 || r.Intn(4) == 0 {
		if r.Intn(2) == 0 {
			return Name(string(rune('a' + r.Intn(3))))
		}
		return Number(r.NormFloat64())
	}
	ops := []string{"+", "-", "*", "/", "%", "**", "<", "==", Neg, "max", "exp"}
	op := ops[r.Intn(len(ops))]
	args := make([]*Expr, arity(op))
	for i := range args {
		args[i] = random(r, depth-1)
	}
	return Apply(op, args...)
}

// What is written is read as the same expression.
func TestRandomExpressions(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	value := func(name string) (float64, bool) { return float64(name[0]) / 7, true }
	for range 2000 {
		x := random(r, 5)
		y, err := Parse(x.String())
		if err != nil {
			t.Fatalf("%s: %v", x, err)
		}
		if a, b := x.Eval(value), y.Eval(value); math.Float64bits(a) != math.Float64bits(b) && !(math.IsNaN(a) && math.IsNaN(b)) || x.String() != y.String() {
			t.Fatalf("%s is read as %s: %v and %v", x, y, a, b)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1 - beta1", "max(warmup, 1) ** -lr", "((1", "-(-(x % 2e-3)) <= .5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := Parse(text)
		if err != nil {
			return
		}
		y, err := Parse(x.String())
		if err != nil || x.String() != y.String() {
			t.Errorf("%q is %s, and that %v, %v", text, x, y, err)
		}
	})
}
