package gpu

import (
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
	"ptc/runtime/cuda"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// hopper is that of GPUs whose kernels multiply by warpgroups and copy tiles by tensor maps.
const hopper = "cuda:sm_90a"

// kernels are plans whose kernels are launched alone; those that the emulator takes long for, or that show it nothing
// new, are only for a GPU.
var kernels = []struct {
	target string
	model
	long bool
}{
	{target, model{"mlp", "batch=8 seq=4 embed=16 hidden=32", ""}, false},
	{target, model{"gpt", "layers=2 embed=32 heads=2 head=16 ffn=64 seq=24 batch=2", ""}, false},
	{target, model{"gpt", "layers=2 embed=32 heads=2 head=16 ffn=64 seq=24 batch=2", "precision { compute = bf16 }"}, false},
	{target, model{"llama", llama, "precision { compute = f16 }"}, false},
	{target, model{"moe", "layers=2 batch=8 seq=12 embed=20 heads=4 head=6 vocab=44 ffn=12 experts=4", ""}, false},
	{hopper, model{"mlp", "batch=64 seq=4 embed=128 hidden=64 vocab=70", "precision { compute = bf16 }"}, false}, // clusters
	{hopper, model{"gpt", "layers=1 embed=64 heads=1 head=64 ffn=128 vocab=83 seq=64 batch=1", "precision { compute = bf16 }"}, false},
	{hopper, model{"gpt", "layers=1 embed=64 heads=1 head=64 ffn=128 vocab=80 seq=64 batch=1", "precision { compute = bf16  products = f8 }"}, true},
	{hopper, model{"gpt", "layers=1 embed=256 heads=2 head=128 ffn=512 vocab=301 seq=200 batch=2", "precision { compute = bf16 }"}, true},
	{hopper, model{"llama", "layers=1 embed=192 heads=4 kv=2 head=96 ffn=320 vocab=256 seq=150 batch=2", "precision { compute = bf16 }"}, true},
	{hopper, model{"llama", llama, "precision { compute = f16 }"}, true},
	{hopper, model{"moe", "layers=2 batch=8 seq=12 embed=20 heads=4 head=6 vocab=44 ffn=12 experts=4", "precision { compute = bf16 }"}, true},
}

// TestKernels: each kernel of some plans, launched alone with random arguments, gives what the
// evaluator gives for its function. Tests are named by the kind of GPU and the model first, so that run.sh has a process
// for each: behind a kernel that faults nothing runs in the process any more.
func TestKernels(t *testing.T) {
	for n, c := range kernels {
		if c.long && !*real && !*every {
			continue
		}
		_, arch, _ := strings.Cut(c.target, ":")
		t.Run(fmt.Sprintf("%s/%s/%d", arch, c.name, n), func(t *testing.T) {
			p := c.compile(t, c.target)
			for i := range p.Kernels {
				k := &p.Kernels[i]
				t.Run(k.Name, func(t *testing.T) {
					driver(t, uint64(i))
					launch(t, p, k, int64(i))
				})
			}
		})
	}
}

// launch runs k on random arguments.
func launch(t *testing.T, p *program.Plan, k *program.Kernel, seed int64) {
	m, errs := ir.Parse(k.Name, []byte("ptir 1 fused \"kernels\"\n"+k.IR))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	f := m.Funcs[0]
	args := irtest.Arguments(f, seed)
	want, err := eval.Func(m, f, args, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one, at := alone(p, k, f)
	e := open(t, one)
	defer e.Close()
	mem := e.Memory("")
	dirty := make([]byte, mem.Size()) // every element of a result must be written
	rand.New(rand.NewSource(seed)).Read(dirty)
	must(t, mem.CopyIn(0, dirty))
	for i, a := range args {
		b := make([]byte, a.Type.Bytes())
		a.Put(b)
		must(t, mem.CopyIn(at[i], b))
	}
	c, err := e.Capture(0)
	must(t, err)
	c.Launch()
	must(t, c.Wait())
	for i, w := range want {
		got := tensor.New(w.Type)
		b := make([]byte, w.Type.Bytes())
		must(t, mem.CopyOut(b, at[len(args)+i]))
		got.Get(b)
		if n, diff := irtest.Worst(got, w); !(diff < irtest.Rounding(f.Results[i].Value)) && !(math.Abs(got.Data[n]-w.Data[n]) <= leastHalf) {
			t.Fatalf("result %d: element %d is %v, want %v\n%s", i, n, got.Data[n], w.Data[n], k.IR)
		}
	}
}

// alone is a plan of one launch of k, and where its buffers lie.
func alone(p *program.Plan, k *program.Kernel, f *ir.Func) (*program.Plan, []int64) {
	one := &program.Plan{Target: p.Target, Code: p.Code, Kernels: []program.Kernel{*k}, Devices: make([]program.Device, 1)}
	d := &one.Devices[0]
	var at []int64
	var in program.Instr
	add := func(v *ir.Value) {
		b := program.Buffer{Space: program.Scratch, Offset: d.Arena, Bytes: int64(v.Type.Bytes()), DType: v.Type.DType.String()}
		for _, a := range v.Type.Axes {
			b.Axes = append(b.Axes, program.Axis{Name: a.Name, Size: a.Size, Global: a.Size})
		}
		at = append(at, d.Arena)
		d.Arena += (b.Bytes + program.Align - 1) / program.Align * program.Align
		in.Bufs = append(in.Bufs, len(d.Buffers))
		d.Buffers = append(d.Buffers, b)
	}
	for _, a := range f.Args {
		add(a.Value)
	}
	for _, r := range f.Results {
		add(r.Value)
	}
	d.Progs = []program.Program{{Name: "step", Instrs: []program.Instr{in}}}
	return one, at
}

func open(t *testing.T, p *program.Plan) device.Engine {
	t.Helper()
	kind, err := device.Find(cuda.Kind)
	must(t, err)
	e, err := kind.Open(device.Request{Plan: p, Device: &p.Devices[0], Threads: 1})
	must(t, err)
	return e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// leastHalf is the smallest positive number of f16: what rounds to it or to zero differs by all of it.
const leastHalf = 1.0 / (1 << 24)
