package fake_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	_ "ptc/runtime/comm/local"
	"ptc/runtime/device"
	"ptc/runtime/device/fake"
	"ptc/runtime/device/host"
	"ptc/runtime/program"
)

// kernels add one to the first buffer of each instruction, f32[16], or fail.
type kernels struct {
	r     device.Request
	arena []byte
}

func (k *kernels) Close() {}

func (k *kernels) Replay(prog, from, to int) error {
	for _, in := range k.r.Device.Progs[prog].Instrs[from:to] {
		switch in.Scope {
		case "fail":
			return errors.New("no more")
		case "panic":
			panic("at the disco")
		}
		src, dst := k.arena[k.r.Device.Buffers[in.Bufs[0]].Offset:], k.arena[k.r.Device.Buffers[in.Bufs[1]].Offset:]
		for at := 0; at < 64; at += 4 {
			x := math.Float32frombits(binary.LittleEndian.Uint32(src[at:])) + 1
			binary.LittleEndian.PutUint32(dst[at:], math.Float32bits(x))
		}
	}
	return nil
}

// Buffers of the device of these tests: a state, the same in the host's memory,
// data that comes in, a temporary, and the loss, which is where the temporary is.
const (
	state = iota
	spill
	data
	temporary
	loss
)

// plan loads the state, meanwhile adds to the data, then to the state.
//
//	start load ── temporary = data + 1 ── done ── state = state + 1
func plan() *program.Plan {
	axes := []program.Axis{{Name: "x", Size: 16, Global: 16}}
	buffer := func(memory string, at int64) program.Buffer {
		return program.Buffer{Memory: memory, Offset: at, Bytes: 64, DType: "f32", Axes: axes}
	}
	d := program.Device{Arena: 192, Host: 64,
		Buffers: []program.Buffer{state: buffer("", 0), spill: buffer(program.Host, 0), data: buffer("", 64), temporary: buffer("", 128),
			loss: {Offset: 128, Bytes: 4, DType: "f32"}},
		Tensors: []program.Tensor{{Path: "w", Buffer: state}, {Path: "w/m", Buffer: spill}},
		Ports: []program.Port{{Program: "step", Role: program.RoleData, Path: "x", Buffer: data},
			{Program: "step", Role: program.RoleLoss, Buffer: loss}},
		Progs: []program.Program{{Name: "step", Instrs: []program.Instr{
			{Bufs: []int{spill, state}, Comm: &program.Comm{Kind: collective.HostToDevice, Start: true}},
			{Bufs: []int{data, temporary}},
			{Comm: &program.Comm{Kind: collective.Done}},
			{Bufs: []int{state, state}},
		}}},
	}
	return &program.Plan{Devices: []program.Device{d}}
}

// opened is a device on an engine with that seed, its state in the host's memory 5.
func opened(t *testing.T, p *program.Plan, seed uint64) (device.Engine, device.Program) {
	t.Helper()
	open := fake.Wrap(seed)(host.Opener(func(r device.Request, arena []byte) (host.Kernels, error) { return &kernels{r, arena}, nil }))
	e, err := open(device.Request{Plan: p, Device: &p.Devices[0], Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	step, err := e.Capture(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Memory(program.Host).CopyIn(0, floats(5)); err != nil {
		t.Fatal(err)
	}
	copy(step.Port(0), floats(2))
	return e, step
}

func floats(x float32) []byte {
	return bytes.Repeat(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)), 16)
}

func number(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// TestRight: used as it is meant to be, it computes what it should, twice.
func TestRight(t *testing.T) {
	for seed := range uint64(20) {
		e, step := opened(t, plan(), seed)
		for range 2 {
			step.Launch()
			if err := step.Wait(); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 64)
			if err := e.Memory("").CopyOut(got, 0); err != nil || !bytes.Equal(got, floats(6)) || number(step.Port(1)) != 3 {
				t.Fatalf("seed %d: state %v, loss %v, %v", seed, number(got), number(step.Port(1)), err)
			}
		}
		for i := range 4 {
			if err := step.Step(i, i+1); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestCarelessRuntime: what a runtime must not do gives an error, or what is no
// number.
func TestCarelessRuntime(t *testing.T) {
	for seed := range uint64(4) {
		for name, fault := range map[string]func(e device.Engine, p device.Program) error{
			"a result is read before it is waited for": func(_ device.Engine, p device.Program) error {
				p.Launch()
				x := number(p.Port(1))
				if err := p.Wait(); err != nil {
					return err
				}
				return unlessNumber(x)
			},
			"memory is read during a program": func(e device.Engine, p device.Program) error {
				p.Launch()
				err := e.Memory("").CopyOut(make([]byte, 4), 0)
				return errors.Join(err, p.Wait())
			},
			"memory is written during a program": func(e device.Engine, p device.Program) error {
				p.Launch()
				err := e.Memory("").CopyIn(64, make([]byte, 4))
				return errors.Join(err, p.Wait())
			},
			"a result is read where a transfer is under way": func(e device.Engine, p device.Program) error {
				if err := p.Step(0, 2); err != nil {
					return fmt.Errorf("not here: %w", err)
				}
				return e.Memory("").CopyOut(make([]byte, 4), 0)
			},
			"a source is written under way": func(e device.Engine, p device.Program) error {
				if err := p.Step(0, 2); err != nil {
					return fmt.Errorf("not here: %w", err)
				}
				return e.Memory(program.Host).CopyIn(0, make([]byte, 4))
			},
			"a run goes on elsewhere": func(_ device.Engine, p device.Program) error {
				return errors.Join(p.Step(0, 1), p.Step(2, 3))
			},
			"a run ends with something under way": func(_ device.Engine, p device.Program) error {
				return errors.Join(p.Step(0, 2), p.Stop(2), p.Step(2, 3))
			},
			"a run begins with something under way": func(_ device.Engine, p device.Program) error {
				return errors.Join(p.Step(0, 2), p.Step(0, 1))
			},
			"a temporary is read behind another run began": func(e device.Engine, p device.Program) error {
				got := make([]byte, 4)
				err := errors.Join(p.Step(0, 4), p.Step(0, 1), p.Stop(1), e.Memory("").CopyOut(got, 128))
				if err != nil {
					return fmt.Errorf("not here: %w", err)
				}
				return unlessNumber(number(got))
			},
			"a wait without a launch": func(_ device.Engine, p device.Program) error { return p.Wait() },
			"memory outside":          func(e device.Engine, _ device.Program) error { return e.Memory("").CopyIn(190, make([]byte, 4)) },
			"bytes of the host": func(e device.Engine, _ device.Program) error {
				if b, ok := e.Memory("").HostBytes(); ok || b != nil {
					return nil
				}
				return errors.New("fake: none")
			},
		} {
			e, p := opened(t, plan(), seed)
			if err := fault(e, p); err == nil || !strings.Contains(err.Error(), "fake: ") || strings.Contains(err.Error(), "not here") {
				t.Errorf("seed %d, %s: %v", seed, name, err)
			}
		}
	}
}

func unlessNumber(x float32) error {
	if x != x {
		return errors.New("fake: not a number")
	}
	return nil
}

// TestLateFeed: data that is exchanged behind a launch is what the program gets, as
// late as it is run.
func TestLateFeed(t *testing.T) {
	_, p := opened(t, plan(), fake.Latest)
	p.Launch()
	copy(p.Port(0), floats(8))
	if err := p.Wait(); err != nil || number(p.Port(1)) != 9 {
		t.Errorf("%v, %v", number(p.Port(1)), err)
	}
}

// TestTransportRefuses: a transport of the host's bytes does not take this memory.
func TestTransportRefuses(t *testing.T) {
	e, _ := opened(t, plan(), 1)
	mesh, err := comm.NewMesh(nil)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := comm.Open("local", mesh, comm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if ends[0].Serves(e.Memory("")) || !ends[0].Serves(device.NewHost(nil, nil)) {
		t.Error("served")
	}
	at := device.Range{Memory: e.Memory(""), Bytes: 64}
	if _, err := ends[0].Prepare(comm.Op{Kind: collective.AllReduce, Group: mesh.World(), DType: dtype.F32, Inner: 16, Src: at, Dst: at}); err == nil || !strings.Contains(err.Error(), "not in host memory") {
		t.Errorf("%v", err)
	}
}

// TestFailures: errors and panics of kernels come out of Wait and Step, and leave
// nothing under way.
func TestFailures(t *testing.T) {
	for seed := range uint64(4) {
		bad := plan()
		bad.Devices[0].Progs[0].Instrs[1].Scope = "fail"
		_, p := opened(t, bad, seed)
		var k *device.KernelError
		for range 2 {
			p.Launch()
			if err := p.Wait(); !errors.As(err, &k) || k.Error() != "no more" {
				t.Errorf("%v", err)
			}
		}
		bad.Devices[0].Progs[0].Instrs[1].Scope = "panic"
		func() {
			defer func() {
				if got := recover(); got != "at the disco" {
					t.Errorf("panics %v", got)
				}
			}()
			_ = p.Step(0, 2)
		}()
	}
}
