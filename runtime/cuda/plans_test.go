package cuda_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "ptc/backend/gpu"
	"ptc/compiler"
	"ptc/internal/foreign"
	"ptc/runtime/cuda"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
	"ptc/runtime/metrics"
	"ptc/runtime/profile"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

// onFake has what is opened run on a driver for tests, which must be left clean.
func onFake(t *testing.T, o fakecuda.Options) *fakecuda.Driver {
	t.Helper()
	if err := foreign.Available(); err != nil {
		t.Skip(err)
	}
	d := fakecuda.New(o)
	cuda.Use(d.Lookup)
	t.Cleanup(func() {
		cuda.Use(nil)
		if p, l := d.Problems(), d.Leaks(); len(p) > 0 || len(l) > 0 {
			t.Errorf("problems %q, left %q", p, l)
		}
	})
	return d
}

// compiled is an example with a layout, made small.
func compiled(t *testing.T, example, layout, target, set string) *program.Plan {
	t.Helper()
	file := "../../examples/" + example + "/" + example + ".ptl"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "\nlayout offloaded { offload optimizer to host { piece = 4 KiB } }\nlayout half { precision { compute = bf16 } }\nlayout float8 { precision { products = f8 } }\n"...)
	if example == "gpt" {
		text = append(text, piped...)
	}
	p, _, err := compiler.Compile(compiler.Options{File: file, Source: text, Layout: layout, Set: strings.Fields(set), Target: target})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// piped is a pipeline of stages that are sharded.
const piped = `
layout piped {
  mesh pp = 2, tp = 2
  shard heads, ffn, vocab over tp
  shard seq over tp between Block
  pipeline blocks over pp { schedule = 1f1b  microbatches = 4 }
}
layout staged {
  mesh pp = 2, tp = 2
  shard heads, ffn over tp
  shard seq over tp between Block
  pipeline blocks over pp { schedule = 1f1b  microbatches = 4 }
}
`

const (
	smallMLP = "steps=3 batch=4 hidden=16 embed=4"
	// Of one step: further ones differ where a sum has rounded to the next number of eight bits.
	wideGPT  = "steps=1 batch=2 seq=32 layers=1 embed=32 heads=2 head=16"
	smallGPT = "steps=3 batch=2 seq=8 layers=2 embed=16 heads=2 head=8"
	oddGPT   = smallGPT + " vocab=257" // rows of logits that are no multiple of 16 bytes
)

// TestTrains: examples train on the engine as on the reference, with one device and with several
// on one GPU, whatever the orders of graphs, with code for this GPU or for older ones.
func TestTrains(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	for i, c := range []struct{ example, layout, set string }{
		{"mlp", "single", smallMLP}, {"mlp", "tensor", smallMLP}, {"mlp", "offloaded", smallMLP}, {"gpt", "data", smallGPT}, {"gpt", "single", oddGPT},
		{"gpt", "float8", wideGPT}, {"gpt", "float8", wideGPT},
	} {
		want, err := train.Run(context.Background(), compiled(t, c.example, c.layout, "ref", c.set), train.Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		drv := onFake(t, fakecuda.Options{Seed: uint64(i), GPUs: 1 + i%2, Major: 9 - i%2})
		got, err := train.Run(context.Background(), compiled(t, c.example, c.layout, "cuda:sm_90a", c.set), train.Options{Threads: 2})
		if err != nil {
			t.Fatalf("%s, layout %s: %v; faults %q", c.example, c.layout, err, drv.Faults())
		}
		if math.Abs(got.Loss-want.Loss) > 1e-5*want.Loss || math.Abs(got.ValLoss-want.ValLoss) > 1e-5*want.ValLoss {
			t.Errorf("%s, layout %s: losses %v and %v; expected %v and %v", c.example, c.layout, got.Loss, got.ValLoss, want.Loss, want.ValLoss)
		}
	}
}

// TestPorts: what a plan's ports are set to reaches GPUs.
func TestPorts(t *testing.T) {
	const file = "../../examples/mlp/mlp.ptl"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	run := func(target string) train.Summary {
		p, _, err := compiler.Compile(compiler.Options{File: file, Source: text, Layout: "tensor", Set: strings.Fields(smallMLP), Target: target, Ports: []string{"lr", "clip"}})
		if err != nil {
			t.Fatal(err)
		}
		if p, err = p.Set(map[string]float64{"lr": 0.1, "clip": 0.2}); err != nil {
			t.Fatal(err)
		}
		sum, err := train.Run(context.Background(), p, train.Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	want := run("ref")
	onFake(t, fakecuda.Options{GPUs: 2})
	if got := run("cuda:sm_90a"); math.Abs(got.Loss-want.Loss) > 1e-5*want.Loss || math.Abs(got.ValLoss-want.ValLoss) > 1e-5*want.ValLoss {
		t.Errorf("losses %v and %v; expected %v and %v", got.Loss, got.ValLoss, want.Loss, want.ValLoss)
	}
	onFake(t, fakecuda.Options{})
	plain, err := train.Run(context.Background(), compiled(t, "mlp", "tensor", "cuda:sm_90a", smallMLP), train.Options{Threads: 2})
	if err != nil || plain.Loss == want.Loss {
		t.Errorf("another learning rate changes nothing: %v, %v", plain.Loss, err)
	}
}

// starts are the events with which runs begin.
type starts []metrics.Start

func (s *starts) Tell(e metrics.Event) {
	if x, ok := e.(*metrics.Start); ok {
		*s = append(*s, *x)
	}
}

func (s *starts) Close() error { return nil }

// TestProfile: a profile changes no result, has every launch with its time and its share of what the GPU's
// kind can do, and a trace has the same.
func TestProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	p := compiled(t, "mlp", "tensor", "cuda:sm_90a", strings.Replace(smallMLP, "steps=3", "steps=5", 1))
	for _, c := range []struct {
		major        int
		device, code string
	}{{9, "NVIDIA H200", "sm_90a"}, {8, "NVIDIA A100 80GB", "sm_80"}} {
		o := fakecuda.Options{Major: c.major, GPUs: 2}
		onFake(t, o)
		plain, err := train.Run(context.Background(), p, train.Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		drv, trace, said := onFake(t, o), filepath.Join(t.TempDir(), "trace.json"), &starts{}
		got, err := train.Run(context.Background(), p, train.Options{Threads: 2, Profile: &profile.Ceilings{}, Trace: trace, Log: said})
		if err != nil {
			t.Fatalf("%v; faults %q", err, drv.Faults())
		}
		if got.Loss != plain.Loss || got.ValLoss != plain.ValLoss {
			t.Errorf("losses %v and %v, without a profile %v and %v", got.Loss, got.ValLoss, plain.Loss, plain.ValLoss)
		}
		if want := "GPU 0 (Fake GPU 0), code for " + c.code + "; GPU 1 (Fake GPU 1), code for " + c.code; len(*said) != 1 || (*said)[0].On != want {
			t.Errorf("begins with %+v; expected %s", *said, want)
		}
		r := got.Profile
		if r == nil || r.Steps != 2 || len(r.Ranks) != 2 {
			t.Fatalf("%+v", r)
		}
		for i, x := range r.Ranks {
			launches := 0
			for _, k := range x.Kernels {
				launches += k.Launches
				if k.Class != "comm" && (k.Ms <= 0 || k.Source == "" || k.Flops+k.Bytes > 0 && k.Roofline <= 0) {
					t.Errorf("kernel %+v", k)
				}
			}
			if on := fmt.Sprintf("GPU %d (Fake GPU %d)", i, i); x.On != on || x.Ceilings.Device != c.device || launches != x.Launches+x.Communications || x.Launches == 0 || x.Communications == 0 {
				t.Errorf("rank %d: %+v", i, x)
			}
		}
		if text, err := os.ReadFile(trace); err != nil || !strings.Contains(string(text), `"roofline_share":`) {
			t.Errorf("the trace has no rates (%v)", err)
		}
	}
}

// reference is a plan whose kernels are the IR that they were made of.
func reference(p *program.Plan) *program.Plan {
	q := *p
	q.Code, q.Kernels = nil, append([]program.Kernel(nil), p.Kernels...)
	for i := range q.Kernels {
		k := &q.Kernels[i]
		_, name, _ := strings.Cut(k.IR, "@")
		k.Code, k.Symbol = i, strings.Fields(name)[0]
		q.Code = append(q.Code, program.Code{Kind: "ir", Data: []byte("ptir 1 fused \"m\"\n" + k.IR)})
	}
	return &q
}

// TestKernels: each instruction of a plan writes what the reference writes there.
func TestKernels(t *testing.T) {
	p, err := compiled(t, "gpt", "single", "cuda:sm_90a", smallGPT).Expanded()
	if err != nil {
		t.Fatal(err)
	}
	onFake(t, fakecuda.Options{Seed: 1})
	d := &p.Devices[0]
	var progs [2]device.Program
	var memories [2]device.Memory
	for i, plan := range []*program.Plan{p, reference(p)} {
		kind, err := device.Find(plan.Code[0].Kind)
		if err != nil {
			t.Fatal(err)
		}
		e, err := kind.Open(device.Request{Plan: plan, Device: &plan.Devices[0], Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		if progs[i], err = e.Capture(0); err != nil {
			t.Fatal(err)
		}
		memories[i] = e.Memory("")
		begin(t, d, memories[i], progs[i])
	}
	arena := make([]byte, d.Arena)
	for i, in := range d.Progs[0].Instrs {
		if err := errors.Join(memories[1].CopyOut(arena, 0), memories[0].CopyIn(0, arena)); err != nil { // errors do not add up
			t.Fatal(err)
		}
		for _, p := range progs {
			if err := p.Step(i, i+1); err != nil {
				t.Fatal(err)
			}
		}
		for j, a := range p.Kernels[in.Kernel].Args {
			b := &d.Buffers[in.Bufs[j]]
			if !a.Write || b.DType != "f32" {
				continue
			}
			if off := furthest(t, b, memories); off > 1e-5 {
				t.Errorf("instruction %d, kernel %s: %g of the largest element off", i, p.Kernels[in.Kernel].Name, off)
			}
		}
	}
}

// begin gives parameters and ports random values, which are the same for every engine.
func begin(t *testing.T, d *program.Device, m device.Memory, p device.Program) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, x := range d.Tensors {
		b := &d.Buffers[x.Buffer]
		bytes := make([]byte, b.Size())
		for i := 0; i < len(bytes); i += 4 {
			binary.LittleEndian.PutUint32(bytes[i:], math.Float32bits(float32(math.Abs(rng.NormFloat64())/10)))
		}
		if err := m.CopyIn(b.Offset, bytes); err != nil {
			t.Fatal(err)
		}
	}
	for i := range d.Ports {
		if port := p.Port(i); d.Ports[i].In() {
			for j := 0; j < len(port); j += 4 {
				binary.LittleEndian.PutUint32(port[j:], uint32(1+rng.IntN(200)))
			}
		}
	}
}

// furthest is how far the elements of a buffer are apart in two memories, relative to the largest.
func furthest(t *testing.T, b *program.Buffer, memories [2]device.Memory) float64 {
	t.Helper()
	var bytes [2][]byte
	for i, m := range memories {
		bytes[i] = make([]byte, b.Size())
		if err := m.CopyOut(bytes[i], b.Offset); err != nil {
			t.Fatal(err)
		}
	}
	off, most := 0.0, math.SmallestNonzeroFloat32
	for i := 0; i < len(bytes[0]); i += 4 {
		var x [2]float64
		for k := range x {
			x[k] = float64(math.Float32frombits(binary.LittleEndian.Uint32(bytes[k][i:])))
		}
		most = max(most, math.Abs(x[1]))
		if x[0] == x[1] {
			continue
		}
		if math.IsNaN(x[0]) || math.IsNaN(x[1]) || math.IsInf(x[0], 0) || math.IsInf(x[1], 0) {
			return math.Inf(1)
		}
		off = max(off, math.Abs(x[0]-x[1]))
	}
	return off / most
}

// TestTensorMaps: a model whose products copy tiles by tensor maps, those of its logits and their gradients from rows
// that are padded, trains as on the reference, and a driver that does not know them is refused.
func TestTensorMaps(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	const set = "steps=1 batch=1 seq=64 layers=1 embed=64 heads=1 head=64 ffn=128 vocab=257"
	want, err := train.Run(context.Background(), compiled(t, "gpt", "half", "ref", set), train.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	plan := compiled(t, "gpt", "half", "cuda:sm_90a", set)
	maps := 0
	for _, k := range plan.Kernels {
		maps += len(k.Maps)
	}
	padded := slices.ContainsFunc(plan.Devices[0].Buffers, func(b program.Buffer) bool { return b.Pad > 0 })
	if maps < 4 || !padded {
		t.Errorf("%d tensor maps, rows padded: %v", maps, padded)
	}
	drv := onFake(t, fakecuda.Options{Seed: 3})
	got, err := train.Run(context.Background(), plan, train.Options{Threads: 2})
	if err != nil {
		t.Fatalf("%v; faults %q", err, drv.Faults())
	}
	if math.Abs(got.Loss-want.Loss) > 1e-3*want.Loss {
		t.Errorf("loss %v; expected %v", got.Loss, want.Loss)
	}
	onFake(t, fakecuda.Options{Missing: []string{"cuTensorMapEncodeTiled"}})
	if _, err := train.Run(context.Background(), plan, train.Options{Threads: 2}); err == nil || !strings.Contains(err.Error(), "drivers of CUDA 12.0 and later") {
		t.Errorf("%v", err)
	}
}
