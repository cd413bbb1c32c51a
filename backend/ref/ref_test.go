package ref_test

import (
	"testing"

	"ptc/backend"
	"ptc/backend/assemble"
	"ptc/backend/ref"
	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
	"ptc/passes"
	"ptc/passes/check"
	"ptc/passes/pass"
	"ptc/runtime/device"
	"ptc/runtime/device/host"
	"ptc/runtime/program"
)

// global is a training step with gradients, before any layout or kernel, and
// inputs for it.
func global(t *testing.T) (*ir.Module, check.Inputs) {
	t.Helper()
	m := irtest.Transformer(irtest.Small)
	in := check.RandomInputs(m, 1)
	if err := passes.Run(&pass.Context{}, m, &passes.Options{Stop: "autodiff"}); err != nil {
		t.Fatal(err)
	}
	return m, in
}

// plan takes the module to the end for the target.
func plan(t *testing.T, m *ir.Module, target string) *program.Plan {
	t.Helper()
	to, err := backend.Resolve(target)
	if err != nil {
		t.Fatal(err)
	}
	m = m.Clone()
	c := &pass.Context{Target: pass.Target{Info: to.Info(), Attention: true}}
	if err := passes.Run(c, m, &passes.Options{Only: passes.Names()[2:]}); err != nil {
		t.Fatal(err)
	}
	p, err := assemble.Plan(m, to)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.Expanded(); err != nil {
		t.Fatal(err)
	}
	return p
}

// machine is a plan captured for its only device.
type machine struct {
	d     *program.Device
	arena []byte
	host.Kernels
}

func capture(t *testing.T, p *program.Plan) *machine {
	t.Helper()
	m := &machine{d: &p.Devices[0], arena: make([]byte, p.Devices[0].Arena)}
	var err error
	m.Kernels, err = ref.Load(device.Request{Plan: p, Device: m.d, Threads: 1}, m.arena)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) tensor(t *testing.T, buffer int) (*tensor.Tensor, []byte) {
	t.Helper()
	b := m.d.Buffers[buffer]
	d, ok := ir.ParseDType(b.DType)
	if !ok {
		t.Fatalf("buffer of %s", b.DType)
	}
	typ := ir.Type{DType: d}
	for _, a := range b.Axes {
		typ.Axes = append(typ.Axes, ir.Axis{Name: a.Name, Size: a.Size})
	}
	return tensor.New(typ), m.arena[b.Offset : b.Offset+b.Bytes]
}

func (m *machine) read(t *testing.T, buffer int) *tensor.Tensor {
	t.Helper()
	x, mem := m.tensor(t, buffer)
	x.Get(mem)
	return x
}

func role(x *program.Tensor, d *program.Device) string {
	if d.Buffers[x.Buffer].Space == program.Params {
		return ir.RoleParam
	}
	return ir.RoleState
}

// fill writes the inputs of program prog, and everything else as bytes that
// are no number.
func (m *machine) fill(t *testing.T, prog string, in check.Inputs) {
	t.Helper()
	for i := range m.arena {
		m.arena[i] = 0xff
	}
	put := func(buffer int, k check.Key) {
		x, mem := m.tensor(t, buffer)
		if in[k] == nil {
			t.Fatalf("no input %s", k)
		}
		copy(x.Data, in[k].Data)
		x.Put(mem)
	}
	for i := range m.d.Tensors {
		x := &m.d.Tensors[i]
		put(x.Buffer, check.Key{Role: role(x, m.d), Path: x.Path})
	}
	for _, p := range m.d.Ports {
		switch p.Role {
		case program.RoleIndex:
			x, mem := m.tensor(t, p.Buffer)
			x.Data[0] = float64(p.Number)
			x.Put(mem)
		case program.RoleData, program.RoleStep, program.RoleSeed:
			if p.Program == prog {
				put(p.Buffer, check.Key{Role: p.Role, Path: p.Path})
			}
		}
	}
}

// run executes program number n, and reads each gradient after the instruction
// that its port names and the rest at the end.
func (m *machine) run(t *testing.T, n int) check.Results {
	t.Helper()
	out := check.Results{}
	prog := m.d.Progs[n]
	for i := range prog.Instrs {
		if err := m.Replay(n, i, i+1); err != nil {
			t.Fatal(err)
		}
		for _, p := range m.d.Ports {
			if p.Program == prog.Name && p.Role == program.RoleGrad && p.After == i+1 {
				out[check.Key{Role: p.Role, Path: p.Path}] = m.read(t, p.Buffer)
			}
		}
	}
	for _, p := range m.d.Ports {
		if p.Program == prog.Name && (p.Role == program.RoleLoss || p.Role == program.RoleStat) {
			out[check.Key{Role: p.Role, Path: p.Path}] = m.read(t, p.Buffer)
		}
	}
	if prog.Name == "step" {
		for i := range m.d.Tensors {
			x := &m.d.Tensors[i]
			out[check.Key{Role: role(x, m.d), Path: x.Path}] = m.read(t, x.Buffer)
		}
	}
	return out
}

// A plan that the reference engine replays on its arena computes what the
// module of one device means: loss, gradients, statistics, new parameters and
// states, in float32 and in float64.
func TestPlanIsTheModule(t *testing.T) {
	m, in := global(t)
	want, err := check.Execute(m, in, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		target string
		tol    float64
	}{{"ref", 1e-4}, {"ref:f32", 1e-4}, {"ref:f64", 1e-11}} {
		t.Run(c.target, func(t *testing.T) {
			k := capture(t, plan(t, m, c.target))
			defer k.Close()
			for n, prog := range k.d.Progs {
				k.fill(t, prog.Name, in)
				got := k.run(t, n)
				if worst, diff := check.Diff(want[prog.Name], got); diff > c.tol {
					t.Errorf("%s: %s differs by %.3g", prog.Name, worst, diff)
				}
				if len(got) != len(want[prog.Name]) {
					t.Errorf("%s: %d results, want %d", prog.Name, len(got), len(want[prog.Name]))
				}
			}
		})
	}
}

// A replay in one range gives the bytes of one instruction at a time.
func TestRanges(t *testing.T) {
	m, in := global(t)
	k := capture(t, plan(t, m, "ref"))
	defer k.Close()
	n := len(k.d.Progs[0].Instrs)
	k.fill(t, "step", in)
	if err := k.Replay(0, 0, n); err != nil {
		t.Fatal(err)
	}
	whole := string(k.arena)
	k.fill(t, "step", in)
	for _, r := range [][2]int{{0, 1}, {1, 1}, {1, n / 2}, {n / 2, n}} {
		if err := k.Replay(0, r[0], r[1]); err != nil {
			t.Fatal(err)
		}
	}
	if string(k.arena) != whole {
		t.Error("ranges give other bytes")
	}
}

// Code comes from a file: what is wrong with it is an error, not a panic.
func TestCodeThatCannotBeLoaded(t *testing.T) {
	m, _ := global(t)
	for name, damage := range map[string]func(p *program.Plan){
		"no IR":          func(p *program.Plan) { p.Code[0].Data = []byte("object code") },
		"cut short":      func(p *program.Plan) { p.Code[0].Data = p.Code[0].Data[:len(p.Code[0].Data)/2] },
		"other symbol":   func(p *program.Plan) { p.Kernels[0].Symbol = "none" },
		"a buffer less":  func(p *program.Plan) { in := &p.Devices[0].Progs[0].Instrs[0]; in.Bufs = in.Bufs[1:] },
		"a small buffer": func(p *program.Plan) { d := &p.Devices[0]; d.Buffers[d.Progs[0].Instrs[0].Bufs[0]].Bytes = 1 },
		"a buffer outside": func(p *program.Plan) {
			d := &p.Devices[0]
			d.Buffers[d.Progs[0].Instrs[0].Bufs[0]].Offset = d.Arena
		},
	} {
		p := plan(t, m, "ref")
		damage(p)
		if _, err := ref.Load(device.Request{Plan: p, Device: &p.Devices[0], Threads: 1}, make([]byte, p.Devices[0].Arena)); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
}
