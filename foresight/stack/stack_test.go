package stack

import (
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
)

// TestEmbedded: every stack that ptc brings along loads under its own name.
func TestEmbedded(t *testing.T) {
	if len(Names()) == 0 {
		t.Fatal("there are no stacks")
	}
	for _, name := range Names() {
		if s, err := Named(name); err != nil || s.Name != name || s.Title == "" {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// TestMistakes: what is wrong with a file is an error that says it.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		``:                              "cannot be read",
		`{"name": "s"} {}`:              "goes on",
		`{"name": ""}`:                  "no name",
		`{"name": "s", "kernel": []}`:   "unknown field",
		`{"name": "s", "products": {}}`: "no source",
		`{"name": "s", "scalar": {"value": 100, "from": "x"}}`:            "expected 0.1 to 10",
		`{"name": "s", "scalar": {"value": -1, "from": "x"}}`:             "expected 0.1 to 10",
		`{"name": "s", "scalar": {"value": 1e999, "from": "x"}}`:          "cannot be read",
		`{"name": "s", "kernels": [` + strings.Repeat("[],", 64) + `[]]}`: "at most 64",
		strings.Repeat(" ", MaxBytes+1):                                   "at most",
	} {
		if _, err := Load([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, expected %q", text, err, want)
		}
	}
	if _, err := Named("megatron_2020"); err == nil || !strings.Contains(err.Error(), "megatron_2021") {
		t.Errorf("an unknown stack: %v", err)
	}
}

// TestJoin: one expression is a kernel, declarations and operations of one list are, products take nothing but a scale, and casts
// go with anything.
func TestJoin(t *testing.T) {
	s := &Stack{Kernels: [][]string{{"LayerNorm"}, {"Dropout", "add"}}}
	join := s.Join()
	norm := declared()["std/nn.ptl"]
	line := 0
	for _, d := range norm {
		if d.name == "LayerNorm" {
			line = d.from + 5
		}
	}
	f := new(ir.Func)
	x := f.NewValue(ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "a", Size: 4}, {Name: "b", Size: 4}}}, nil)
	scalar := f.NewValue(ir.Type{DType: ir.F32}, nil)
	op := func(name, file string, line, col int, args ...*ir.Value) *ir.Op {
		o := f.NewOp(name, args, nil, x.Type)
		o.Pos = diag.Pos{File: file, Line: line, Col: col}
		return o
	}
	sub, mul := op("sub", "std/nn.ptl", line, 3, x, x), op("mul", "std/nn.ptl", line+1, 9, x, x)
	add, here, there := op("add", "m.ptl", 1, 1, x, x), op("exp", "m.ptl", 2, 1, x), op("neg", "m.ptl", 2, 1, x)
	far := op("neg", "m.ptl", 3, 1, x)
	dot, scale := op("dot", "m.ptl", 4, 1, x, x), op("mul", "m.ptl", 5, 1, x, scalar)
	cast := op("cast", "m.ptl", 6, 1, dot.Result())
	for _, c := range []struct {
		what string
		a, b *ir.Op
		want bool
	}{
		{"two lines of LayerNorm", sub, mul, true},
		{"LayerNorm and an addition", mul, add, false},
		{"one expression", here, there, true},
		{"two expressions", here, far, false},
		{"two additions", add, op("add", "m.ptl", 9, 9, x, x), true},
		{"a product and what follows", dot, add, false},
		{"a product and a scale", dot, scale, true},
		{"what is before a product", add, dot, false},
		{"a cast", far, cast, true},
		{"what reads a product through a cast", cast, add, false},
		{"a scale through a cast", cast, scale, true},
	} {
		if got := join(c.a, c.b); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

// TestOddSoftmax: a kernel of softmax for multiples of 4 matrices takes 2 sequences of 2 heads, and neither 2 of 1 head nor 3 of 2 heads.
func TestOddSoftmax(t *testing.T) {
	s := &Stack{Matrices: &Number{Value: 4}}
	for _, x := range []struct {
		batch, heads int
		want         bool
	}{{2, 2, false}, {2, 1, true}, {3, 2, true}, {8, 1, false}} {
		f := &ir.Func{}
		scores := f.NewValue(ir.Type{DType: ir.F32, Axes: []ir.Axis{
			{Name: "batch", Size: x.batch}, {Name: "seq", Size: 1024}, {Name: "heads", Size: x.heads}, {Name: "kseq", Size: 1024},
		}}, nil)
		o := f.NewOp("exp", []*ir.Value{scores}, nil, scores.Type)
		if got := s.oddSoftmax(o); got != x.want {
			t.Errorf("%d sequences of %d heads: %v", x.batch, x.heads, got)
		}
		if (&Stack{}).oddSoftmax(o) {
			t.Error("a stack that says nothing takes several kernels")
		}
	}
}

// FuzzLoad: no file makes the reader panic, and what it accepts has sources.
func FuzzLoad(f *testing.F) {
	for _, name := range Names() {
		text, err := files.ReadFile("stacks/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := Load(text); err == nil && (s.Name == "" || s.Scalar != nil && s.Scalar.Source == "") {
			t.Errorf("accepted %+v", s)
		}
	})
}
