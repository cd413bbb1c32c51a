package lower

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ptc/backend/cpu/emit"
	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
)

// writing is the text of a kernel while it is written.
type writing struct {
	r          *rand.Rand
	args, body strings.Builder
	results    strings.Builder
	next       int
}

func (w *writing) value(to *strings.Builder, format string, args ...any) string {
	w.next++
	name := fmt.Sprintf("%%%d", w.next)
	fmt.Fprintf(to, "  "+format+"\n", append([]any{name}, args...)...)
	return name
}

func (w *writing) arg(typ string) string { return w.value(&w.args, "arg %s : %s in", typ) }
func (w *writing) op(typ, format string, args ...any) string {
	return w.value(&w.body, "%s : %s = %s", typ, fmt.Sprintf(format, args...))
}

// product writes a random product whose sum can be cut in n parts: operands in any order of
// axes, work before and behind, some of it on what it is added to.
func (w *writing) product(n int) {
	r := w.r
	sizes := map[string]int{"m": 1 + r.Intn(20), "n": 1 + r.Intn(40), "k": n * (1 + r.Intn(12)), "b": 1 + r.Intn(3), "j": 1 + r.Intn(4)}
	left, right, out, over := []string{"m", "k"}, []string{"k", "n"}, []string{"m", "n"}, []string{"k"}
	if r.Intn(3) == 0 {
		left, right, out = append(left, "b"), append(right, "b"), append(out, "b")
	}
	if r.Intn(3) == 0 {
		left, right, over = append(left, "j"), append(right, "j"), append(over, "j")
	}
	for _, axes := range [][]string{left, right, out} {
		r.Shuffle(len(axes), func(i, j int) { axes[i], axes[j] = axes[j], axes[i] })
	}
	d := []string{"f32", "bf16"}[r.Intn(2)]
	typ := func(d string, axes ...string) string {
		var all []string
		for _, a := range axes {
			all = append(all, fmt.Sprintf("%s=%d", a, sizes[a]))
		}
		return d + "[" + strings.Join(all, ", ") + "]"
	}
	x, y := w.arg(typ("f32", left...)), ""
	switch r.Intn(3) {
	case 0:
		v := w.arg(typ("f32", left[r.Intn(len(left))]))
		x = w.op(typ("f32", left...), "sub %s, %s", x, v)
	case 1:
		x = w.op(typ("f32", left...), "tanh %s", x)
	}
	if d == "bf16" {
		x = w.op(typ(d, left...), "cast %s to=bf16", x)
	}
	y = w.arg(typ(d, right...))
	sum := d
	attrs := fmt.Sprintf("out=(%s) over=(%s)", strings.Join(out, ", "), strings.Join(over, ", "))
	if d == "bf16" && r.Intn(2) == 0 {
		sum, attrs = "f32", attrs+" to=f32"
	}
	z := w.op(typ(sum, out...), "dot %s, %s %s", x, y, attrs)
	if r.Intn(2) == 0 {
		z = w.op(typ(sum, out...), "add %s, %s", z, w.arg(typ(sum, "n")))
	}
	if r.Intn(2) == 0 {
		fmt.Fprintf(&w.results, "  result %s out\n", z)
		z = w.op(typ(sum, out...), "tanh %s", z)
	}
	if r.Intn(2) == 0 {
		z = w.op(typ(sum, out...), "add %s, %s", w.arg(typ(sum, out...)), z)
	}
	fmt.Fprintf(&w.results, "  result %s out\n", z)
}

func (w *writing) kernel(kind string) string {
	return fmt.Sprintf("func @k class=kernel kind=%s\n%s%s%send\n", kind, &w.args, &w.body, &w.results)
}

// inRandomParts is a kernel of one or two products, and schedules that cut the first, or
// both.
func inRandomParts(t *testing.T, r *rand.Rand) (*ir.Func, *schedule.Table) {
	t.Helper()
	w := &writing{r: r}
	n := 2 + r.Intn(3)
	kind := "gemm"
	if w.product(n); r.Intn(3) == 0 {
		kind = "horizontal"
		w.product(n)
	}
	f := parse(t, w.kernel(kind))
	k, err := fusion.Analyze(f)
	if err != nil {
		t.Fatal(err)
	}
	given := schedule.NewTable("")
	for i, s := range k.Apart() {
		if i == 0 || r.Intn(2) == 0 {
			given.Set(fusion.Key(s.F), schedule.Schedule{Split: int64(n)}, "")
		}
	}
	return f, given
}

// partly are f's launches, of which there are two.
func partly(t *testing.T, f *ir.Func, m kernel.Machine, given *schedule.Table) ([]Launch, []int64) {
	t.Helper()
	list, between, err := Launches("k", f, m, given)
	if err != nil {
		t.Fatalf("%v\n%s", err, ir.PrintFunc(f))
	}
	if len(list) != 2 || len(between) == 0 {
		t.Fatalf("found %d launches; expected two, of the parts and of their sum\n%s", len(list), ir.PrintFunc(f))
	}
	return list, between
}

// all are the buffers of f and of the memory between its launches, which nobody wrote.
func all(f *ir.Func, args []*tensor.Tensor, between []int64) (bufs, outs [][]byte) {
	bufs, outs = buffers(f, args)
	for _, n := range between {
		bufs = append(bufs, bytes.Repeat([]byte{0xff}, int(n)))
	}
	return bufs, outs
}

func named(bufs [][]byte, numbers []int) (out [][]byte) {
	for _, n := range numbers {
		out = append(out, bufs[n])
	}
	return out
}

func checkResults(t *testing.T, f *ir.Func, outs [][]byte, want []*tensor.Tensor, where string) {
	t.Helper()
	for i, w := range want {
		got := tensor.New(w.Type)
		got.Get(outs[i])
		if at, d := irtest.Worst(got, w); !(d < tolerance(w.Type.DType)) {
			t.Fatalf("%s: result %d differs at %d by %g\n%s", where, i, at, d, ir.PrintFunc(f))
		}
	}
}

// TestParts interprets random products in parts, in place of what they are added to as
// well, and compares with the evaluator.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewSource(11))
	inPlace := 0
	for range 50 {
		f, given := inRandomParts(t, r)
		args := irtest.Arguments(f, 5)
		want, err := eval.Func(&ir.Module{Funcs: []*ir.Func{f}}, f, args, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := machines[r.Intn(len(machines))]
		list, between := partly(t, f, m, given)
		over := [][2]int{{-1, -1}}
		whole, err := fusion.Analyze(f)
		if err != nil {
			t.Fatal(err)
		}
		for a := range f.Args {
			for i := range f.Results {
				if whole.InPlace(a, i) {
					over = append(over, [2]int{a, i})
					inPlace++
				}
			}
		}
		for _, o := range over {
			bufs, outs := all(f, args, between)
			if o[0] >= 0 {
				bufs[len(args)+o[1]], outs[o[1]] = bufs[o[0]], bufs[o[0]]
			}
			for _, l := range list {
				if err := kerneltest.Interpret(l.Kernel, named(bufs, l.Bufs), 0, l.Tasks); err != nil {
					t.Fatalf("%v\n%s\n%s", err, ir.PrintFunc(f), l.Kernel)
				}
			}
			checkResults(t, f, outs, want, fmt.Sprintf("in place %v", o))
		}
	}
	if inPlace < 5 {
		t.Errorf("found %d results in place of an argument; expected 5 or more", inPlace)
	}
}

// TestPartsOfThreads runs products in parts as native code: teams of one, two and three
// threads give the same bytes, which are what the evaluator says.
func TestPartsOfThreads(t *testing.T) {
	tgt := resolve(t, "cpu")
	r := rand.New(rand.NewSource(12))
	for i := range 8 {
		f, given := inRandomParts(t, r)
		args := irtest.Arguments(f, 5)
		want, err := eval.Func(&ir.Module{Funcs: []*ir.Func{f}}, f, args, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list, between := partly(t, f, emit.Machine(tgt), given)
		img := loaded(t, tgt, list)
		var first [][]byte
		for threads := 1; threads <= 3; threads++ {
			bufs, _ := all(f, args, between)
			replay(t, img, list, bufs, threads)
			outs := bufs[len(args) : len(args)+len(want)]
			if checkResults(t, f, outs, want, fmt.Sprintf("%d threads", threads)); first == nil {
				first = outs
			}
			if !slices.EqualFunc(first, outs, bytes.Equal) {
				t.Fatalf("kernel %d: %d threads give other bytes than one\n%s", i, threads, ir.PrintFunc(f))
			}
		}
		img.Close()
	}
}
