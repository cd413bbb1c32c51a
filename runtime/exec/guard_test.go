package exec

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/runtime/program"
)

// guardedPlan computes its loss from data while a state is loaded, then changes a
// parameter and the state.
//
//	start load ── loss = early = x ── g = x ┆ double w ── done ── double m ── store ── late = x
func guardedPlan() *program.Plan {
	axes := []program.Axis{{Name: "x", Size: 16, Global: 16}}
	buffer := func(space program.Space, memory string, at int64) program.Buffer {
		return program.Buffer{Space: space, Memory: memory, Offset: at, Bytes: 64, DType: "f32", Axes: axes}
	}
	ones := program.Init{Kind: "ones"}
	write := program.Arg{Bytes: 64, Write: true}
	return &program.Plan{
		Code: []program.Code{{Kind: goKind}},
		Kernels: []program.Kernel{
			{Symbol: "copy", Args: []program.Arg{{Bytes: 64}, {Bytes: 4, Write: true}}},
			{Symbol: "copy", Args: []program.Arg{{Bytes: 64}, write}},
			{Symbol: "double", Args: []program.Arg{write}},
		},
		Devices: []program.Device{{
			Arena: 384, Host: 64,
			Buffers: []program.Buffer{
				buffer(program.Optimizer, program.Host, 0), buffer(program.Optimizer, "", 0), buffer(program.Params, "", 64),
				buffer(program.Inputs, "", 128), {Space: program.Activations, Offset: 192, Bytes: 4, DType: "f32"}, buffer(program.Grads, "", 256),
				{Space: program.Activations, Offset: 320, Bytes: 4, DType: "f32"},
			},
			Tensors: []program.Tensor{{Path: "w", Buffer: 2, Train: true, Init: ones}, {Path: "w/m", Buffer: 0, Init: ones}},
			Ports: []program.Port{
				{Program: "step", Role: program.RoleData, Path: "x", Buffer: 3},
				{Program: "step", Role: program.RoleLoss, Buffer: 4},
				{Program: "step", Role: program.RoleGrad, Path: "w", Buffer: 5, After: 3},
				{Program: "step", Role: program.RoleStat, Path: "early", Buffer: 4},
				{Program: "step", Role: program.RoleStat, Path: "late", Buffer: 6},
			},
			Progs: []program.Program{{Name: "step", Instrs: []program.Instr{
				{Bufs: []int{0, 1}, Comm: &program.Comm{Kind: collective.HostToDevice, Bytes: 64, Start: true}},
				{Kernel: 0, Bufs: []int{3, 4}},
				{Kernel: 1, Bufs: []int{3, 5}},
				{Kernel: 2, Bufs: []int{2}},
				{Comm: &program.Comm{Kind: collective.Done}},
				{Kernel: 2, Bufs: []int{1}},
				{Bufs: []int{1, 0}, Comm: &program.Comm{Kind: collective.DeviceToHost, Bytes: 64}},
				{Kernel: 0, Bufs: []int{3, 6}},
			}}},
		}},
	}
}

// TestEndsEarly: a step that ends before its update, or because a gradient cannot be
// written, leaves nothing under way, and its tensors as they were.
func TestEndsEarly(t *testing.T) {
	m := machine(t, guardedPlan(), 1)
	step := m.Program("step")
	if ok, err := step.StopBeforeUpdate(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := m.Initialize(1); err != nil {
		t.Fatal(err)
	}
	x := count(16)
	x[0], x[3] = float32(math.NaN()), float32(math.Inf(1))
	full := errors.New("the disk is full")
	for name, run := range map[string]func() error{
		"run":       step.Run,
		"trace":     func() error { return step.Trace(func(Span) {}) },
		"gradients": func() error { return step.RunWithGradients(func(Tensor, Slice) error { return full }) },
	} {
		if err := step.Feed("x", bytesOf(x)); err != nil {
			t.Fatal(err)
		}
		if err := run(); !errors.Is(err, ErrNotFinite) && err != full {
			t.Errorf("%s: %v", name, err)
		}
		if err := errors.Join(m.Write("w/m", count(16)), m.Write("w", count(16))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if v, ok := step.Stat("late"); !ok || !math.IsNaN(v) || step.Known("late") || !step.Known("early") {
		t.Errorf("a stat that was not computed is %v, %v; known are late %v, early %v", v, ok, step.Known("late"), step.Known("early"))
	}
	if n, err := step.FindNonFinite(); err != nil || n == nil || !strings.Contains(n.String(), "the field x of the data: 1 NaN and 1 infinite of 16") {
		t.Errorf("%v, %v", n, err)
	}
	if err := errors.Join(step.Feed("x", bytesOf(count(16))), step.Run()); err != nil {
		t.Fatal(err)
	}
	want := count(16)
	if v, _ := step.Stat("late"); v != float64(want[0]) || !step.Known("late") {
		t.Errorf("of a whole step it is %v", v)
	}
	for i := range want {
		want[i] *= 2
	}
	for _, path := range []string{"w", "w/m"} {
		got := make([]float32, 16)
		if err := m.Read(path, got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %v, %v", path, got, err)
		}
	}
}
