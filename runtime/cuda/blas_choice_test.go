package cuda_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptc/runtime/cuda"
	"ptc/runtime/cuda/blaslt/fakeblaslt"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/program"
)

// two are kernels that have nothing to do with each other: a product and a horizontal kernel of products.
const two = `func @one class=kernel kind=gemm
  arg %0 : f32[m=8, k=16] in
  arg %1 : f32[k=16, n=8] in
  %2 : f32[m=8, n=8] = dot %0, %1 over=(k)
  result %2 out
end

func @several class=kernel kind=horizontal
  arg %0 : f32[m=8, k=16] in
  arg %1 : f32[k=16, n=8] in
  arg %2 : f32[h=4, k=16] in
  %3 : f32[m=8, n=8] = dot %0, %1 over=(k)
  %4 : f32[m=8, h=4] = dot %0, %2 over=(k)
  result %3 out
  result %4 out
end
`

// slow takes longer than any kernel of these tests.
const slow = 1 << 40

// run opens a plan, runs it one by one and as a graph, and compares it; it gives the products that the library
// computed in the latter run.
func run(t *testing.T, x *products, lib *fakeblaslt.Library, dir string) (order, told []string) {
	t.Helper()
	e, p, err := x.open(t, dir, &told)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	first := len(lib.Order())
	if err := x.check(e, p, 1, false); err != nil {
		t.Fatal(err)
	}
	before := len(lib.Order())
	if err := x.check(e, p, 1, false); err != nil {
		t.Fatal(err)
	}
	if before-first != len(lib.Order())-before {
		t.Errorf("the library computed %d products one by one and %d in a graph", before-first, len(lib.Order())-before)
	}
	return lib.Order()[before:], told
}

// TestFaster: the library computes what it is faster at by 3%, by its fastest algorithm; a kernel of several
// products is held to the sum of theirs.
func TestFaster(t *testing.T) {
	offer := func(times ...int64) (out []fakeblaslt.Offer) {
		for _, n := range times {
			out = append(out, fakeblaslt.Offer{Time: n})
		}
		return out
	}
	own := map[string]int64{}
	for _, text := range strings.SplitAfter(two, "end\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		x := newProducts(t, text, false, nil)
		n := int64(len(x.plan.Kernels[0].Products))
		name := x.fs[0].Name
		for _, c := range []struct {
			name   string
			offers func(own int64) []fakeblaslt.Offer
			want   string // the algorithm; "": the own kernel
		}{
			{"slower", func(int64) []fakeblaslt.Offer { return offer(slow) }, ""},
			{"faster", func(int64) []fakeblaslt.Offer { return offer(slow, 20, 10, 30) }, "2"},
			{"as fast", func(own int64) []fakeblaslt.Offer { return offer(own / n) }, ""},
			{"hardly faster", func(own int64) []fakeblaslt.Offer { return offer(own * 98 / 100 / n) }, ""},
			{"faster by enough", func(own int64) []fakeblaslt.Offer { return offer(slow, own*96/100/n) }, "1"},
			{"beyond the 8th", func(int64) []fakeblaslt.Offer { return offer(slow, slow, slow, slow, slow, slow, slow, slow, 1) }, ""},
		} {
			drv := onFake(t, fakecuda.Options{})
			if own[name] == 0 {
				own[name] = ownTime(t, x, drv)
			}
			lib := withLibrary(t, fakeblaslt.Options{Driver: drv, Offers: c.offers(own[name])})
			order, told := run(t, x, lib, "")
			if want := c.want != ""; want != (len(order) > 0) || want && (!strings.HasPrefix(order[0], c.want+":") || int64(len(order)) != n) || len(told) > 0 {
				t.Errorf("%s, %s: the library computed %q, told %q", name, c.name, order, told)
			}
		}
	}
}

// ownTime is how many instructions of warps the own kernel takes.
func ownTime(t *testing.T, x *products, drv *fakecuda.Driver) int64 {
	t.Helper()
	lib := withLibrary(t, fakeblaslt.Options{Driver: drv, Refuses: true})
	before := drv.Instructions(0)
	run(t, x, lib, "")
	return (drv.Instructions(0) - before) / 2
}

// TestChoicesAreKept: a second run takes what the first one found, from its files; what is damaged, or is
// not offered any more, is found again.
func TestChoicesAreKept(t *testing.T) {
	x, dir := newProducts(t, two, false, nil), t.TempDir()
	tried := func(what string, want []string, offers ...fakeblaslt.Offer) bool {
		t.Helper()
		drv := onFake(t, fakecuda.Options{})
		lib := withLibrary(t, fakeblaslt.Options{Driver: drv, Offers: offers})
		order, told := run(t, x, lib, dir)
		for i := range order {
			order[i], _, _ = strings.Cut(order[i], ":")
		}
		if !slices.Equal(order, want) || len(told) > 0 {
			t.Errorf("%s: the library computed %q, told %q", what, order, told)
		}
		return drv.Called("cuEventElapsedTime") > 0
	}
	both := []fakeblaslt.Offer{{Time: 500}, {Time: 10}}
	change := []fakeblaslt.Offer{{Time: 10}, {Time: 500}}
	files := func() []string {
		all, err := filepath.Glob(filepath.Join(dir, "*.blas"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	fast := []string{"1", "1", "1"}
	if !tried("new", fast, both...) || len(files()) != 2 {
		t.Fatalf("nothing was tried, or kept: %q", files())
	}
	if tried("kept", fast, change...) {
		t.Error("what was kept is tried again")
	}
	if !tried("not offered", []string{"0", "0", "0"}, change[:1]...) {
		t.Error("an algorithm that is not offered any more was taken")
	}
	for i, spoil := range []func(b []byte) []byte{
		func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, func(b []byte) []byte { return b[:len(b)-3] },
		func([]byte) []byte { return nil }, func(b []byte) []byte { b[0] ^= 1; return b },
	} {
		for _, name := range files() {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, spoil(b), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if !tried(fmt.Sprintf("damage %d", i), fast, both...) {
			t.Errorf("damage %d: the file was taken", i)
		}
	}
	other := newProducts(t, strings.ReplaceAll(two, "n=8", "n=24"), false, nil)
	x = other
	if !tried("another product", fast, both...) || len(files()) != 4 {
		t.Errorf("a choice was taken for another product: %q", files())
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !tried("no folder", fast, both...) {
		t.Error("a choice was taken from no folder")
	}
}

// TestSlowIsKept: that the own kernel is faster is kept as well, and devices of a process choose alike.
func TestSlowIsKept(t *testing.T) {
	x, dir := newProducts(t, two, false, nil), t.TempDir()
	for i, d := range []string{dir, dir, ""} {
		drv := onFake(t, fakecuda.Options{})
		lib := withLibrary(t, fakeblaslt.Options{Driver: drv, Offers: []fakeblaslt.Offer{{Time: slow}}})
		order, _ := run(t, x, lib, d)
		timed := drv.Called("cuEventElapsedTime")
		if len(order) > 0 || (timed > 0) != (i != 1) {
			t.Errorf("run %d: the library computed %q, and %d times were taken", i, order, timed)
		}
		if order, _ := run(t, x, lib, ""); len(order) > 0 || drv.Called("cuEventElapsedTime") != timed && i != 1 {
			t.Errorf("run %d: a second device tries again", i)
		}
	}
}

// TestLibraryFails: what the library cannot do is told once, own kernels do it, and nothing is left.
func TestLibraryFails(t *testing.T) {
	x := newProducts(t, two, false, nil)
	for _, c := range []struct {
		name string
		o    fakeblaslt.Options
		fail string // a function
		want string
	}{
		{"old", fakeblaslt.Options{Version: 110803}, "", "own kernels compute all products: cuBLASLt is version 11.8, and is used from 12.0 on"},
		{"missing function", fakeblaslt.Options{Missing: []string{"cublasLtMatmul"}}, "", "lacks functions of cuBLASLt 12"},
		{"supports nothing", fakeblaslt.Options{Refuses: true}, "", "own kernels compute 2 of 2 products that cuBLASLt 12.4 was tried for: cublasLtMatmulAlgoGetHeuristic gives CUBLAS_STATUS_NOT_SUPPORTED"},
		{"much workspace", fakeblaslt.Options{Offers: []fakeblaslt.Offer{{Workspace: 64 << 20, Hidden: true}}}, "", "no algorithm that needs so little workspace"},
		{"much workspace, and said", fakeblaslt.Options{Offers: []fakeblaslt.Offer{{Workspace: 64 << 20}}}, "", "CUBLAS_STATUS_NOT_SUPPORTED"},
		{"products fail", fakeblaslt.Options{Offers: []fakeblaslt.Offer{{Fails: fakeblaslt.InternalError}}}, "", "cublasLtMatmul gives CUBLAS_STATUS_INTERNAL_ERROR"},
		{"handle", fakeblaslt.Options{}, "cublasLtCreate", "own kernels compute all products: cublasLtCreate gives CUBLAS_STATUS_INTERNAL_ERROR"},
		{"description", fakeblaslt.Options{}, "cublasLtMatmulDescCreate", "own kernels compute 1 of 2 products"},
		{"attribute", fakeblaslt.Options{}, "cublasLtMatmulDescSetAttribute", "cublasLtMatmulDescSetAttribute gives"},
		{"layout", fakeblaslt.Options{}, "cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutCreate gives"},
		{"preference", fakeblaslt.Options{}, "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceCreate gives"},
		{"attribute of a preference", fakeblaslt.Options{}, "cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulPreferenceSetAttribute gives"},
		{"algorithms", fakeblaslt.Options{}, "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmulAlgoGetHeuristic gives"},
		{"the first product", fakeblaslt.Options{}, "cublasLtMatmul", "cublasLtMatmul gives"},
		{"a descriptor is not freed", fakeblaslt.Options{}, "cublasLtMatmulDescDestroy", ""},
	} {
		drv := onFake(t, fakecuda.Options{})
		c.o.Driver = drv
		lib := withLibrary(t, c.o)
		if c.fail != "" {
			lib.Fail(c.fail, 1, fakeblaslt.InternalError)
		}
		_, told := run(t, x, lib, "")
		if got := strings.Join(told, "\n"); len(told) > 1 || !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: told %q; expected %q", c.name, told, c.want)
		}
	}
}

// TestDriverFailsLibrary: whichever call of the driver fails while the library is tried, there is an error, or
// own kernels compute, and nothing is left.
func TestDriverFailsLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	x := newProducts(t, two, true, nil)
	names := []string{"cuEventCreate", "cuEventRecord", "cuEventElapsedTime", "cuStreamBeginCapture_v2", "cuStreamEndCapture",
		"cuGraphAddChildGraphNode", "cuGraphCreate", "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuStreamSynchronize", "cuMemAlloc_v2"}
	for _, name := range names {
		for _, at := range []int{1, 2, 6, 21} {
			for _, result := range []int{fakecuda.OutOfMemory, fakecuda.LaunchFailed} {
				drv := onFake(t, fakecuda.Options{Seed: uint64(at % 3)})
				lib := withLibrary(t, fakeblaslt.Options{Driver: drv, Offers: []fakeblaslt.Offer{{Time: 20}, {Time: 10, Workspace: 512}}})
				drv.Fail(name, at, result)
				var told []string
				e, p, err := x.open(t, "", &told)
				if err == nil {
					err = x.check(e, p, 1, false)
					e.Close()
				}
				if p, l := drv.Problems(), drv.Leaks(); len(p) > 0 || len(l) > 0 || len(lib.Leaks()) > 0 {
					t.Fatalf("%s number %d gives %d (%v): problems %q, left %q and %q", name, at, result, err, p, l, lib.Leaks())
				}
				if err == nil && len(told) == 0 && name == "cuEventCreate" && at < 3 {
					t.Errorf("%s number %d gives %d, and nobody is told", name, at, result)
				}
				cuda.Use(nil)
			}
		}
	}
}

// TestWorkspaceIsShared: products that need not wait are behind one another where both use the workspace, and
// only there.
func TestWorkspaceIsShared(t *testing.T) {
	for _, workspace := range []int64{0, 1024} {
		orders := map[string]bool{}
		for seed := range uint64(12) {
			x := newProducts(t, two, true, nil)
			drv := onFake(t, fakecuda.Options{Seed: seed + 1})
			lib := withLibrary(t, fakeblaslt.Options{Driver: drv, Offers: []fakeblaslt.Offer{{Workspace: workspace}}})
			order, _ := run(t, x, lib, "")
			orders[strings.Join(order, ", ")] = true
		}
		if want := 1 + int(1-min(workspace, 1)); len(orders) != want {
			t.Errorf("with %d bytes of workspace products run in %d orders, expected %d: %v", workspace, len(orders), want, orders)
		}
	}
}

// TestCallsDiffer: calls of one kernel have buffers of their own, aligned as they are, in a graph and one
// by one.
func TestCallsDiffer(t *testing.T) {
	x := newProducts(t, `func @call class=kernel kind=gemm
  arg %0 : f32[m=5, k=3] in
  arg %1 : f32[k=3, n=7] in
  arg %2 : f32[m=5, n=7] in
  arg %3 : f32[n=7] in
  %4 : f32[m=5, n=7] = dot %0, %1 over=(k)
  %5 : f32[m=5, n=7] = add %4, %3
  %6 : f32[m=5, n=7] = add %2, %5
  result %6 out
end
`, false, nil)
	d, offset := &x.plan.Devices[0], x.plan.Devices[0].Arena
	alignments := map[int64]bool{}
	for call := range 3 {
		var bufs []int
		for _, n := range x.bufs[0] {
			b := d.Buffers[n]
			b.Offset = offset
			alignments[b.Offset&255] = true
			offset += (b.Bytes+program.Align-1)/program.Align*program.Align + program.Align*int64(call)
			d.Buffers = append(d.Buffers, b)
			bufs = append(bufs, len(d.Buffers)-1)
		}
		x.fs, x.bufs = append(x.fs, x.fs[0]), append(x.bufs, bufs)
		d.Progs[0].Instrs = append(d.Progs[0].Instrs, program.Instr{Kernel: 0, Bufs: bufs, NoWait: true})
	}
	d.Arena = offset
	if err := x.plan.Validate(); err != nil || len(alignments) < 3 {
		t.Fatalf("%v, alignments %v", err, alignments)
	}
	for seed := range uint64(4) {
		drv := onFake(t, fakecuda.Options{Seed: seed})
		lib := withLibrary(t, fakeblaslt.Options{Driver: drv})
		var told []string
		e, p, err := x.open(t, "", &told)
		if err != nil {
			t.Fatal(err)
		}
		before := len(lib.Order())
		for run := range 3 {
			if err := x.check(e, p, int64(run), run == 1); err != nil {
				t.Fatalf("seed %d, run %d: %v", seed, run, err)
			}
		}
		if got := len(lib.Order()) - before; got != 12 || len(told) > 0 {
			t.Errorf("seed %d: the library computed %d of 12 products, told %q", seed, got, told)
		}
		e.Close()
	}
}
