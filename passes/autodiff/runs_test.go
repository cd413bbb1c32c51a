package autodiff

import (
	"fmt"
	"math/rand"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
	"ptc/ir/verify"
	"ptc/passes/pass"
)

// TestRandomRuns differentiates random functions whose instances read parameters of
// their own, values of outside, of the instance before and of their own first run,
// and compares with central differences of what they are, written out.
func TestRandomRuns(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for i := range 200 {
		m := randomRuns(r)
		if errs := verify.Module(m); len(errs) > 0 {
			t.Fatalf("%d: %v\n%s", i, errs, ir.Print(m))
		}
		text := ir.Print(m)
		if again, errs := ir.Parse("runs", []byte(text)); len(errs) > 0 || ir.Print(again) != text {
			t.Fatalf("%d: does not read back: %v\n%s", i, errs, text)
		}
		plain := m.Unrolled()
		var args []*tensor.Tensor
		for _, a := range plain.Funcs[0].Args {
			x := tensor.New(a.Value.Type)
			for k := range x.Data {
				x.Data[k] = 0.2 + r.Float64()
			}
			args = append(args, x)
		}
		sameGradients(t, fmt.Sprint(i, " written out"), plain, args)
		if err := Run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
		if errs := verify.Module(m); len(errs) > 0 {
			t.Fatalf("%d: %v\n%s\n%s", i, errs, text, ir.Print(m))
		}
		compare(t, fmt.Sprint(i), plain, m.Unrolled(), args)
		if t.Failed() {
			t.Fatal(text)
		}
	}
}

var row = ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "a", Size: 2}}}

// randomRuns is a loss through one or two runs of a stack.
func randomRuns(r *rand.Rand) *ir.Module {
	f := &ir.Func{Name: "step", Class: ir.Entry}
	b := &op.Builder{F: f}
	s := &ir.Stack{Name: "blocks", Count: 1 + r.Intn(4)}
	f.Stacks = []*ir.Stack{s}
	x := f.AddArg(row.Clone(), ir.RoleParam, "x", nil, diag.Pos{})
	y := f.AddArg(row.Clone(), ir.RoleParam, "y", nil, diag.Pos{})
	outside := []*ir.Value{x, y, b.Mul(x, y)}
	wanted, own := []*ir.Value{x, y}, []*ir.Value(nil)
	for k := range 1 + r.Intn(2) {
		w := f.AddArg(row.Clone(), ir.RoleParam, fmt.Sprintf("blocks.{i}.w%d", k), nil, diag.Pos{})
		w.Each = s
		wanted, own = append(wanted, w), append(own, w)
	}
	loss := b.Sum(x, "a")
	for range 1 + r.Intn(2) {
		left := randomRun(r, b, s, outside, &own)
		for _, v := range left {
			if r.Intn(3) > 0 { // what nothing reads is carried all the same
				loss = b.Add(loss, b.Sum(v, "a"))
			}
		}
		outside = append(outside, left...)
	}
	grads, err := b.TryEmit(op.Grad, append([]*ir.Value{loss}, wanted...), nil)
	if err != nil {
		panic(err)
	}
	f.Results = []ir.Result{{Value: loss, Role: ir.RoleLoss}}
	for i, g := range grads {
		g.Each = wanted[i].Each
		f.Results = append(f.Results, ir.Result{Value: g, Role: ir.RoleGrad, Path: f.Args[i].Path})
	}
	return &ir.Module{Name: "sample", Funcs: []*ir.Func{f}}
}

// randomRun emits a run and gives what leaves it; own are the instances' values.
func randomRun(r *rand.Rand, b *op.Builder, s *ir.Stack, outside []*ir.Value, own *[]*ir.Value) []*ir.Value {
	b.Slot.Run = &ir.Run{Stack: s, Down: r.Intn(2) == 0}
	pick := func(vs []*ir.Value) *ir.Value { return vs[r.Intn(len(vs))] }
	var entered []*ir.Value
	for range 1 + r.Intn(3) {
		entered = append(entered, b.Emit(op.Enter, nil, pick(outside)))
	}
	here := append(append([]*ir.Value(nil), entered...), *own...)
	for range 2 + r.Intn(5) {
		u, v := pick(here), pick(append(here, outside...))
		switch r.Intn(3) {
		case 0:
			u = b.Add(b.Scale(u, 0.5), v)
		case 1:
			u = b.Mul(u, v)
		case 2:
			u = b.Emit(op.Tanh, nil, u)
		}
		here = append(here, u)
	}
	var out []*ir.Value
	for _, e := range entered {
		out = append(out, b.Emit(op.Leave, nil, e, pick(append(here, pick(outside)))))
	}
	*own = append(*own, here[len(entered)+len(*own):]...)
	b.Slot.Run = nil
	return out
}
