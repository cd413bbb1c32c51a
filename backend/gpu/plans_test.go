package gpu_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/ptx"
	"ptc/compiler"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
	"ptc/runtime/program"
)

// models are examples small enough to be emulated, with a layout that is added to them.
var models = []struct{ name, set, layout, target string }{
	{"mlp/mlp", "batch=8 seq=4 embed=16 hidden=32", "", ""},
	{"gpt/gpt", "layers=2 embed=16 heads=2 head=8 ffn=32 vocab=40 seq=16 batch=2", "", ""},
	{"gpt/gpt", "layers=2 embed=16 heads=2 head=8 ffn=32 vocab=43 seq=16 batch=2", "precision { compute = bf16 }", ""}, // rows of 86 bytes
	{"llama/llama", "layers=1 embed=16 heads=4 kv=2 head=4 ffn=24 vocab=40 seq=16 batch=2", "", ""},
	{"gpt/gpt", "layers=1 embed=64 heads=1 head=64 ffn=128 vocab=83 seq=64 batch=1", "precision { compute = bf16 }", hopper},
	{"gpt/gpt", "layers=1 embed=64 heads=1 head=64 ffn=128 vocab=80 seq=64 batch=1", "precision { compute = bf16  products = f8 }", hopper},
	{"gpt/gpt", "layers=1 embed=32 heads=2 head=16 ffn=64 vocab=40 seq=32 batch=1", "precision { products = f8 }", "cuda:sm_89"},
	{"gpt/gpt", "layers=1 embed=32 heads=2 head=16 ffn=64 vocab=40 seq=16 batch=2", "precision { compute = bf16  products = f8 }", ""},
	{"mlp/mlp", "batch=64 seq=4 embed=128 hidden=64 vocab=70", "precision { compute = bf16 }", hopper}, // clusters
	{"moe/moe", "layers=1 embed=16 heads=2 head=8 ffn=16 vocab=40 seq=16 batch=2", "", ""},
	{"lora/lora", "layers=1 embed=16 heads=2 head=8 ffn=32 vocab=40 seq=16 batch=2", "", ""},
	{"../backend/gpu/testdata/attention", "seq=70", "", ""},
	{"../backend/gpu/testdata/attention", "head=2 low=2", "precision { compute = bf16 }", ""},
	{"../backend/gpu/testdata/attention", "", "mesh cp = 2\n  shard seq over cp { order = zigzag }", ""},
}

const hopper = "cuda:sm_90a"

// compile is the plan of a model for a target.
func compile(t *testing.T, name, set, layout, target string) *program.Plan {
	t.Helper()
	text, err := os.ReadFile("../../examples/" + name + ".ptl")
	if err != nil {
		t.Fatal(err)
	}
	o := compiler.Options{File: name + ".ptl", Source: text, Target: target, Set: strings.Fields(set)}
	if layout != "" {
		o.Source, o.Layout = append(text, "\nlayout added {\n  "+layout+"\n}\n"...), "added"
	}
	p, _, err := compiler.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlans: each kernel of the examples' plans gives what the evaluator gives for its function,
// under the emulator.
func TestPlans(t *testing.T) {
	count := map[string]int{}
	for _, m := range models {
		t.Run(strings.TrimSpace(m.name+" "+m.layout), func(t *testing.T) {
			if testing.Short() && m.set == "seq=70" {
				t.Skip("blocks of queries and keys, with tails: takes long")
			}
			target := m.target
			if target == "" {
				target = "cuda:sm_80"
			}
			p := compile(t, m.name, m.set, m.layout, target)
			if p.Roof == nil || p.Roof.Device == "" {
				t.Error("the plan does not say what its device does at most")
			}
			var modules []*ptx.Module
			for _, c := range p.Code {
				x, err := ptx.Parse(string(c.Data))
				if err != nil {
					t.Fatal(err)
				}
				modules = append(modules, x)
			}
			for i := range p.Kernels {
				k := &p.Kernels[i]
				count[k.Class]++
				run(t, k, modules[k.Code], int64(i))
			}
		})
	}
	for _, class := range []string{"map", "row", "column", "gemm", "scatter", "attention", "horizontal"} {
		if count[class] == 0 {
			t.Errorf("no kernel of class %s", class)
		}
	}
}

// TestVariants: a plan for one kind of device has its kernels for older ones as well, as a plan for
// those has them.
func TestVariants(t *testing.T) {
	m := models[0]
	p, old := compile(t, m.name, m.set, m.layout, "cuda:sm_90a"), compile(t, m.name, m.set, m.layout, "cuda:sm_80")
	if len(p.Variants) != 1 || p.Variants[0].Arch != "sm_80" || len(old.Variants) != 0 {
		t.Fatalf("%d variants, and %d of the plan for sm_80", len(p.Variants), len(old.Variants))
	}
	q := p.With(&p.Variants[0])
	if d := cmp.Diff(old.Code, q.Code); d != "" {
		t.Errorf("the code differs:\n%s", d)
	}
	if d := cmp.Diff(old.Kernels, q.Kernels); d != "" {
		t.Errorf("the kernels differ:\n%s", d)
	}
	if d := cmp.Diff(old.Roof, q.Roof); d != "" {
		t.Errorf("the rooflines differ:\n%s", d)
	}
	if !strings.Contains(string(p.Code[0].Data), ".target sm_90a") {
		t.Error("the plan's own code is not that of its target")
	}
}

// run launches a kernel with random arguments.
func run(t *testing.T, k *program.Kernel, m *ptx.Module, seed int64) {
	t.Helper()
	x, errs := ir.Parse(k.Name, []byte("ptir 1 fused \"kernels\"\n"+k.IR))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	f := x.Funcs[0]
	args, want := evaluate(t, x, f, seed)
	d := &emu.Device{Options: emu.Options{Check: true, Steps: 1 << 24, Seed: uint64(seed)}}
	var words []emu.Arg
	for _, a := range args {
		b := make([]byte, a.Type.Bytes())
		a.Put(b)
		words = append(words, emu.Word(d.Map(b)))
	}
	var outs [][]byte
	for _, r := range f.Results {
		b := make([]byte, r.Value.Type.Bytes())
		for i := range b {
			b[i] = 0xa5 // every element must be written
		}
		outs = append(outs, b)
		words = append(words, emu.Word(d.Map(b)))
	}
	for _, m := range k.Maps {
		words = append(words, tensorMap(t, m, words[m.Arg].Word))
	}
	for _, e := range m.Entries {
		if e.Name != k.Symbol {
			continue
		}
		entry, err := emu.Load(e)
		if err != nil {
			t.Fatal(err)
		}
		if int64(e.Threads) != k.Threads {
			t.Fatalf("%s: %d threads, the plan says %d", k.Name, e.Threads, k.Threads)
		}
		if err := d.Run(entry, emu.Launch{Grid: int(k.Tasks), Shared: int(k.Shared), Args: words}); err != nil {
			t.Fatalf("%s: %v\n%s", k.Name, err, k.IR)
		}
	}
	for i, w := range want {
		got := tensor.New(f.Results[i].Value.Type)
		got.Get(outs[i])
		if at, diff := irtest.Worst(got, w); !(diff < irtest.Rounding(f.Results[i].Value)) {
			t.Fatalf("%s: result %d: element %d is %v, want %v\n%s", k.Name, i, at, got.Data[at], w.Data[at], k.IR)
		}
	}
}

// tensorMap is m for an argument at an address.
func tensorMap(t *testing.T, m program.TensorMap, at uint64) emu.Arg {
	t.Helper()
	x := emu.TensorMap{Type: map[string]emu.TensorType{"bf16": emu.BFloat16, "f16": emu.Float16}[m.DType], Rank: len(m.Sizes),
		Address: at + uint64(m.Offset), Steps: [5]uint32{1, 1, 1, 1, 1},
		Swizzle: map[int64]emu.Swizzle{32: emu.Swizzle32, 64: emu.Swizzle64, 128: emu.Swizzle128}[m.Swizzle]}
	for i := range m.Sizes {
		x.Sizes[i], x.Box[i] = uint64(m.Sizes[i]), uint32(m.Box[i])
	}
	for i, s := range m.Strides {
		x.Strides[i] = uint64(s)
	}
	b, err := x.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return emu.Arg{Bytes: b}
}

// evaluate is random arguments of f, and what the evaluator makes of them: on the last device, where f is
// of several.
func evaluate(t *testing.T, x *ir.Module, f *ir.Func, seed int64) (args, want []*tensor.Tensor) {
	t.Helper()
	args = irtest.Arguments(f, seed)
	mesh := f.Attrs.Sizes("mesh")
	if len(mesh) == 0 {
		want, err := eval.Func(x, f, args, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return args, want
	}
	for _, a := range mesh {
		x.Mesh = append(x.Mesh, ir.MeshAxis{Name: a.Name, Size: a.N})
	}
	all := make([][]*tensor.Tensor, x.Devices())
	for d := range all {
		all[d] = slices.Clone(args)
		for i, a := range f.Args {
			if a.Path != fusion.Coordinates {
				continue
			}
			at := tensor.New(a.Value.Type)
			for j, rest := len(mesh)-1, d; j >= 0; j-- {
				at.Data[j], rest = float64(rest%mesh[j].N), rest/mesh[j].N
			}
			all[d][i] = at
		}
	}
	wants, err := eval.Devices(x, f, all, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return all[len(all)-1], wants[len(all)-1]
}
