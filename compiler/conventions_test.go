package compiler_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"ptc/backend/cpu/llvm"
	"ptc/compiler"
	"ptc/runtime/exec"
	engine "ptc/runtime/native"
)

var (
	inf, nan = math.Inf(1), math.NaN()
	negative = math.Copysign(0, -1)
)

// convention is what a function of elements or rows gives at a point: its value,
// and the derivatives by its arguments.
type convention struct {
	args  []float64
	value float64
	grads []float64
}

func at(value float64, args, grads []float64) convention { return convention{args, value, grads} }

func of(x ...float64) []float64 { return x }

// conventions is the table of docs/language.md, "Edge points". Functions of x and
// y are of elements; those of r are of a row of two.
var conventions = []struct {
	expr   string
	points []convention
}{
	{"relu(x)", []convention{at(0, of(0), of(0)), at(0, of(negative), of(0)), at(2, of(2), of(1)), at(0, of(-2), of(0)),
		at(inf, of(inf), of(1)), at(0, of(-inf), of(0)), at(nan, of(nan), of(1)), at(0x1p-149, of(0x1p-149), of(1))}},
	{"max(x, y)", []convention{at(1, of(1, 1), of(.5, .5)), at(0, of(0, negative), of(.5, .5)), at(0, of(negative, 0), of(.5, .5)),
		at(inf, of(inf, inf), of(.5, .5)), at(inf, of(1, inf), of(0, 1)), at(nan, of(nan, inf), of(0, 0)), at(nan, of(inf, nan), of(0, 0)), at(5, of(5, 0), of(1, 0))}},
	{"min(x, y)", []convention{at(1, of(1, 1), of(.5, .5)), at(negative, of(0, negative), of(.5, .5)), at(negative, of(negative, 0), of(.5, .5)),
		at(-inf, of(-inf, -inf), of(.5, .5)), at(1, of(1, inf), of(1, 0)), at(nan, of(nan, -inf), of(0, 0)), at(nan, of(-inf, nan), of(0, 0)), at(0, of(5, 0), of(0, 1))}},
	{"clamp(x, -1, 1)", []convention{at(1, of(1), of(.5)), at(-1, of(-1), of(.5)), at(1, of(2), of(0)), at(-1, of(-inf), of(0)), at(0.5, of(0.5), of(1)), at(nan, of(nan), of(0))}},
	{"abs(x)", []convention{at(0, of(0), of(0)), at(0, of(negative), of(negative)), at(2, of(-2), of(-1)), at(inf, of(-inf), of(-1)), at(nan, of(nan), of(nan))}},
	{"sign(x)", []convention{at(0, of(0), of(0)), at(negative, of(negative), of(0)), at(-1, of(-inf), of(0)), at(nan, of(nan), of(0))}},
	{"floor(x)", []convention{at(0, of(0.5), of(0)), at(-1, of(-0.5), of(0)), at(2, of(2), of(0)), at(-inf, of(-inf), of(0)), at(nan, of(nan), of(0))}},
	{"sqrt(x)", []convention{at(0, of(0), of(inf)), at(inf, of(inf), of(0)), at(nan, of(-1), of(nan))}},
	{"rsqrt(x)", []convention{at(inf, of(0), of(-inf)), at(0, of(inf), of(negative)), at(nan, of(-1), of(nan))}},
	{"log(x)", []convention{at(-inf, of(0), of(inf)), at(inf, of(inf), of(0)), at(nan, of(-1), of(-1))}},
	{"exp(x)", []convention{at(0, of(-inf), of(0)), at(inf, of(inf), of(inf)), at(1, of(negative), of(1))}},
	{"tanh(x)", []convention{at(0, of(0), of(1)), at(negative, of(negative), of(1)), at(1, of(inf), of(0)), at(-1, of(-inf), of(0))}},
	{"erf(x)", []convention{at(0, of(0), of(2/math.SqrtPi)), at(1, of(inf), of(0)), at(-1, of(-inf), of(0))}},
	{"sigmoid(x)", []convention{at(0.5, of(0), of(0.25)), at(1, of(inf), of(0)), at(0, of(-inf), of(0)), at(0, of(-800), of(0))}},
	{"sin(x)", []convention{at(negative, of(negative), of(1)), at(nan, of(inf), of(nan))}},
	{"cos(x)", []convention{at(1, of(0), of(negative)), at(nan, of(-inf), of(nan))}},
	{"silu(x)", []convention{at(0, of(0), of(0.5)), at(inf, of(inf), of(nan)), at(nan, of(-inf), of(nan))}},
	{"gelu(x)", []convention{at(0, of(0), of(0.5)), at(inf, of(inf), of(nan)), at(nan, of(-inf), of(nan))}},
	{"x / y", []convention{at(inf, of(5, 0), of(inf, -inf)), at(nan, of(0, 0), of(inf, nan)), at(0, of(1, inf), of(0, negative)), at(nan, of(inf, inf), of(0, nan))}},
	{"x % y", []convention{at(1, of(1, inf), of(1, negative)), at(1, of(7, 2), of(1, -3)), at(-1, of(-7, 2), of(1, 3)), at(negative, of(-6, 2), of(1, 3)),
		at(nan, of(5, 0), of(1, nan)), at(nan, of(inf, 2), of(1, nan))}},
	{"x ** y", []convention{at(1, of(0, 0), of(0, 0)), at(0, of(0, 1), of(1, 0)), at(0, of(0, 2), of(0, 0)), at(0, of(0, 0.5), of(inf, 0)),
		at(inf, of(0, -1), of(-inf, -inf)), at(-inf, of(negative, -1), of(-inf, inf)), at(1, of(-2, 0), of(0, nan)), at(4, of(-2, 2), of(-4, nan)), at(nan, of(-2, 0.5), of(nan, nan)),
		at(1, of(1, inf), of(inf, 0)), at(1, of(nan, 0), of(0, nan)), at(1, of(inf, 0), of(0, inf)), at(0, of(inf, -1), of(negative, nan))}},
	{"max(r, over = pair)", []convention{at(1, of(1, 1), of(.5, .5)), at(inf, of(inf, 0), of(1, 0)), at(-inf, of(-inf, -inf), of(.5, .5)), at(nan, of(nan, inf), of(nan, nan))}},
	{"softmax(r, over = pair)[pair = 1]", []convention{at(0.5, of(1, 1), of(-.25, .25)), at(1, of(-inf, 0), of(0, 0)), at(nan, of(-inf, -inf), of(nan, nan)), at(nan, of(inf, 0), of(nan, nan))}},
	{"logsumexp(r, over = pair)", []convention{at(math.Ln2, of(0, 0), of(.5, .5)), at(0, of(-inf, 0), of(0, 1)), at(-inf, of(-inf, -inf), of(0, 0)),
		at(inf, of(inf, 0), of(nan, 0)), at(inf, of(-inf, inf), of(0, nan)), at(inf, of(inf, inf), of(nan, nan)), at(nan, of(nan, 0), of(nan, nan)), at(nan, of(nan, inf), of(nan, nan)), at(1e38, of(1e38, 1e38), of(.5, .5))}},
	{"log_softmax(r, over = pair)[pair = 0]", []convention{at(-math.Ln2, of(0, 0), of(.5, -.5)), at(-inf, of(-inf, 0), of(1, -1)), at(0, of(0, -inf), of(0, 0)), at(nan, of(-inf, -inf), of(1, 0))}},
}

// source is a program whose parameters are, for function i, the arguments xi, yi
// or ri, and pi, which its values are multiplied by: the gradient of pi is the
// value, and where pi is 1, those of the arguments are the derivatives.
func source() string {
	var params, terms strings.Builder
	for i, c := range conventions {
		n := len(c.points)
		expr := c.expr
		for _, name := range []string{"x", "y", "r"} {
			if !strings.Contains(" "+strings.NewReplacer("(", " ", ",", " ", ")", " ").Replace(expr)+" ", " "+name+" ") {
				continue
			}
			axes := fmt.Sprintf("n%d = %d", i, n)
			if name == "r" {
				axes += ", pair = 2"
			}
			fmt.Fprintf(&params, "  param %s%d : [%s] ~ ones\n", name, i, axes)
			fmt.Fprintf(&terms, "    %s = %s%d\n", name, name, i)
		}
		fmt.Fprintf(&params, "  param p%d : [n%d = %d] ~ ones\n", i, i, n)
		fmt.Fprintf(&terms, "    loss = loss + sum(p%d * (%s))\n", i, expr)
	}
	return "import std.nn\nimport std.optim\nimport std.data\nconfig { batch = 1  a = 1  pair = 2 }\nmodel M {\n" + params.String() +
		"  fn apply(i: [batch, a]) {\n    loss = sum(i) * 0\n" + terms.String() + "    return loss\n  }\n}\n" +
		"train M {\n  loss = M(x)\n  optimizer = optim.SGD(lr = 0.1)\n  data = data.synthetic(a, a)\n  steps = 1\n}\nlayout single { }\n"
}

// TestConventions: what functions and their derivatives are at edge points, on
// the reference and natively.
func TestConventions(t *testing.T) {
	targets := []string{"ref:f64", "ref"}
	if _, err := llvm.Load(); err == nil {
		targets = append(targets, "cpu", "cpu:x86-64-v2")
	} else if os.Getenv(llvm.EnvLLVM) != "none" {
		t.Fatal(err)
	}
	for _, target := range targets {
		t.Run(target, func(t *testing.T) { testConventions(t, target) })
	}
}

func testConventions(t *testing.T, target string) {
	p, _, err := compiler.Compile(compiler.Options{File: "edges.ptl", Source: []byte(source()), Target: target})
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Supported(p.Features); err != nil {
		t.Skipf("this processor cannot run %s: %v", target, err)
	}
	m, err := exec.Open(p, exec.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Initialize(1); err != nil {
		t.Fatal(err)
	}
	write := func(path string, x []float64) {
		if err := m.WriteBytes(path, encode(x, target == "ref:f64")); err != nil {
			t.Fatal(err)
		}
	}
	grads := map[string][]float64{}
	for i, c := range conventions {
		var args [2][]float64
		for _, q := range c.points {
			for k, v := range q.args {
				args[k] = append(args[k], v)
			}
		}
		if _, ok := m.Tensor(fmt.Sprint("r", i)); ok {
			var rows []float64
			for k := range args[0] {
				rows = append(rows, args[0][k], args[1][k])
			}
			write(fmt.Sprint("r", i), rows)
			continue
		}
		for k, name := range []string{"x", "y"} {
			if len(args[k]) > 0 {
				write(fmt.Sprint(name, i), args[k])
			}
		}
	}
	m.SetStep(1)
	step := m.Program("step")
	for _, f := range step.Fields() {
		if err := step.Feed(f.Name, encode([]float64{1}, false)); err != nil {
			t.Fatal(err)
		}
	}
	if err := step.RunWithGradients(func(g exec.Tensor, s exec.Slice) error {
		grads[g.Path] = decode(s.Bytes, target == "ref:f64")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for i, c := range conventions {
		for k, q := range c.points {
			check := func(what string, got, want float64) {
				if !(math.Abs(got-want) <= 1e-6*math.Abs(want)) && got != want && !(got != got && want != want) ||
					want == 0 && what == "value" && math.Signbit(got) != math.Signbit(want) {
					t.Errorf("%s at %v: %s %v, want %v", c.expr, q.args, what, got, want)
				}
			}
			check("value", grads[fmt.Sprint("p", i)][k], q.value)
			for n, want := range q.grads {
				if r := grads[fmt.Sprint("r", i)]; r != nil {
					check(fmt.Sprint("derivative ", n), r[2*k+n], want)
					continue
				}
				check(fmt.Sprint("derivative ", n), grads[fmt.Sprint("xy"[n:n+1], i)][k], want)
			}
		}
	}
}

func encode(x []float64, wide bool) (raw []byte) {
	for _, v := range x {
		if wide {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
		} else {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(v)))
		}
	}
	return raw
}

func decode(raw []byte, wide bool) []float64 {
	if wide {
		return float64s(raw)
	}
	var out []float64
	for ; len(raw) > 0; raw = raw[4:] {
		out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
	}
	return out
}
