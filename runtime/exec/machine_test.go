package exec

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"ptc/runtime/device"
	"ptc/runtime/device/host"
	"ptc/runtime/program"
)

// goKind is a kind of code for these tests: the kernel's symbol says what Go
// does with its buffers.
const goKind = "go"

func init() { host.Register(goKind, loadGo) }

type goKernels struct {
	r      device.Request
	arena  []byte
	closed *atomic.Int64
}

// goHook is what the kernel hook does on a rank.
var goHook func(rank int) error

// closedEngines counts Close, which devices that each have a machine call beside
// each other.
var closedEngines atomic.Int64

func loadGo(r device.Request, arena []byte) (host.Kernels, error) {
	return &goKernels{r, arena, &closedEngines}, nil
}

func (e *goKernels) Close() { e.closed.Add(1) }

func (e *goKernels) Replay(prog, from, to int) error {
	for _, in := range e.r.Device.Progs[prog].Instrs[from:to] {
		at := func(i int) []float32 {
			b := e.r.Device.Buffers[in.Bufs[i]]
			return elements[float32](e.arena[b.Offset : b.Offset+b.Bytes])
		}
		switch k := e.r.Plan.Kernels[in.Kernel]; k.Symbol {
		case "copy":
			copy(at(1), at(0))
		case "double":
			for i := range at(0) {
				at(0)[i] *= 2
			}
		case "hook":
			if err := goHook(e.r.Rank); err != nil {
				return err
			}
		default:
			return fmt.Errorf("cannot %s", k.Symbol)
		}
	}
	return nil
}

// shardedPlan has four devices, dp = 2 × tp = 2. w of 4×6 is cut by columns
// over tp and x of 4×6 by rows over dp; a step copies w into its gradient,
// doubles w, and copies x into the loss.
func shardedPlan() *program.Plan {
	w := []program.Axis{{Name: "row", Size: 4, Global: 4}, {Name: "col", Size: 3, Global: 6, Mesh: []string{"tp"}}}
	x := []program.Axis{{Name: "row", Size: 2, Global: 4, Mesh: []string{"dp"}}, {Name: "col", Size: 6, Global: 6}}
	write := program.Arg{Bytes: 48, Write: true}
	return &program.Plan{
		Mesh: []program.MeshAxis{{Name: "dp", Size: 2}, {Name: "tp", Size: 2}},
		Code: []program.Code{{Kind: goKind}},
		Kernels: []program.Kernel{
			{Name: "copy", Symbol: "copy", Args: []program.Arg{{Bytes: 48}, write}},
			{Name: "double", Symbol: "double", Args: []program.Arg{write}},
			{Name: "head", Symbol: "copy", Args: []program.Arg{{Bytes: 48}, {Bytes: 4, Write: true}}},
		},
		Devices: []program.Device{{
			Arena: 320,
			Buffers: []program.Buffer{
				{Space: program.Params, Offset: 0, Bytes: 48, DType: "f32", Axes: w},
				{Space: program.Grads, Offset: 64, Bytes: 48, DType: "f32", Axes: w},
				{Space: program.Inputs, Offset: 128, Bytes: 48, DType: "f32", Axes: x},
				{Space: program.Activations, Offset: 192, Bytes: 4, DType: "f32"},
				{Space: program.Inputs, Offset: 256, Bytes: 4, DType: "i32"},
			},
			Tensors: []program.Tensor{{Path: "w", Buffer: 0, Train: true, Init: program.Init{Kind: "uniform"}}},
			Ports: []program.Port{
				{Program: "step", Role: program.RoleData, Path: "x", Buffer: 2},
				{Program: "step", Role: program.RoleStep, Buffer: 4},
				{Program: "step", Role: program.RoleLoss, Buffer: 3},
				{Program: "step", Role: program.RoleGrad, Path: "w", Buffer: 1, After: 1},
			},
			Progs: []program.Program{{Name: "step", Instrs: []program.Instr{
				{Kernel: 0, Bufs: []int{0, 1}}, {Kernel: 1, Bufs: []int{0}}, {Kernel: 2, Bufs: []int{2, 3}}, {Kernel: 1, Bufs: []int{1}},
			}}},
		}},
	}
}

// slicesOf is what each device of this process holds of a tensor.
func slicesOf(t *testing.T, m *Machine, path string) (out []Slice) {
	t.Helper()
	for _, p := range m.parts[m.byPath[path]] {
		mem, err := p.d.read(p.mem)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Slice{p.of(), slices.Clone(mem)})
	}
	return out
}

func count(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	return x
}

// TestSharded: whole tensors go in and come out, whatever part of them each
// device has.
func TestSharded(t *testing.T) {
	m := machine(t, shardedPlan(), 3)
	whole := count(24)
	if err := m.Write("w", whole); err != nil {
		t.Fatal(err)
	}
	for _, s := range slicesOf(t, m, "w") {
		want := []float32{0, 1, 2, 6, 7, 8, 12, 13, 14, 18, 19, 20} // columns 0 to 2
		lo := 0
		if s.Rank%2 == 1 {
			lo = 3
			for i := range want {
				want[i] += 3
			}
		}
		if !slices.Equal(s.Lo, []int{0, lo}) || !slices.Equal(s.Hi, []int{4, lo + 3}) || !slices.Equal(elements[float32](s.Bytes), want) {
			t.Errorf("rank %d holds [%v, %v) %v, want %v", s.Rank, s.Lo, s.Hi, elements[float32](s.Bytes), want)
		}
	}
	p := m.Program("step")
	if err := p.Feed("x", bytesOf(whole)); err != nil {
		t.Fatal(err)
	}
	for i, v := range p.Data("x") {
		from := 12 * (i / 2)
		if v.Rank != i || v.Lo[0] != 2*(i/2) || !slices.Equal(v.F32, whole[from:from+12]) {
			t.Errorf("rank %d is fed %v %v", i, v.Lo, v.F32)
		}
	}
	grads := 0
	err := p.RunWithGradients(func(g Tensor, s Slice) error {
		grads++
		lo := 3 * s.Rank // columns, over tp
		want := []float32{0, 1, 2, 6, 7, 8, 12, 13, 14, 18, 19, 20}
		for i := range want {
			want[i] += float32(lo)
		}
		if !slices.Equal(elements[float32](s.Bytes), want) || g.Path != "w" || !slices.Equal(g.Shape, []int{4, 6}) ||
			!slices.Equal(s.Lo, []int{0, lo}) || !slices.Equal(s.Hi, []int{4, lo + 3}) {
			t.Errorf("gradient of %v: %v", g, s)
		}
		return nil
	})
	if err != nil || grads != 2 { // of the four devices two have copies
		t.Fatalf("%d gradients, %v", grads, err)
	}
	got := make([]float32, 24)
	if err := m.Read("w", got); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i] != 2*whole[i] {
			t.Fatalf("w = %v", got)
		}
	}
	if p.Loss() != 0 { // x[0] of rank 0
		t.Errorf("loss %v", p.Loss())
	}
}

// TestGradientError stops a run where reading it fails.
func TestGradientError(t *testing.T) {
	m := machine(t, shardedPlan(), 1)
	full := errors.New("the disk is full")
	if err := m.Program("step").RunWithGradients(func(Tensor, Slice) error { return full }); err != full {
		t.Errorf("got %v", err)
	}
}

func TestTensors(t *testing.T) {
	p := toyPlan(nil)
	p.Code[0].Kind = goKind
	m := machine(t, p, 1)
	if ts := m.Tensors(); len(ts) != 2 || ts[0].Path != "w" || !ts[0].Train || ts[0].State || ts[1].Path != "w/m" || !ts[1].State ||
		ts[1].Train || ts[1].Bytes() != 128 || !slices.Equal(ts[0].Axes, []string{"row", "col"}) {
		t.Errorf("tensors %+v", ts)
	}
	if _, ok := m.Tensor("w/m"); !ok {
		t.Error("no w/m")
	}
	if _, ok := m.Tensor("v"); ok || m.Boxes("v") != nil || m.Program("play") != nil || m.Program("step").Data("y") != nil {
		t.Error("found what there is not")
	}
	x := count(64)
	x[5] = 1 + 1.0/512 // between two bf16, rounds to even: 1
	if err := m.Write("w/m", x); err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 64)
	if err := m.Read("w/m", got); err != nil {
		t.Fatal(err)
	}
	x[5] = 1
	if !slices.Equal(x, got) {
		t.Errorf("bf16: %v, want %v", got, x)
	}
	wantError(t, "unknown path", m.Read("v", got), ReasonInput)
	wantError(t, "too short", m.Read("w", got[:63]), ReasonInput)
	wantError(t, "too long", m.WriteBytes("w", make([]byte, 260)), ReasonInput)
	wantError(t, "unknown bytes", m.ReadBytes("v", nil), ReasonInput)
	wantError(t, "unknown field", m.Program("step").Feed("y", nil), ReasonInput)
	wantError(t, "short field", m.Program("step").Feed("x", make([]byte, 8)), ReasonInput)
}

func wantError(t *testing.T, what string, err error, reason Reason) {
	t.Helper()
	var e *Error
	switch {
	case !errors.As(err, &e) || e.Reason != reason:
		t.Errorf("%s: %v, want an error of %s", what, err, reason)
	case (e.ExitCode() == 4) != (reason == ReasonBug):
		t.Errorf("%s: exit code %d", what, e.ExitCode())
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(p *program.Plan)
		threads int
		want    Reason
	}{
		"invalid":   {func(p *program.Plan) { p.Kernels[0].Code = 3 }, 1, ReasonPlan},
		"feature":   {func(p *program.Plan) { p.Features = []string{"avx9000"} }, 1, ReasonHost},
		"kind":      {func(p *program.Plan) { p.Code[0].Kind = "ptx" }, 1, ReasonHost},
		"too large": {func(p *program.Plan) { p.Devices[0].Arena = 1 << 45 }, 1, ReasonMemory},
		"threads":   {func(p *program.Plan) {}, -1, ReasonInput},
	} {
		p := shardedPlan()
		c.change(p)
		m, err := Open(p, Options{Threads: c.threads})
		if err == nil {
			m.Close()
		}
		wantError(t, name, err, c.want)
	}
}

func TestClose(t *testing.T) {
	before := closedEngines.Load()
	p := shardedPlan()
	p.Kernels[1].Symbol = "fail"
	m, err := Open(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Threads() < 1 || m.Plan() != p {
		t.Error("threads or plan")
	}
	wantError(t, "failing kernel", m.Step(), ReasonBug)
	step := m.Program("step")
	m.Close()
	m.Close()
	if n := closedEngines.Load() - before; n != 4 {
		t.Errorf("%d of 4 engines closed", n)
	}
	wantError(t, "after Close", step.Run(), ReasonBug)
	wantError(t, "initialized after Close", m.Initialize(1), ReasonBug)
	if !math.IsNaN(step.Loss()) || step.Data("x") != nil {
		t.Error("memory is reached after Close")
	}
	m.SetStep(3)
	if err := step.Trace(func(Span) {}); err == nil {
		t.Error("traced after Close")
	}
}

// TestNoStep: a plan that only evaluates cannot step, and one without
// instructions needs no loader.
func TestNoStep(t *testing.T) {
	p := shardedPlan()
	p.Devices[0].Progs = []program.Program{{Name: "eval"}}
	p.Devices[0].Ports = nil
	p.Code[0].Kind = "nothing knows it"
	m := machine(t, p, 1)
	if err := m.Program("eval").Run(); err != nil {
		t.Error(err)
	}
	wantError(t, "step", m.Step(), ReasonPlan)
}
