package assemble_test

import (
	"slices"
	"strings"
	"testing"

	"ptc/backend"
	"ptc/backend/assemble"
	_ "ptc/backend/ref"
	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/op"
	"ptc/passes"
	"ptc/passes/pass"
	"ptc/runtime/program"
)

var sizes = irtest.Sizes{Layers: 2, Batch: 4, Seq: 8, Heads: 4, Head: 4, FFN: 32, Vocab: 24, Dropout: true}

// planned is a training step under a layout, to the end of the passes.
func planned(t *testing.T, mesh []ir.MeshAxis, rules ...ir.Term) *ir.Module {
	t.Helper()
	m := irtest.Transformer(sizes)
	m.Mesh = mesh
	m.Meta = append(m.Meta, ir.Term{Head: "layout", Args: ir.A("name", ir.Str("test"), "rules", ir.Terms(rules))})
	if err := passes.Run(&pass.Context{}, m, nil); err != nil {
		t.Fatal(err)
	}
	return m
}

func shard(over string, axes ...string) ir.Term {
	return ir.Term{Head: "shard", Args: ir.A("axes", ir.Names(axes), "over", ir.Names{over}, "at", ir.Str("t.ptl:1:1"))}
}

func assembled(t *testing.T, m *ir.Module) *program.Plan {
	t.Helper()
	to, err := backend.Resolve("ref")
	if err != nil {
		t.Fatal(err)
	}
	p, err := assemble.Plan(m, to)
	if err != nil {
		t.Fatal(err)
	}
	p.Compiler = "test" // which the compiler fills
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Every argument and result of the functions is a tensor or a port, at its
// place.
func TestTensorsAndPorts(t *testing.T) {
	m := planned(t, nil)
	p := assembled(t, m)
	d := &p.Devices[0]
	if p.Name != "transformer" || p.Target != "ref:f32" || p.Layout != "test" || len(p.Devices) != 1 || len(d.Progs) != 2 {
		t.Fatalf("%s for %s under %s: %d devices", p.Name, p.Target, p.Layout, len(p.Devices))
	}
	at := func(buffer int) int64 { return d.Buffers[buffer].Offset }
	tensors := map[string]*program.Tensor{}
	for i := range d.Tensors {
		tensors[d.Tensors[i].Path] = &d.Tensors[i]
	}
	n := 0
	for i, f := range entries(m) {
		ports := map[string]program.Port{}
		for _, x := range d.Ports {
			if x.Program == f.Name {
				ports[x.Role+" "+x.Path] = x
			}
		}
		used := 0
		for _, a := range f.Args {
			place, _ := a.At.Get()
			if a.Role == ir.RoleParam || a.Role == ir.RoleState {
				x := tensors[a.Path]
				if x == nil || at(x.Buffer) != place {
					t.Fatalf("%s of @%s is not a tensor at %d", a.Path, f.Name, place)
				}
				if x.Train != (a.Role == ir.RoleParam) || x.Init.Kind != a.Attrs.Get("init").(ir.Term).Head {
					t.Errorf("tensor %+v", x)
				}
				continue
			}
			if x, ok := ports[a.Role+" "+a.Path]; !ok || at(x.Buffer) != place || x.After != 0 {
				t.Errorf("@%s: port %s %q: %+v, want it at %d", f.Name, a.Role, a.Path, x, place)
			}
			used++
		}
		for _, r := range f.Results {
			if r.Role == ir.RoleParam || r.Role == ir.RoleState {
				continue
			}
			x, ok := ports[r.Role+" "+r.Path]
			if !ok || d.Buffers[x.Buffer].Bytes != int64(r.Value.Type.Bytes()) {
				t.Fatalf("@%s: no port %s %q", f.Name, r.Role, r.Path)
			}
			used++
			if r.Role != ir.RoleGrad {
				continue
			}
			n++
			in, writes := d.Progs[i].Instrs[x.After-1], false
			for n, b := range in.Bufs { // it may be read there as well
				writes = writes || b == x.Buffer && p.Kernels[in.Kernel].Args[n].Write
			}
			if !writes {
				t.Errorf("gradient of %s: instruction %d does not write it", r.Path, x.After)
			}
		}
		if used != len(ports) {
			t.Errorf("@%s: %d ports, %d arguments and results", f.Name, len(ports), used)
		}
	}
	if n == 0 || n != len(d.Tensors)/3 {
		t.Errorf("%d gradients, %d tensors", n, len(d.Tensors))
	}
}

func entries(m *ir.Module) []*ir.Func {
	var out []*ir.Func
	for _, f := range m.Funcs {
		if f.Class == ir.Entry {
			out = append(out, f)
		}
	}
	return out
}

// Instructions are the calls in order, with kernels that say what they touch.
func TestInstructionsAndKernels(t *testing.T) {
	m := planned(t, nil)
	p := assembled(t, m)
	d := &p.Devices[0]
	for i, f := range entries(m) {
		prog := d.Progs[i]
		calls := slices.DeleteFunc(slices.Clone(f.Ops), func(o *ir.Op) bool { return op.Of(o).Class == op.Boundary })
		if prog.Name != f.Name || len(prog.Instrs) != len(calls) {
			t.Fatalf("program %s has %d instructions, @%s %d calls", prog.Name, len(prog.Instrs), f.Name, len(calls))
		}
		for j, o := range calls {
			in := prog.Instrs[j]
			k := p.Kernels[in.Kernel]
			if k.Name != o.Callee.Name || in.NoWait == (o.Wait == ir.WaitAll) || in.Scope != o.Scope {
				t.Fatalf("%s: instruction %d %+v is not %s", prog.Name, j, in, o.Callee.Name)
			}
			for n, v := range append(slices.Clone(o.Args), o.Results...) {
				b := d.Buffers[in.Bufs[n]]
				if b.Bytes != int64(v.Type.Bytes()) || k.Args[n].Bytes != b.Bytes || k.Args[n].Write != (n >= len(o.Args)) {
					t.Errorf("%s: instruction %d: buffer %d is %+v for %s", prog.Name, j, n, b, v.Type)
				}
			}
		}
	}
	for _, k := range p.Kernels {
		var bytes int64
		for _, a := range k.Args {
			bytes += a.Bytes
		}
		if k.Bytes != bytes || k.Class == "" || !strings.Contains(k.IR, "@"+k.Name+" ") || k.Class == "gemm" && k.Flops == 0 {
			t.Errorf("kernel %s: class %s, %d flops, %d bytes", k.Name, k.Class, k.Flops, k.Bytes)
		}
	}
	if p.Stats.TokensPerStep != int64(sizes.Batch*sizes.Seq) || p.Stats.OpsBeforeFusion == 0 || p.Stats.FlopsPerStep == 0 {
		t.Errorf("stats %+v", p.Stats)
	}
}

// A sharded plan counts the whole batch, and its buffers know the whole tensor.
func TestShardedPlan(t *testing.T) {
	one := assembled(t, planned(t, nil))
	p := assembled(t, planned(t, []ir.MeshAxis{{Name: "dp", Size: 2}, {Name: "tp", Size: 2}},
		shard("dp", "batch"), shard("tp", "heads", "ffn", "vocab")))
	if got := p.RanksOf(&p.Devices[0]); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("ranks %v", got)
	}
	if p.Stats.TokensPerStep != one.Stats.TokensPerStep {
		t.Errorf("%d tokens for each step, on one device %d", p.Stats.TokensPerStep, one.Stats.TokensPerStep)
	}
	// Each device does a quarter of the contractions and its share of the rest.
	if f := p.Stats.FlopsPerStep / one.Stats.FlopsPerStep; f < 0.95 || f > 1.6 {
		t.Errorf("%.2f times the work of one device", f)
	}
	whole := map[string]int{}
	for _, x := range one.Devices[0].Tensors {
		whole[x.Path] = program.Elems(one.Devices[0].Buffers[x.Buffer].Axes)
	}
	cut := 0
	for _, x := range p.Devices[0].Tensors {
		n, local := 1, 1
		for _, a := range p.Devices[0].Buffers[x.Buffer].Axes {
			n, local = n*a.Global, local*a.Size
		}
		if n != whole[x.Path] {
			t.Errorf("%s has %d elements as a whole, on one device %d", x.Path, n, whole[x.Path])
		}
		if local < n {
			cut++
		}
	}
	kinds := map[string]bool{}
	for _, in := range p.Devices[0].Progs[0].Instrs {
		if c := in.Comm; c != nil && c.Kind != collective.Done {
			kinds[c.Kind] = true
			if in.NoWait || c.Why == "" || c.Outer*c.Inner == 0 {
				t.Errorf("%+v", c)
			}
		}
	}
	if cut == 0 || !kinds["all_reduce"] {
		t.Errorf("%d tensors are sharded; communications %v", cut, kinds)
	}
}

// The same module gives the same bytes.
func TestDeterministic(t *testing.T) {
	encode := func() string {
		b, err := program.Encode(assembled(t, planned(t, nil)))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if encode() != encode() {
		t.Error("two plans of one module differ")
	}
}

func TestOnlyPlannedModules(t *testing.T) {
	to, _ := backend.Resolve("ref")
	if _, err := assemble.Plan(irtest.Transformer(sizes), to); err == nil || !strings.Contains(err.Error(), "global") {
		t.Errorf("%v", err)
	}
}
