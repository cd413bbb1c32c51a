package compiler

import (
	"flag"
	"fmt"
	"math"
	"math/rand"
	"os"
	"testing"

	"ptc/backend"
	"ptc/backend/cpu/llvm"
	"ptc/backend/ref"
	"ptc/ir"
	"ptc/ir/tensor"
	"ptc/runtime/device"
	"ptc/runtime/native"
	"ptc/runtime/program"
)

// small sizes, odd ones among them, so that every kernel has tails.
var small = map[string][]string{
	"mlp":   {"batch=6"},
	"gpt":   {"batch=2", "seq=19", "layers=2", "embed=24", "heads=3", "head=8", "ffn=52"},
	"llama": {"batch=2", "seq=19", "layers=2"},
	"moe":   {"batch=2", "seq=20", "layers=2", "embed=24", "heads=3", "head=8", "ffn=36", "experts=5"},
}

// TestKernels runs every instruction of every example natively and by the
// reference evaluator from the same memory, and compares what it wrote. For the least target it is one
// example, and with -slow all.
func TestKernels(t *testing.T) {
	lib, err := llvm.Load()
	if err != nil {
		if os.Getenv(llvm.EnvLLVM) == "none" {
			t.Skip("PTC_LLVM=none: native code is not made here, ref stands in")
		}
		t.Fatal(err)
	}
	_ = lib
	seen := map[string]bool{}
	for _, target := range []string{"cpu", "cpu:x86-64-v3", "cpu:x86-64-v2"} {
		if to, err := backend.Resolve(target); err != nil || seen[to.Info().Name] {
			continue // "cpu" is one of the others, or they are of another architecture
		} else {
			seen[to.Info().Name] = true
		}
		for _, name := range []string{"mlp", "gpt", "llama", "moe"} {
			if whole := flag.Lookup("slow"); target == "cpu:x86-64-v2" && name != "gpt" && whole.Value.String() != "true" {
				continue
			}
			t.Run(target+" "+name, func(t *testing.T) { compareKernels(t, name, target, small[name]) })
		}
	}
}

func compile(t *testing.T, name, target string, set []string) *program.Plan {
	t.Helper()
	return compileAs(t, name, target, "", set)
}

// compileAs compiles for a target with the kernels of another.
func compileAs(t *testing.T, name, target, forms string, set []string) *program.Plan {
	t.Helper()
	src, err := os.ReadFile("../examples/" + name + "/" + name + ".ptl")
	if err != nil {
		t.Fatal(err)
	}
	p, r, err := Compile(Options{File: name + ".ptl", Source: src, Set: set, Target: target, Forms: forms})
	if err != nil {
		t.Fatalf("%v (%v)", err, r)
	}
	return p
}

func compareKernels(t *testing.T, name, target string, set []string) {
	p := compile(t, name, target, set)
	if err := native.Supported(p.Features); err != nil {
		t.Skipf("this processor cannot run %s: %v", target, err)
	}
	q := compileAs(t, name, "ref", target, set)
	p, err := p.Expanded()
	if err == nil {
		q, err = q.Expanded()
	}
	if err != nil {
		t.Fatal(err)
	}
	d, e := &p.Devices[0], &q.Devices[0]
	if len(d.Progs[0].Instrs) != len(e.Progs[0].Instrs) || d.Arena != e.Arena {
		t.Fatal("the plans for the targets differ in more than code")
	}
	mem, free, err := native.Alloc(int(d.Arena))
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	arena := make([]byte, e.Arena)
	fill(e, arena)
	oracle, err := ref.Load(device.Request{Plan: q, Device: e, Threads: 1}, arena)
	if err != nil {
		t.Fatal(err)
	}
	team, err := native.NewTeam(2)
	if err != nil {
		t.Fatal(err)
	}
	defer team.Close()
	var objects [][]byte
	for _, c := range p.Code {
		objects = append(objects, c.Data)
	}
	img, err := native.Load(objects...)
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	for n := range d.Progs {
		run := capture(t, p, d, &d.Progs[n], img, mem)
		for i, in := range d.Progs[n].Instrs {
			copy(mem, arena)
			if err := team.Replay(run, i, i+1); err != nil {
				t.Fatal(err)
			}
			if err := oracle.Replay(n, i, i+1); err != nil {
				t.Fatal(err)
			}
			k := p.Kernels[in.Kernel]
			for j, b := range in.Bufs {
				if k.Args[j].Write {
					if err := same(d.Buffers[b], mem, arena); err != nil {
						t.Errorf("%s instruction %d %s (%s), buffer %d: %v\n%s", d.Progs[n].Name, i, k.Name, in.Scope, j, err, k.IR)
					}
				}
			}
		}
		run.Close()
		if t.Failed() {
			return
		}
	}
}

func capture(t *testing.T, p *program.Plan, d *program.Device, prog *program.Program, img *native.Image, mem []byte) *native.Program {
	t.Helper()
	var ins []native.Instr
	scratch := int64(0)
	base := native.Address(mem)
	for _, in := range prog.Instrs {
		k := p.Kernels[in.Kernel]
		x := native.Instr{Kernel: k.Symbol, Tasks: k.Tasks}
		for _, b := range in.Bufs {
			x.Bufs = append(x.Bufs, base+uintptr(d.Buffers[b].Offset))
		}
		scratch = max(scratch, k.Scratch)
		ins = append(ins, x)
	}
	run, err := native.NewProgram(img, ins, 2, int(scratch))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// fill gives tensors and inputs random values; states are positive, as some
// are sums of squares.
func fill(d *program.Device, arena []byte) {
	r := rand.New(rand.NewSource(1))
	put := func(b program.Buffer, draw func() float64) {
		x := tensor.New(typeOf(b))
		for i := range x.Data {
			x.Data[i] = draw()
		}
		x.Put(arena[b.Offset:])
	}
	for _, x := range d.Tensors {
		switch b := d.Buffers[x.Buffer]; b.Space {
		case program.Optimizer:
			put(b, func() float64 { return 0.01 * r.Float64() })
		default:
			put(b, func() float64 { return 0.2 * r.NormFloat64() })
		}
	}
	for _, x := range d.Ports {
		if x.Role == program.RoleData {
			put(d.Buffers[x.Buffer], func() float64 { return float64(r.Intn(256)) })
		}
		if x.Role == program.RoleStep || x.Role == program.RoleSeed {
			put(d.Buffers[x.Buffer], func() float64 { return 3 })
		}
	}
}

func typeOf(b program.Buffer) ir.Type {
	d, _ := ir.ParseDType(b.DType)
	t := ir.Type{DType: d}
	for _, a := range b.Axes {
		t.Axes = append(t.Axes, ir.Axis{Name: a.Name, Size: a.Size})
	}
	return t
}

// same compares a buffer in two memories: each element to 1e-4 of the larger
// of its size and the buffer's root mean square.
func same(b program.Buffer, x, y []byte) error {
	u, v := tensor.New(typeOf(b)), tensor.New(typeOf(b))
	u.Get(x[b.Offset:])
	v.Get(y[b.Offset:])
	var sum float64
	for _, w := range v.Data {
		if !math.IsInf(w, 0) {
			sum += w * w
		}
	}
	rms := math.Sqrt(sum/float64(max(1, len(v.Data)))) + 1e-30
	for i, w := range v.Data {
		if u.Data[i] == w {
			continue
		}
		if d := math.Abs(u.Data[i]-w) / math.Max(rms, math.Abs(w)); !(d < 1e-4) {
			return fmt.Errorf("element %d is %v, reference %v (rms %v)", i, u.Data[i], w, rms)
		}
	}
	return nil
}
