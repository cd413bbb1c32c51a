package exec

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/runtime/program"
)

// offloadPlan has a state of 2×16 elements in another memory, in two pieces. A
// step doubles each: the second is loaded while the first is doubled, and the
// first stored while the second is.
func offloadPlan(memory string) *program.Plan {
	axes := func(rows int) []program.Axis {
		return []program.Axis{{Name: "row", Size: rows, Global: rows}, {Name: "col", Size: 16, Global: 16}}
	}
	buffer := func(memory string, at int64, rows int) program.Buffer {
		return program.Buffer{Space: program.Optimizer, Memory: memory, Offset: at, Bytes: int64(rows) * 64, DType: "f32", Axes: axes(rows)}
	}
	move := func(kind string, start bool, bufs ...int) program.Instr {
		return program.Instr{Bufs: bufs, Comm: &program.Comm{Kind: kind, Bytes: 64, Start: start}}
	}
	done := func(of int) program.Instr { return program.Instr{Comm: &program.Comm{Kind: collective.Done, Of: of}} }
	p := &program.Plan{
		Code: []program.Code{{Kind: goKind}},
		Kernels: []program.Kernel{
			{Symbol: "double", Args: []program.Arg{{Bytes: 64, Write: true}}},
			{Symbol: "hook", Args: []program.Arg{}},
		},
		Devices: []program.Device{{
			Arena:   128,
			Buffers: []program.Buffer{buffer(memory, 0, 2), buffer(memory, 0, 1), buffer(memory, 64, 1), buffer("", 0, 1), buffer("", 64, 1)},
			Tensors: []program.Tensor{{Path: "w/m", Init: program.Init{Kind: "ones"}}},
			Progs: []program.Program{{Name: "step", Instrs: []program.Instr{
				move(collective.HostToDevice, false, 1, 3),
				move(collective.HostToDevice, true, 2, 4),
				{Bufs: []int{3}},
				{Kernel: 1},
				done(1),
				move(collective.DeviceToHost, true, 3, 1),
				{Bufs: []int{4}},
				done(5),
				move(collective.DeviceToHost, false, 4, 2),
			}}},
		}},
	}
	if d := &p.Devices[0]; memory == program.Host {
		d.Host = 128
	} else {
		d.Disk = 128
	}
	return p
}

// TestOffload: what is in other memories is computed with, read and written like
// all else, and a step allocates nothing for it.
func TestOffload(t *testing.T) {
	for _, memory := range []string{program.Host, program.Disk} {
		goHook = func(int) error { return nil }
		m, err := Open(offloadPlan(memory), Options{OffloadDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if err := m.Initialize(1); err != nil {
			t.Fatal(err)
		}
		expect := func(want func(i int) float32) {
			t.Helper()
			got := make([]float32, 32)
			if err := m.Read("w/m", got); err != nil {
				t.Fatal(err)
			}
			for i, x := range got {
				if x != want(i) {
					t.Fatalf("%s: element %d is %v, want %v", memory, i, x, want(i))
				}
			}
		}
		expect(func(int) float32 { return 1 })
		for range 3 {
			if err := m.Step(); err != nil {
				t.Fatal(err)
			}
		}
		expect(func(int) float32 { return 8 })
		if err := m.Write("w/m", count(32)); err != nil {
			t.Fatal(err)
		}
		if err := m.Program("step").Trace(func(Span) {}); err != nil {
			t.Fatal(err)
		}
		expect(func(i int) float32 { return 2 * float32(i) })
		if n := testing.AllocsPerRun(100, func() {
			if err := m.Step(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 && !onFake {
			t.Errorf("%s: the transfers of a step allocate %v times", memory, n)
		}
	}
}

// TestOffloadFails: a run that fails in the middle leaves nothing under way, and
// the machine can be run again, and closed.
func TestOffloadFails(t *testing.T) {
	bad := errors.New("it was the hook")
	for _, again := range []bool{false, true} {
		m, err := Open(offloadPlan(program.Disk), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Initialize(1); err != nil {
			t.Fatal(err)
		}
		goHook = func(int) error { return bad }
		if err := m.Step(); !errors.Is(err, bad) {
			t.Fatalf("%v", err)
		}
		if goHook = func(int) error { return nil }; again {
			got := make([]float32, 32)
			if err := m.Step(); err != nil {
				t.Fatal(err)
			}
			if err := m.Read("w/m", got); err != nil || slices.Min(got) != 2 || slices.Max(got) != 2 {
				t.Errorf("%v, %v", got, err)
			}
		}
		m.Close()
	}
}

// TestNoRoomToOffload: what is wrong with the folder is said before the run.
func TestNoRoomToOffload(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	huge := offloadPlan(program.Disk)
	huge.Devices[0].Disk = 1 << 45
	for _, c := range []struct {
		plan *program.Plan
		dir  string
		want string
	}{
		{offloadPlan(program.Disk), missing, "a file of 128 bytes in " + missing + " cannot be made: no such file or directory"},
		{huge, "", "there is no room to offload 32.0 TiB to disk"},
	} {
		_, err := Open(c.plan, Options{OffloadDir: c.dir})
		var e *Error
		if !errors.As(err, &e) || e.Reason != ReasonMemory || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
