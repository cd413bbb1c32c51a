package cuda

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// simple is a plan of two kernels of two modules.
func simple() *toy {
	toy := newToy()
	a, b := toy.buffer("", "i32", elems), toy.buffer("", "i32", elems)
	toy.kernel(next, a, b)
	toy.kernel(mix, a, b, a)
	return toy
}

// TestCannotRun: why a plan cannot run here, in words of who runs it, by Fits and by Open alike.
func TestCannotRun(t *testing.T) {
	retarget := func(from, to string) func(*toy) {
		return func(t *toy) {
			for i := range t.Code {
				t.Code[i].Data = bytes.Replace(t.Code[i].Data, []byte(from), []byte(to), 1)
			}
		}
	}
	for _, c := range []struct {
		name   string
		o      fakecuda.Options
		change func(*toy)
		want   string
		late   bool // Fits does not know it
	}{
		{"no GPU", fakecuda.Options{NoGPU: true}, nil, "this plan is for GPUs of NVIDIA: the driver finds no GPU", false},
		{"old library", fakecuda.Options{Missing: []string{"cuGraphAddKernelNode_v2"}}, nil, "too old: libcuda.so.1 has no cuGraphAddKernelNode_v2", false},
		{"old driver", fakecuda.Options{Version: 12020}, nil, "PTX 8.3, which drivers of CUDA 12.3 and later know, and this one is of 12.2", false},
		{"old GPU", fakecuda.Options{Major: 8, Minor: 6}, nil, "sm_90a (compute capability 9.0 alone), and this one, Fake GPU 0, is of 8.6", false},
		{"new GPU", fakecuda.Options{Major: 10, Minor: 0}, nil, "compile for it, with target=cuda:sm_100", false},
		{"other target", fakecuda.Options{}, retarget("sm_90a", "gfx90a"), `for "gfx90a", which is no kind of GPU`, false},
		{"no target", fakecuda.Options{}, retarget(".target", "//"), "says no version, or not what GPU", false},
		{"zero", fakecuda.Options{}, func(t *toy) { t.Code[0].Data[100] = 0 }, "byte 100 of its text is zero", false},
		{"little memory", fakecuda.Options{Memory: 1000}, nil, "", false},
		{"disk", fakecuda.Options{}, func(t *toy) { t.d.Disk = 1 << 20 }, "offloads 1.00 MiB to disk, which a GPU does not do", true},
		{"no entry", fakecuda.Options{}, func(t *toy) { t.Kernels[next].Symbol = "gone" }, "kernel next.0 (entry gone) cannot be run: module 1 has no such entry", true},
		{"arguments", fakecuda.Options{}, func(t *toy) { t.Kernels[mix].Symbol = "wild" }, "the entry has 2 parameters, and the kernel 3 arguments", true},
		{"parameters", fakecuda.Options{}, retarget(".param .u64 p1", ".param .align 8 .b8 p1[128]"), "expected an address", false},
		{"no code", fakecuda.Options{}, retarget("mov.u32", "frob.u32"), "cannot compile module 0 of the plan: cuModuleLoadDataEx gives CUDA_ERROR_INVALID_PTX", true},
		{"log", fakecuda.Options{}, retarget("mov.u32", "frob.u32"), "\nemu: mix: `frob.u32", true},
		{"shared memory", fakecuda.Options{}, func(t *toy) { t.Kernels[next].Shared = 228 << 10 }, "a block of kernel next.0, of the code for sm_90a, needs 228 KiB of shared memory, and one of Fake GPU 0 has at most 227 KiB", false},
		{"threads", fakecuda.Options{}, func(t *toy) { t.Kernels[next].Threads = 0 }, "how many threads", true},
		{"kind", fakecuda.Options{}, func(t *toy) { t.Code[1].Kind = "elf" }, `code of kind "elf"`, false},
	} {
		toy := simple()
		if c.change != nil {
			c.change(toy)
		}
		drv := onFake(t, c.o)
		fit := fits(toy.Plan, []*program.Device{toy.d})
		_, _, err := toy.opened(device.Request{})
		var full *device.MemoryError
		if c.want == "" {
			if !errors.As(err, &full) || !errors.As(fit, &full) || !strings.Contains(err.Error(), "1000 B free of 1000 B") || !strings.Contains(fit.Error(), "1.00 KiB of memory") {
				t.Errorf("%s: found %v and %v; expected errors of memory", c.name, fit, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) || !c.late && (fit == nil || !strings.Contains(fit.Error(), c.want)) || c.late && fit != nil {
			t.Errorf("%s: found %v and %v; expected %q", c.name, fit, err, c.want)
		}
		clean(t, drv)
	}
}

// TestHeaders: text of modules, of which a plan may have any, is read without a panic, and with
// all entries or not at all.
func TestHeaders(t *testing.T) {
	code, _ := kernels()
	h, err := readHeader(code[1].Data)
	if err != nil || h.version != "8.3" || h.target != "sm_90a" || len(h.params) != 3 || h.params["stir"] != (params{addresses: 2}) || h.params["nothing"] != (params{}) {
		t.Errorf("%+v, %v", h, err)
	}
	head := ".version 8.3\n.target sm_90a\n"
	for text, want := range map[string]string{
		head + ".entry k(": "ends within the entry k", head + ".entry k": "ends within", "": "says no version",
		head + ".entry k()\n.entry k()": "two entries k", head + ".entry k(.param .u32 x)": "expected an address",
		head + "// .entry k(.param .u64 x)\n.entry k(.param .u64 x, .param .u64 y)": "two entries",
		head + ".entry k(.param .u64 x /*)*/, .param .u64 y)":                       "expected an address",
	} {
		if _, err := readHeader([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: found %v; expected %q", text, err, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		text := slices.Clone(code[1].Data)
		for range 1 + rng.IntN(4) {
			i := rng.IntN(len(text))
			switch j := min(len(text), i+rng.IntN(40)); rng.IntN(3) {
			case 0:
				text[i] = byte(rng.IntN(256))
			case 1:
				text = slices.Delete(text, i, j)
			default:
				text = slices.Insert(text, i, text[i:j]...)
			}
		}
		_, _ = readHeader(text)
	}
}

func TestArchitectures(t *testing.T) {
	for target, want := range map[string]string{
		"sm_80": "8.0 8.6 9.0 10.0 10.3", "sm_86": "8.6 9.0 10.0 10.3", "sm_90a": "9.0", "sm_100f": "10.0 10.3", "sm_103a": "10.3", "sm_90, texmode_unified": "9.0 10.0 10.3",
	} {
		a, err := readArch(target)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range []gpu{{major: 8}, {major: 8, minor: 6}, {major: 9}, {major: 10}, {major: 10, minor: 3}} {
			if a.runsOn(g) {
				got = append(got, strings.Fields(arch{g.major, g.minor, ""}.String())[0])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s runs on %v; expected %s", target, got, want)
		}
	}
	for _, target := range []string{"", "sm_", "sm_9", "sm_90b", "sm_-90", "sm_999999", "compute_90"} {
		if _, err := readArch(target); err == nil {
			t.Errorf("%q is a target", target)
		}
	}
}

// TestFault: a kernel that reaches beyond memory is told by its name, and all is freed behind it.
func TestFault(t *testing.T) {
	for _, step := range []bool{false, true} {
		toy := simple()
		toy.kernel(wild, 0, 1)
		toy.kernel(next, 0, 1)
		drv := onFake(t, fakecuda.Options{})
		e, p, err := toy.opened(device.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if err := toy.write(e, toy.fresh(rand.New(rand.NewPCG(1, 1)))); err != nil {
			t.Fatal(err)
		}
		want := "instruction 2, kernel wild.0 of program step failed on GPU 0 (Fake GPU 0)"
		if step {
			err = p.Step(0, 4)
		} else {
			p.Launch()
			err = p.Wait()
		}
		var failed *device.KernelError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS") {
			t.Errorf("found %v; expected %q", err, want)
		}
		if f := drv.Faults(); len(f) != 1 || !strings.Contains(f[0], "emu: wild") {
			t.Errorf("faults %q", f)
		}
		if err := e.Memory("").CopyOut(make([]byte, 4), 0); err == nil {
			t.Error("memory is read on a GPU that has failed")
		}
		p.Launch()
		if err := p.Wait(); err == nil {
			t.Error("a GPU that has failed goes on")
		}
		e.Close()
		clean(t, drv)
	}
}

// TestLateFault: a kernel that fails in a later run, where it is part of a graph, is told by its program.
func TestLateFault(t *testing.T) {
	toy := simple()
	drv := onFake(t, fakecuda.Options{})
	e, p, err := toy.opened(device.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if err := toy.write(e, toy.fresh(rand.New(rand.NewPCG(1, 1)))); err != nil {
		t.Fatal(err)
	}
	p.Launch()
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	p.Launch()
	drv.Lose(0, fakecuda.IllegalAddress)
	var failed *device.KernelError
	want := "a kernel of program step failed on GPU 0 (Fake GPU 0): "
	if err := p.Wait(); !errors.As(err, &failed) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS") {
		t.Errorf("found %v; expected %q", err, want)
	}
	e.Close()
	clean(t, drv)
}

// TestLost: a GPU that is gone is an error of every call, and of Close none.
func TestLost(t *testing.T) {
	toy := simple()
	drv := onFake(t, fakecuda.Options{GPUs: 2})
	e, p, err := toy.opened(device.Request{Rank: 3})
	if err != nil {
		t.Fatal(err)
	}
	drv.Lose(0, fakecuda.Unknown) // another one
	if err := p.Step(0, 1); err != nil {
		t.Fatal(err)
	}
	drv.Lose(1, fakecuda.Unknown)
	p.Launch()
	var failed *device.KernelError
	for _, err := range []error{p.Wait(), p.Step(0, 1), p.Stop(0), e.Memory("").CopyIn(0, make([]byte, 4))} {
		if err == nil || errors.As(err, &failed) || !strings.Contains(err.Error(), "GPU 1") {
			t.Errorf("found %v; expected that GPU 1 is gone", err)
		}
	}
	if _, err := e.Capture(0); err == nil {
		t.Error("a program is captured on a GPU that is gone")
	}
	e.Close()
	clean(t, drv)
}

// TestMemory copies within and between the memories of a device, and refuses what is outside.
func TestMemory(t *testing.T) {
	toy := newToy()
	toy.buffer("", "i32", elems)
	toy.buffer(program.Host, "i32", elems)
	toy.kernel(nothing)
	drv := onFake(t, fakecuda.Options{}) // as late as it may
	e, _, err := toy.opened(device.Request{})
	if err != nil {
		t.Fatal(err)
	}
	own, host := e.Memory(""), e.Memory(program.Host)
	if e.Memory(program.Disk) != nil || own.Size() != 4*elems || host.Size() != 4*elems {
		t.Fatal("there are other memories")
	}
	if _, ok := own.HostBytes(); ok {
		t.Error("the GPU's memory is the host's")
	}
	if b, ok := host.HostBytes(); !ok || len(b) != 4*elems {
		t.Error("the host's memory is not")
	}
	got := make([]byte, 6)
	for _, err := range []error{
		host.CopyIn(10, []byte("abcdef")), own.Copy(100, device.Range{Memory: host, Offset: 10, Bytes: 6}), host.CopyIn(10, []byte("behind")),
		own.Copy(7, device.Range{Memory: own, Offset: 102, Bytes: 3}), host.Copy(20, device.Range{Memory: own, Offset: 7, Bytes: 3}),
		own.Copy(200, device.Bytes([]byte("xyz"))), own.Copy(0, device.Range{Memory: own}), own.CopyIn(4*elems, nil),
		own.CopyOut(got[3:], 200), host.CopyOut(got[:3], 20),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if string(got) != "cdexyz" {
		t.Errorf("%q", got)
	}
	for i, err := range []error{
		own.CopyIn(-1, got), own.CopyIn(4*elems-5, got), own.CopyOut(got, 4*elems), own.CopyOut(got, 1<<62),
		own.Copy(0, device.Range{Memory: own, Offset: 4*elems - 1, Bytes: 2}), own.Copy(0, device.Range{Memory: elsewhere{}, Bytes: 4}),
	} {
		if err == nil {
			t.Errorf("copy %d is outside, and is done", i)
		}
	}
	e.Close()
	if own.CopyIn(0, got) == nil {
		t.Error("closed memory is written")
	}
	clean(t, drv)
}

// elsewhere is a memory that is not the host's.
type elsewhere struct{ device.Memory }

func (elsewhere) HostBytes() ([]byte, bool) { return nil, false }
