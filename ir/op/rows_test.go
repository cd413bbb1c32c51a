package op_test

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// Tests derived from the rows: each runs for every operation there is.

// cases calls f with n random examples of every row for which keep holds. The
// seeds are fixed, so a failure repeats.
func cases(t *testing.T, n int, keep func(d *op.Def) bool, f func(t *testing.T, d *op.Def, e op.Example)) {
	for _, d := range op.All() {
		if !keep(d) {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			for i := 0; i < n && !t.Failed(); i++ {
				r := rand.New(rand.NewSource(int64(i)))
				e := d.Sample(r)
				f(t, d, e)
				if t.Failed() {
					t.Logf("sample %d: %s%s", i, describe(e), e.Attrs)
				}
			}
		})
	}
}

func describe(e op.Example) string {
	var s []string
	for _, a := range e.Args {
		s = append(s, a.Type.String())
	}
	return strings.Join(s, ", ")
}

func every(*op.Def) bool { return true }

// alone reports whether an operation can be evaluated by itself on one device.
func alone(d *op.Def) bool {
	return d.Class != op.Symbolic && d.Class != op.Control && d.Class != op.Collective
}

// single is a module whose function f applies the operation to its arguments.
func single(t *testing.T, d *op.Def, e op.Example) (*ir.Module, *ir.Func, *ir.Op) {
	t.Helper()
	f := &ir.Func{Name: "f"}
	m := &ir.Module{Name: "test", Funcs: []*ir.Func{f}}
	b := &op.Builder{F: f}
	var args []*ir.Value
	for i, a := range e.Args {
		args = append(args, f.AddArg(a.Type, ir.RoleData, fmt.Sprint("a", i), nil, b.Pos))
	}
	res, err := b.TryEmit(d.Name, args, e.Attrs)
	if err != nil {
		t.Fatalf("%s: %v (%s%s)", d.Name, err, describe(e), e.Attrs)
	}
	for _, r := range res {
		f.Results = append(f.Results, ir.Result{Value: r, Role: ir.RoleOut})
	}
	return m, f, f.Ops[0]
}

func run(t *testing.T, m *ir.Module, f *ir.Func, args []*tensor.Tensor, opts eval.Options) []*tensor.Tensor {
	t.Helper()
	res, err := eval.Func(m, f, args, opts)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestRowsAreComplete(t *testing.T) {
	for _, d := range op.All() {
		missing := func(what string, absent bool) {
			if absent {
				t.Errorf("row %s lacks %s", d.Name, what)
			}
		}
		missing("Doc, a sentence", !strings.HasSuffix(d.Doc, "."))
		missing("Infer", d.Infer == nil)
		missing("Shard", d.Shard == nil)
		missing("Eval", d.Eval == nil)
		missing("Flops", d.Flops == nil)
		missing("Sample", d.Sample == nil)
		missing("State", d.State == nil && (d.Class == op.Collective || d.Class == op.Placement))
		missing("Word, by which programs ask for it", d.Class == op.Elementwise && d.Word == "")
		missing("an arity", d.MaxArgs >= 0 && d.MaxArgs < d.MinArgs)
		missing("two operands, which it says may be exchanged", d.Traits&(op.Commutes|op.Idempotent) != 0 && d.MaxArgs != 2)
		missing("one operand, of which it says that it comes back", d.Traits&op.Involution != 0 && d.MaxArgs != 1)
		missing("a group, among which it says that it exchanges", d.Traits&(op.Exchanges|op.Reduces|op.Gathers|op.Scatters) != 0 && !d.Takes("over"))
		missing("a class by which it is scheduled", d.Traits&(op.Exchanges|op.Message|op.Copies|op.InPlace|op.Completes) != 0 != (d.Class == op.Collective) && d.Traits&op.Scatters == 0)
		missing("View, without which ByName means nothing", d.Traits&op.ByName != 0 && d.View == nil)
		for _, a := range d.Attrs {
			missing("the kind of attribute "+a.Key, a.Kind == nil)
			// Sizes in attributes are global until they are localized.
			_, sizes := a.Kind.(ir.Sizes)
			missing("Localize for the sizes in "+a.Key, sizes && d.Localize == nil)
		}
	}
	if len(op.All()) < 40 {
		t.Errorf("%d rows; the registry is not filled", len(op.All()))
	}
}

func TestInferredTypeIsEvaluatedType(t *testing.T) {
	cases(t, 100, alone, func(t *testing.T, d *op.Def, e op.Example) {
		m, f, o := single(t, d, e)
		want, err := op.Infer(d.Name, typesOf(e.Args), e.Attrs)
		if err != nil {
			t.Fatal(err)
		}
		before := cloneAll(e.Args)
		for i, r := range run(t, m, f, e.Args, eval.Options{}) {
			if !r.Type.Equal(want[i]) || !r.Type.Equal(o.Results[i].Type) || len(r.Data) != want[i].Elems() {
				t.Errorf("evaluated %s with %d elements, inferred %s", r.Type, len(r.Data), want[i])
			}
			rounded := r.Clone().Round()
			if !same(rounded, r) {
				t.Errorf("the result is not of its dtype")
			}
		}
		for i, a := range e.Args {
			if !same(a, before[i]) {
				t.Errorf("evaluation changed operand %d", i)
			}
		}
		if d.Flops(o) < 0 {
			t.Errorf("negative cost")
		}
	})
}

func TestEvaluationIsRepeatable(t *testing.T) {
	cases(t, 10, alone, func(t *testing.T, d *op.Def, e op.Example) {
		m, f, _ := single(t, d, e)
		a, b := run(t, m, f, e.Args, eval.Options{}), run(t, m, f, e.Args, eval.Options{})
		for i := range a {
			if !same(a[i], b[i]) {
				t.Errorf("two evaluations differ")
			}
		}
	})
}

func TestAttributesRoundTrip(t *testing.T) {
	cases(t, 30, every, func(t *testing.T, d *op.Def, e op.Example) {
		if d.Class == op.Control {
			return // its types are a function's; the parser's own tests hold it
		}
		m, _, o := single(t, d, e)
		m.Level = ir.Local
		m.Mesh = []ir.MeshAxis{{Name: "d", Size: 2}}
		text := ir.Print(m)
		back, errs := ir.Parse("test.ptir", []byte(text))
		if len(errs) > 0 {
			t.Fatalf("%v\n%s", errs, text)
		}
		if again := ir.Print(back); again != text {
			t.Errorf("printed\n%s\nparsed and printed\n%s", text, again)
		}
		got := back.Funcs[0].Ops[0]
		if got.Attrs.String() != o.Attrs.String() {
			t.Errorf("attributes %s came back as %s", o.Attrs, got.Attrs)
		}
		if _, err := d.Check(typesOf(e.Args), got.Attrs); err != nil {
			t.Errorf("the row refuses its parsed attributes: %v", err)
		}
	})
}

func TestAttributesAreChecked(t *testing.T) {
	cases(t, 1, every, func(t *testing.T, d *op.Def, e op.Example) {
		types := typesOf(e.Args)
		check := func(what string, attrs ir.Attrs, args []ir.Type) {
			_, err := d.Check(args, attrs)
			if _, ok := err.(*op.ShapeError); !ok {
				t.Errorf("%s: %v is not a ShapeError", what, err)
			}
		}
		check("unknown attribute", e.Attrs.With("colour", ir.Int(1)), types)
		for _, a := range d.Attrs {
			if a.Required {
				check("without "+a.Key, e.Attrs.With(a.Key, nil), types)
			}
			check("wrong kind of "+a.Key, e.Attrs.With(a.Key, ir.Terms{}), types)
		}
		if d.MaxArgs >= 0 {
			check("too many operands", e.Attrs, append(types[:len(types):len(types)], make([]ir.Type, d.MaxArgs+1)...))
		}
		if d.MinArgs > 0 {
			check("too few operands", e.Attrs, nil)
		}
	})
}

func typesOf(ts []*tensor.Tensor) []ir.Type {
	var out []ir.Type
	for _, x := range ts {
		out = append(out, x.Type)
	}
	return out
}

func cloneAll(ts []*tensor.Tensor) []*tensor.Tensor {
	var out []*tensor.Tensor
	for _, x := range ts {
		out = append(out, x.Clone())
	}
	return out
}

// same compares exactly; NaN is NaN.
func same(a, b *tensor.Tensor) bool {
	if !a.Type.Equal(b.Type) || len(a.Data) != len(b.Data) {
		return false
	}
	for i, x := range a.Data {
		if y := b.Data[i]; x != y && (x == x || y == y) {
			return false
		}
	}
	return true
}
