package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"ptc/internal/foreign"
	"ptc/runtime/cuda"
	"ptc/runtime/cuda/blaslt"
	"ptc/runtime/cuda/blaslt/fakeblaslt"
	"ptc/runtime/cuda/fakecuda"
)

// onFake gives the machine GPUs that are emulated, or none.
func onFake(t *testing.T, o fakecuda.Options) *fakecuda.Driver {
	t.Helper()
	if err := foreign.Available(); err != nil {
		t.Skip(err)
	}
	d := fakecuda.New(o)
	cuda.Use(d.Lookup)
	t.Cleanup(func() { cuda.Use(nil) })
	return d
}

// TestDoctorGPUs: doctor lists the GPUs with what one has to know of them.
func TestDoctorGPUs(t *testing.T) {
	onFake(t, fakecuda.Options{GPUs: 2, Major: 8, Minor: 9, Memory: 3 << 30})
	text := must(t, "doctor", "--require", "cuda").out
	for _, want := range []string{"found    cuda    driver of CUDA 12.4; GPU 0: Fake GPU 0, compute capability 8.9, 3.00 GiB; GPU 1: Fake GPU 1", "ptc compile --target cuda"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	var h health
	if err := json.Unmarshal([]byte(must(t, "doctor", "--json").out), &h); err != nil {
		t.Fatal(err)
	}
	if h.CUDA == nil || h.CUDA.CUDA != "12.4" || len(h.CUDA.GPUs) != 2 || h.CUDA.GPUs[1] != (cuda.GPU{Name: "Fake GPU 1", Capability: "8.9", Memory: 3 << 30}) {
		t.Errorf("%+v", h.CUDA)
	}
	onFake(t, fakecuda.Options{NoGPU: true})
	if r := ptc(t, "doctor", "--require", "cuda"); r.code != exitInput || !strings.Contains(r.err, "cuda is missing: the driver finds no GPU of NVIDIA here") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}

// TestRunWithBlas: products are a library's where it is asked for and there, and how they are chosen is kept
// next to the plan; where it is not, that is told and the losses are the plan's own.
func TestRunWithBlas(t *testing.T) {
	if err := foreign.Many(); err != nil {
		t.Skip(err)
	}
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "cuda")...)
	if e := must(t, "explain", "a.bin", "--json").out; !strings.Contains(e, `"product": true`) {
		t.Error("explain knows of no products")
	}
	t.Cleanup(func() { blaslt.Use(nil) })
	run := func(o fakeblaslt.Options, args ...string) (result, *fakeblaslt.Library) {
		t.Helper()
		o.Driver = onFake(t, fakecuda.Options{})
		l := fakeblaslt.New(o)
		blaslt.Use(l.Lookup)
		return must(t, append([]string{"run", "a.bin", "--steps", "2"}, args...)...), l
	}
	own, l := run(fakeblaslt.Options{})
	if l.Called("cublasLtCreate") > 0 {
		t.Error("the library is used without being asked for")
	}
	for round := range 2 {
		lib, l := run(fakeblaslt.Options{}, "--blas", "lt")
		if files, _ := filepath.Glob("a.bin.blas/*.blas"); len(files) == 0 || len(l.Order()) == 0 || strings.Contains(lib.out+lib.err, "own kernels") {
			t.Errorf("round %d: %d choices kept, %d products\n%s%s", round, len(files), len(l.Order()), lib.out, lib.err)
		}
	}
	old, _ := run(fakeblaslt.Options{Version: 110803}, "--blas", "lt")
	if n := strings.Count(old.out+old.err, "own kernels compute all products: cuBLASLt is version 11.8"); n != 1 || lossLines(old.out) != lossLines(own.out) {
		t.Errorf("an old library: told %d times\n%s%s", n, old.out, old.err)
	}
	if r := ptc(t, "doctor", "--require", "cublas"); r.code != exitInput || !strings.Contains(r.err, "cublas is missing: cuBLASLt is version 11.8") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}

// TestRunOnGPU: a run says on which GPU it is and with which code, warns of what the driver's compiler notes,
// and profiles by the figures of the plan.
func TestRunOnGPU(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "cuda")...)
	if e := must(t, "explain", "a.bin").out; !strings.Contains(e, "cuda:sm_90a on 1 device, with code for sm_80 as well") {
		t.Errorf("explain says\n%s", e)
	}
	must(t, "verify", "a.bin")
	run := func(o fakecuda.Options, args ...string) (string, *fakecuda.Driver) {
		t.Helper()
		d := onFake(t, o)
		return must(t, append([]string{"run", "a.bin", "--steps", "4"}, args...)...).out, d
	}
	text, d := run(fakecuda.Options{})
	if !strings.Contains(text, "on          GPU 0 (Fake GPU 0), code for sm_90a\n") {
		t.Errorf("it begins with\n%s", text)
	}
	modules := d.Called("cuModuleLoadDataEx")
	if again, d := run(fakecuda.Options{Says: "info: (C7509) wgmma serialized"}); modules == 0 || d.Called("cuModuleLoadDataEx") != modules ||
		lossLines(again) != lossLines(text) || !strings.Contains(again, "says of module 0 of the plan: info: (C7509) wgmma serialized") {
		t.Errorf("%d modules loaded, and\n%s", modules, again)
	}
	old, _ := run(fakecuda.Options{Major: 8, Minor: 6}, "--rebuild", "--profile=p.json")
	if !strings.Contains(old, "code for sm_80\n") || !strings.Contains(old, "by the figures of NVIDIA A100 80GB: 19500.0 GFLOP/s of f32") {
		t.Errorf("on an older GPU\n%s", old)
	}
	onFake(t, fakecuda.Options{Major: 7, Minor: 5})
	if r := ptc(t, "run", "a.bin"); r.code != exitFile || !strings.Contains(r.err, "the plan is for GPUs of sm_90a (compute capability 9.0 alone) or sm_80 (compute capability 8.0 or later), and this one, Fake GPU 0, is of 7.5") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}

// TestFaultOnGPU: a kernel that fails is told with the step, and by its name in the first one.
func TestFaultOnGPU(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "cuda")...)
	d := onFake(t, fakecuda.Options{})
	d.Fail("cuLaunchKernel", 3, fakecuda.IllegalAddress)
	r := ptc(t, "run", "a.bin", "--steps", "3")
	for _, want := range []string{"program step failed in step 1 on rank 0: instruction ", ", kernel ", "GPU 0 (Fake GPU 0)", "CUDA_ERROR_ILLEGAL_ADDRESS"} {
		if r.code != exitBug || !strings.Contains(r.err, want) {
			t.Errorf("exit code %d, no %q in\n%s", r.code, want, r.err)
		}
	}
	d = onFake(t, fakecuda.Options{})
	d.Fail("cuGraphLaunch", 2, fakecuda.IllegalAddress)
	if r := ptc(t, "run", "a.bin", "--steps", "4"); r.code != exitBug || !strings.Contains(r.err, "program step failed in step 2 on rank 0: a kernel of program step failed on GPU 0") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}

// lossLines are the lines of steps up to their times.
func lossLines(text string) string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if step, rest, ok := strings.Cut(line, "loss "); ok && strings.HasPrefix(step, "step") {
			out = append(out, step+strings.Fields(rest)[0])
		}
	}
	return strings.Join(out, "\n")
}
