package compiler

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"strings"
	"testing"

	"ptc/backend"
	"ptc/backend/assemble"
	"ptc/backend/cpu/llvm"
	"ptc/backend/ref"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
	"ptc/passes"
	"ptc/passes/pass"
	"ptc/passes/passtest"
	"ptc/runtime/device"
	"ptc/runtime/native"
	"ptc/runtime/program"
)

// planOf takes a module of Local to the end for a target.
func planOf(t *testing.T, m *ir.Module, target string) *program.Plan {
	t.Helper()
	to, err := backend.Resolve(target)
	if err != nil {
		t.Fatal(err)
	}
	m = m.Clone()
	if err := passes.Run(&pass.Context{}, m, &passes.Options{Only: []string{"fuse", "memory", "order"}, VerifyEach: true}); err != nil {
		t.Fatal(err)
	}
	p, err := assemble.Plan(m, to)
	if err != nil {
		t.Fatalf("%v\n%s", err, ir.Print(m))
	}
	return p
}

// turned are reductions in rounds and in several orders of axes, which random
// modules seldom have.
func turned() *ir.Module {
	f := &ir.Func{Name: "f", Class: ir.Entry}
	b := op.Builder{F: f}
	x := f.AddArg(ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "a", Size: 13}, {Name: "b", Size: 37}, {Name: "c", Size: 5}}}, ir.RoleData, "x", nil, diag.Pos{})
	for i, order := range []ir.Names{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}, {"c", "a", "b"}} {
		y := b.Emit("transpose", ir.A("order", order), x)
		last := order[2]
		e := b.Emit("exp", nil, b.Sub(y, b.Emit("reduce_max", ir.A("over", ir.Names{last}), y)))
		f.Results = append(f.Results, ir.Result{Value: b.Div(e, b.Sum(e, last)), Role: ir.RoleGrad, Path: string(rune('p' + i))})
	}
	return &ir.Module{Name: "turned", Level: ir.Local, Funcs: []*ir.Func{f}}
}

// larger gives random modules axes with tails, and a dtype that native code has.
var larger = strings.NewReplacer("f64", "f32", "a=2", "a=5", "x=2", "x=5", "b=3", "b=7", "y=3", "y=7", "c=4", "c=18", "v=2", "v=9")

// TestRandomKernels compares the native kernels of random modules with the
// reference, call by call from the same memory.
func TestRandomKernels(t *testing.T) {
	if _, err := llvm.Load(); err != nil {
		if os.Getenv(llvm.EnvLLVM) == "none" {
			t.Skip("PTC_LLVM=none: native code is not made here, ref stands in")
		}
		t.Fatal(err)
	}
	team, err := native.NewTeam(2)
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	compareModule(t, turned(), team)
	for i, random := range []func(*rand.Rand, int) *ir.Module{passtest.RandomModule, passtest.RandomReductions} {
		for seed := int64(1); seed <= 12 && !t.Failed(); seed++ {
			m := random(rand.New(rand.NewSource(seed)), 40)
			m.Level = ir.Local
			compareModule(t, passtest.Parse(t, larger.Replace(ir.Print(m))), team)
			if t.Failed() {
				t.Logf("kind %d, seed %d", i, seed)
			}
		}
	}
}

func compareModule(t *testing.T, m *ir.Module, team *native.Team) {
	t.Helper()
	p, q := planOf(t, m, "cpu"), planOf(t, m, "ref")
	d := &p.Devices[0]
	mem, free, err := native.Alloc(int(d.Arena))
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	arena := make([]byte, d.Arena)
	r := rand.New(rand.NewSource(1))
	for _, x := range d.Ports {
		if x.Role == program.RoleData {
			b := d.Buffers[x.Buffer]
			v := tensor.New(typeOf(b))
			for i := range v.Data {
				v.Data[i] = r.NormFloat64()
			}
			v.Put(arena[b.Offset:])
		}
	}
	oracle, err := ref.Load(device.Request{Plan: q, Device: &q.Devices[0], Threads: 1}, arena)
	if err != nil {
		t.Fatal(err)
	}
	defer oracle.Close()
	var objects [][]byte
	for _, c := range p.Code {
		objects = append(objects, c.Data)
	}
	img, err := native.Load(objects...)
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	run := capture(t, p, d, &d.Progs[0], img, mem)
	defer run.Close()
	for i, in := range d.Progs[0].Instrs {
		copy(mem, arena)
		if err := team.Replay(run, i, i+1); err != nil {
			t.Fatal(err)
		}
		if err := oracle.Replay(0, i, i+1); err != nil {
			t.Fatal(err)
		}
		k := p.Kernels[in.Kernel]
		for j, b := range in.Bufs {
			if !k.Args[j].Write {
				continue
			}
			if err := near(d.Buffers[b], mem, arena); err != nil {
				t.Errorf("instruction %d %s, buffer %d: %v\n%s", i, k.Name, j, err, k.IR)
			}
		}
	}
}

// near compares a buffer in two memories: values are of order 1, and sums of
// them cancel.
func near(b program.Buffer, x, y []byte) error {
	u, v := tensor.New(typeOf(b)), tensor.New(typeOf(b))
	u.Get(x[b.Offset:])
	v.Get(y[b.Offset:])
	for i, w := range v.Data {
		if d := math.Abs(u.Data[i] - w); u.Data[i] != w && !(d <= 1e-3*math.Max(1, math.Abs(w))) {
			return fmt.Errorf("element %d is %v, reference %v", i, u.Data[i], w)
		}
	}
	return nil
}
