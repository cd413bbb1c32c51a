package fuse

import (
	"math/rand"
	"testing"

	"ptc/internal/golden"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/tensor"
	"ptc/ir/verify"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// The archives show what becomes one kernel and what does not. Each is
// executed before and after.
func TestGolden(t *testing.T) { passtest.Golden(t, "testdata/*.txtar", Run, nil) }

// The same for modules of several devices.
func TestGoldenDevices(t *testing.T) {
	golden.Run(t, "testdata/devices/*.txtar", func(t *testing.T, c *golden.Case) {
		m := passtest.Parse(t, c.Input("before.ptir"))
		before := m.Clone()
		if err := Run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
		c.Output("after.ptir", ir.Print(m))
		if errs := verify.Module(m); len(errs) > 0 {
			t.Fatal(errs)
		}
		sameOnDevices(t, before, m)
	})
}

// sameOnDevices executes the first function of both modules on every device
// of their mesh.
func sameOnDevices(t *testing.T, before, after *ir.Module) {
	t.Helper()
	r := rand.New(rand.NewSource(1))
	var global []*tensor.Tensor
	for _, a := range before.Funcs[0].Args {
		whole := a.Value.Type.Clone()
		for i, x := range whole.Axes {
			for _, name := range x.Mesh {
				whole.Axes[i].Size *= before.MeshSize(name)
			}
			whole.Axes[i].Mesh = nil
		}
		x := tensor.New(whole)
		for i := range x.Data {
			x.Data[i] = r.NormFloat64()
		}
		global = append(global, x)
	}
	run := func(m *ir.Module) [][]*tensor.Tensor {
		f := m.Funcs[0]
		args := global
		if len(f.Args) > len(global) { // the evaluator knows each device's coordinates
			args = append(args[:len(args):len(args)], tensor.New(f.Args[len(global)].Value.Type))
		}
		parts, err := eval.ShardArgs(m, f, args)
		if err != nil {
			t.Fatal(err)
		}
		out, err := eval.Devices(m, f, parts, eval.Options{Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	x, y := run(before), run(after)
	for d := range x {
		if diff, at := eval.Worst(x[d], y[d]); diff > 1e-12 {
			t.Errorf("device %d: result %d differs by %g", d, at, diff)
		}
	}
}
