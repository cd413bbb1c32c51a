package host

import (
	"errors"
	"testing"

	"ptc/internal/collective"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// failing are kernels of which each fails while a transfer is under way.
type failing struct{ err error }

func (f *failing) Replay(int, int, int) error { return f.err }
func (*failing) Close()                       {}

// offloaded is a device that loads 64 bytes concurrently with a kernel.
func offloaded(t *testing.T, memory string, k Kernels) device.Engine {
	t.Helper()
	axes := []program.Axis{{Name: "col", Size: 16, Global: 16}}
	d := program.Device{Arena: 64,
		Buffers: []program.Buffer{{Memory: memory, Bytes: 64, DType: "f32", Axes: axes}, {Bytes: 64, DType: "f32", Axes: axes}},
		Progs: []program.Program{{Name: "step", Instrs: []program.Instr{
			{Bufs: []int{0, 1}, Comm: &program.Comm{Kind: collective.HostToDevice, Start: true}},
			{},
			{Comm: &program.Comm{Kind: collective.Done}},
		}}},
	}
	if d.Disk = 64; memory == program.Host {
		d.Disk, d.Host = 0, 64
	}
	open := Opener(func(device.Request, []byte) (Kernels, error) { return k, nil })
	e, err := open(device.Request{Plan: &program.Plan{Devices: []program.Device{d}}, Device: &d, Threads: 1, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// TestDrained: a program that fails leaves nothing under way, and can be run again.
func TestDrained(t *testing.T) {
	k := &failing{errors.New("it was the kernel")}
	e := offloaded(t, program.Host, k)
	p, err := e.Capture(0)
	if err != nil {
		t.Fatal(err)
	}
	p.Launch()
	var failed *device.KernelError
	if err := p.Wait(); !errors.As(err, &failed) || failed.Err != k.err {
		t.Fatalf("%v", err)
	}
	for _, x := range e.(*engine).mover.all {
		if x.busy {
			t.Error("a transfer is under way behind a program that failed")
		}
	}
	k.err = nil
	if err := e.Memory(program.Host).CopyIn(60, []byte{1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Step(0, 2), p.Stop(2)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 2)
	if err := e.Memory("").CopyOut(got, 62); err != nil || got[0] != 3 || got[1] != 4 {
		t.Errorf("%v, %v", got, err)
	}
}
