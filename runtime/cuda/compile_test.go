//go:build unix

package cuda

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
)

// computes runs the toy once and says whether the result is right.
func (t *toy) computes(r device.Request) error {
	e, p, err := t.opened(r)
	if err != nil {
		return err
	}
	defer e.Close()
	s := t.fresh(rand.New(rand.NewPCG(1, 1)))
	if err := t.write(e, s); err != nil {
		return err
	}
	p.Launch()
	t.run(s, nil)
	return errors.Join(p.Wait(), t.compare(e, s))
}

// TestWholePrograms: each module is compiled by itself, once, as a whole program, whether the request has a folder or
// not. The driver's linker makes relocatable code, which ignores setmaxnreg and serializes wgmma: the engine does
// not even look for it.
func TestWholePrograms(t *testing.T) {
	toy := simple()
	toy.vary("sm_80")
	for _, r := range []device.Request{{}, {Cache: []string{t.TempDir()}}} {
		drv := onFake(t, fakecuda.Options{})
		if err := toy.computes(r); err != nil {
			t.Fatal(err)
		}
		if n, want := drv.Called("cuModuleLoadDataEx"), len(usedCode(toy.Plan, &toy.Devices[0])); n != want {
			t.Errorf("%d modules loaded; expected %d", n, want)
		}
		clean(t, drv)
	}
	for _, f := range new(functions).all() {
		if strings.HasPrefix(f.Name, "cuLink") {
			t.Errorf("%s makes relocatable code", f.Name)
		}
	}
}

// TestCompilerWarns: what the compiler notes of slow code is a warning of the run, once, and statistics are not.
func TestCompilerWarns(t *testing.T) {
	const (
		ignored = "ptxas info    : (C7504) Potential Performance Loss: 'setmaxnreg' ignored to maintain compatibility across compilation units."
		serial  = "ptxas info    : (C7509) Potential Performance Loss: wgmma.mma_async instructions are serialized due to the presence of Extern calls"
		other   = "ptxas warning : Value of threads per SM for entry k is out of range"
	)
	for _, c := range []struct {
		says string
		want []string
	}{
		{"", nil},
		{"ptxas info    : 0 bytes gmem\nptxas info    : Used 168 registers, used 16 barriers\n", nil},
		{ignored + "\nptxas info    : Used 168 registers\n" + serial + "\n" + serial, []string{ignored, serial}},
		{other, []string{other}},
		{strings.Repeat("x", 70<<10) + serial, nil}, // the buffer is full before that
	} {
		drv := onFake(t, fakecuda.Options{Says: c.says})
		var got []string
		if err := simple().computes(device.Request{Warn: func(text string) { got = append(got, text) }}); err != nil {
			t.Fatal(err)
		}
		var want []string
		for module := range len(simple().Code) {
			for _, line := range c.want {
				want = append(want, fmt.Sprintf("the driver's compiler says of module %d of the plan: %s", module, line))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("of %.60q it warns\n%q\nexpected\n%q", c.says, got, want)
		}
		if err := simple().computes(device.Request{}); err != nil { // nobody asks
			t.Error(err)
		}
		clean(t, drv)
	}
}

// TestCompileFailures: whatever call fails while modules are compiled and loaded, there is an error and nothing is
// left.
func TestCompileFailures(t *testing.T) {
	toy := simple()
	for _, result := range []int{fakecuda.OutOfMemory, fakecuda.InvalidPTX, fakecuda.LaunchFailed} {
		drv := onFake(t, fakecuda.Options{})
		drv.Fail("cuModuleLoadDataEx", 1, result)
		err := toy.computes(device.Request{})
		var full *device.MemoryError
		if err == nil || (result == fakecuda.OutOfMemory) != errors.As(err, &full) {
			t.Errorf("%d: %v", result, err)
		}
		clean(t, drv)
	}
	toy.Code[0].Data = []byte(strings.Replace(string(toy.Code[0].Data), "mov.u32", "frob.u32", 1))
	drv := onFake(t, fakecuda.Options{})
	if err := toy.computes(device.Request{}); err == nil || !strings.Contains(err.Error(), "cannot compile module 0") || !strings.Contains(err.Error(), "frob.u32") {
		t.Errorf("found %v; expected what the compiler says", err)
	}
	clean(t, drv)
}
