package compiler

import (
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
	"ptc/passes/decode"
)

// text is what a model is fed in tests, and what it gives.
type text struct {
	m             *ir.Module
	d             *decode.Derived
	by            map[string]*tensor.Tensor // parameters
	tokens, all   *tensor.Tensor            // of all positions, and their logits
	axis          string
	batch, length int
	most          float64 // the largest logit
}

func newText(t *testing.T, m *ir.Module, d *decode.Derived, vocab int) *text {
	t.Helper()
	full := m.Funcs[0]
	arg := full.Args[len(full.Args)-1]
	x := &text{m: m, d: d, axis: d.Axis, batch: arg.Value.Type.Axes[0].Size, length: d.Length}
	x.by = numbers(rand.New(rand.NewSource(7)), full, vocab, map[string]*tensor.Tensor{})
	out, err := run(m, full, x.by)
	if err != nil {
		t.Fatal(err)
	}
	x.tokens, x.all = x.by[arg.Path], out[0]
	delete(x.by, arg.Path)
	for _, y := range x.all.Data {
		x.most = max(x.most, math.Abs(y))
	}
	return x
}

// begin are parameters, and caches that nothing is in.
func (x *text) begin() map[string]*tensor.Tensor {
	by := map[string]*tensor.Tensor{decode.Position: tensor.New(ir.Scalar(ir.I32))}
	for k, v := range x.by {
		by[k] = v
	}
	for _, a := range x.d.Func.Args {
		if a.Role == ir.RoleState {
			by[a.Path] = tensor.New(a.Value.Type)
		}
	}
	return by
}

// step runs a function from position at on, with n tokens of each sequence; those behind
// known are others.
func (x *text) step(t *testing.T, f *ir.Func, by map[string]*tensor.Tensor, at, n, known int) {
	t.Helper()
	by[decode.Position].Data[0] = float64(at)
	var fed *tensor.Tensor
	for _, a := range f.Args {
		if a.Role == ir.RoleData && a.Path != decode.Position {
			fed = tensor.New(a.Value.Type)
			by[a.Path] = fed
		}
	}
	for b := range x.batch {
		for i := range n {
			if fed.Data[b*n+i] = 3; at+i < known {
				fed.Data[b*n+i] = x.tokens.Data[b*x.length+at+i]
			}
		}
	}
	got, err := run(x.m, f, by)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range f.Results {
		by[r.Path] = got[i]
	}
}

// off is by how much the logits of a position are not those of all positions.
func (x *text) off(by map[string]*tensor.Tensor, at int) (worst float64) {
	logits := by[decode.Logits]
	want := x.all.Reordered(ir.Type{DType: x.all.Type.DType, Axes: append([]ir.Axis{{Name: x.axis, Size: x.length}}, logits.Type.Axes...)})
	for i, y := range logits.Data {
		if d := math.Abs(y - want.Data[at*len(logits.Data)+i]); !(d <= worst) {
			worst = d
		}
	}
	return worst / x.most
}

// rows are those of a cache that are before a position.
func rows(c *tensor.Tensor, axis string, before int) []float64 {
	first := ir.Type{DType: c.Type.DType, Axes: []ir.Axis{{Name: axis, Size: c.Type.Size(axis)}}}
	first.Axes = append(first.Axes, c.Type.Drop(axis).Axes...)
	return c.Reordered(first).Data[:before*len(c.Data)/c.Type.Size(axis)]
}

// axisOf is the axis of positions of a cache, by its path.
func axisOf(t *testing.T, a *ir.Arg) string {
	t.Helper()
	end := a.Path[strings.LastIndexByte(a.Path, '/')+1:]
	for _, n := range a.Value.Type.Names() {
		if strings.HasPrefix(end, n) {
			return n
		}
	}
	t.Fatalf("no axis of %s is named by its path", a.Path)
	return ""
}

// prefilled is by how much what comes of a prompt by blocks of n positions differs from
// what comes of it token by token, and from the logits of all positions.
func prefilled(t *testing.T, x *text, f *ir.Func, n, prompt int) (worst float64) {
	t.Helper()
	one, by := x.begin(), x.begin()
	for at := range prompt {
		x.step(t, x.d.Func, one, at, 1, x.length)
	}
	for at := 0; at < prompt; at += n {
		x.step(t, f, by, at, n, prompt)
	}
	for _, a := range f.Args {
		if a.Role != ir.RoleState {
			continue
		}
		if strings.Contains(a.Path, "/"+decode.Taken) {
			if diff := cmp.Diff(one[a.Path].Data, by[a.Path].Data); diff != "" {
				t.Fatalf("%s counts otherwise (-one by one +blocks):\n%s", a.Path, diff)
			}
			continue
		}
		axis := axisOf(t, a)
		want := rows(one[a.Path], axis, prompt)
		for i, y := range rows(by[a.Path], axis, prompt) {
			if d := math.Abs(y - want[i]); !(d <= worst) {
				worst = d
			}
		}
	}
	for at := prompt; at < x.length; at++ {
		x.step(t, x.d.Func, by, at, 1, x.length)
		if d := x.off(by, at); !(d <= worst) {
			worst = d
		}
	}
	return worst
}

// A prompt fills the caches by blocks as it does token by token, also where the last
// block is in part behind the prompt, or behind the last position.
func TestBlocksFillCaches(t *testing.T) {
	derived(t, []string{"gpt", "llama"}, func(t *testing.T, m *ir.Module, d *decode.Derived) {
		x := newText(t, m, d, 16)
		for _, n := range []int{3, 5, d.Length} {
			f, err := d.Block(n)
			if err != nil {
				t.Fatal(err)
			}
			for _, prompt := range []int{1, 4, 6, d.Length - 1} {
				if diff := prefilled(t, x, f, n, prompt); !(diff <= 1e-12) {
					t.Fatalf("a prompt of %d by blocks of %d differs by %.2g\n%s", prompt, n, diff, ir.Print(&ir.Module{Level: ir.Global, Name: "M", Funcs: []*ir.Func{f}}))
				}
			}
		}
	})
}

// Sequences that are at different positions have the logits that they have alone, though
// one is behind the other, or stays where it is.
func TestSequencesApart(t *testing.T) {
	derived(t, []string{"gpt", "llama"}, func(t *testing.T, m *ir.Module, d *decode.Derived) {
		f, err := d.Apart()
		if err != nil {
			t.Fatal(err)
		}
		x := newText(t, m, d, 16)
		by := x.begin()
		by[decode.Position] = tensor.New(ir.Type{DType: ir.I32, Axes: []ir.Axis{{Name: d.Batch, Size: x.batch}}})
		for n := range x.length + 3 {
			for b := range x.batch {
				at := min(max(n-3*b, 0), x.length-1)
				by[decode.Position].Data[b] = float64(at)
			}
			if diff := x.apart(t, f, by); !(diff <= 1e-12) {
				t.Fatalf("at %v logits differ by %.2g\n%s", by[decode.Position].Data, diff, ir.Print(&ir.Module{Level: ir.Global, Name: "M", Funcs: []*ir.Func{f}}))
			}
		}
	})
}

// apart runs each sequence at its position, and gives by how much its logits are not those
// of all positions.
func (x *text) apart(t *testing.T, f *ir.Func, by map[string]*tensor.Tensor) (worst float64) {
	t.Helper()
	at := by[decode.Position].Data
	for _, a := range f.Args {
		if a.Role == ir.RoleData && a.Path != decode.Position {
			by[a.Path] = tensor.New(a.Value.Type)
			for b := range x.batch {
				by[a.Path].Data[b] = x.tokens.Data[b*x.length+int(at[b])]
			}
		}
	}
	got, err := run(x.m, f, by)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range f.Results {
		by[r.Path] = got[i]
	}
	logits := by[decode.Logits]
	want := x.all.Reordered(ir.Type{DType: x.all.Type.DType, Axes: append([]ir.Axis{{Name: x.axis, Size: x.length}}, logits.Type.Axes...)})
	vocab := len(logits.Data) / x.batch
	for i, y := range logits.Data {
		if d := math.Abs(y - want.Data[int(at[i/vocab])*len(logits.Data)+i]); !(d <= worst) {
			worst = d
		}
	}
	return worst / x.most
}

// What mixes sequences is at one position for all.
func TestApartRefusesMixtures(t *testing.T) {
	m := sampled(t, "m.ptl", attends("p = softmax(where("+causal+", s, -inf), over = kseq)\n    x = x + broadcast(mean(x, over = batch), as = x)"))
	d, err := decode.Derive(m.Funcs[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Apart(); err == nil || !strings.Contains(err.Error(), "batch") {
		t.Errorf("%v, and sequences are mixed", err)
	}
}

// Mutants of the function of a block are found by the comparison.
func TestBlockMutants(t *testing.T) {
	m := sampled(t, "m.ptl", attends(masks["causal"]))
	d, err := decode.Derive(m.Funcs[0])
	if err != nil {
		t.Fatal(err)
	}
	x := newText(t, m, d, 16)
	first := func(f *ir.Func, name string) *ir.Op {
		i := slices.IndexFunc(f.Ops, func(o *ir.Op) bool { return o.Name == name })
		return f.Ops[i]
	}
	for name, mutate := range map[string]func(f *ir.Func){
		"a row too early": func(f *ir.Func) { first(f, op.Ge).Name = op.Gt },
		"a row too few": func(f *ir.Func) {
			c := first(f, op.Lt).Args[1].Def
			c.Attrs = c.Attrs.With("value", ir.Float(2))
		},
		"the wrong rows": func(f *ir.Func) { first(f, op.Sub).Name = op.Add },
	} {
		t.Run(name, func(t *testing.T) {
			f, err := d.Block(3)
			if err != nil {
				t.Fatal(err)
			}
			mutate(f)
			if diff := prefilled(t, x, f, 3, 6); diff <= 1e-12 {
				t.Error("the comparison does not see it")
			}
		})
	}
}

// Experts with a capacity take the tokens of a block at once. They count who is in a slot,
// so that blocks have no padding, and a slot that two tokens of a block share is found.
func TestBlockOfSlots(t *testing.T) {
	source := example(t, "moe")
	m := sampled(t, "moe.ptl", source, sizesIn(source)...)
	d, err := decode.Derive(m.Funcs[0])
	if err != nil {
		t.Fatal(err)
	}
	if !d.Counts() {
		t.Fatal("nothing counts")
	}
	if _, err := d.Apart(); err == nil {
		t.Error("sequences are apart, though slots are counted")
	}
	x := newText(t, m, d, 16)
	for _, c := range [][2]int{{3, 6}, {5, 5}, {4, 8}, {11, 11}} {
		f, err := d.Block(c[0])
		if err != nil {
			t.Fatal(err)
		}
		if diff := prefilled(t, x, f, c[0], c[1]); !(diff <= 1e-12) {
			t.Fatalf("a prompt of %d by blocks of %d differs by %.2g\n%s", c[1], c[0], diff, ir.Print(&ir.Module{Level: ir.Global, Name: "M", Funcs: []*ir.Func{f}}))
		}
	}
	f, err := d.Block(4)
	if err != nil {
		t.Fatal(err)
	}
	by := x.begin()
	for range 2 { // the second time, slots are taken
		x.step(t, f, by, 0, 4, 4)
	}
	if x.step(t, d.Func, by, 4, 1, x.length); !math.IsNaN(x.off(by, 4)) {
		t.Error("tokens share slots, and nothing tells")
	}
}
