//go:build unix

package cuda

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
)

// computes runs the toy once, with a cache, and says whether the result is right.
func (t *toy) computes(cache ...string) error {
	e, p, err := t.opened(device.Request{Cache: cache})
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

// TestCache: what was compiled once is loaded from then on, by the same driver for the same kind of
// GPU; what is damaged is compiled again, and nothing of it is needed.
func TestCache(t *testing.T) {
	toy, dir := simple(), filepath.Join(t.TempDir(), "plan.bin.cubin")
	toy.vary("sm_80")
	for _, c := range []struct {
		what             string
		o                fakecuda.Options
		before           func(file string) error // to each file
		compiled, loaded int                     // modules; what is compiled is loaded as well
		files            int
	}{
		{"first", fakecuda.Options{}, nil, 2, 2, 2},
		{"again", fakecuda.Options{}, nil, 0, 2, 2},
		{"another driver", fakecuda.Options{Version: 12060}, nil, 2, 2, 4},
		{"another GPU", fakecuda.Options{Major: 8}, nil, 1, 1, 5},
		{"one like it", fakecuda.Options{Major: 8, Minor: 6}, nil, 1, 1, 6},
		{"all again", fakecuda.Options{Major: 8}, nil, 0, 1, 6},
		{"cut off", fakecuda.Options{}, func(f string) error { return os.Truncate(f, 100) }, 2, 2, 6},
		{"restored", fakecuda.Options{}, nil, 0, 2, 6},
		{"readable by all", fakecuda.Options{}, func(f string) error { return os.Chmod(f, 0o644) }, 0, 2, 6},
		{"writable by all", fakecuda.Options{}, func(f string) error { return os.Chmod(f, 0o666) }, 2, 2, 6},
	} {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if c.before != nil {
				if err := c.before(f); err != nil {
					t.Fatal(err)
				}
			}
		}
		drv := onFake(t, c.o)
		if err := toy.computes(dir); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		files, _ = filepath.Glob(filepath.Join(dir, "*"))
		if n := drv.Called("cuLinkComplete"); n != c.compiled || drv.Loads() != c.loaded || len(files) != c.files {
			t.Errorf("%s: %d modules compiled, %d loaded, %d files", c.what, n, drv.Loads(), len(files))
		}
		clean(t, drv)
	}
	drv := onFake(t, fakecuda.Options{})
	if err := toy.computes(); err != nil || drv.Called("cuLinkCreate_v2") != 0 || drv.Loads() != 0 {
		t.Errorf("without a cache: %v, %d modules linked", err, drv.Called("cuLinkCreate_v2"))
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	drv = onFake(t, fakecuda.Options{})
	if err := toy.computes(file); err != nil {
		t.Errorf("with a cache that is none: %v", err)
	}
	clean(t, drv)
}

// TestCacheOfOthers: code that the driver does not load, though it is whole, is compiled again.
func TestCacheOfOthers(t *testing.T) {
	toy, dir := simple(), t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	onFake(t, fakecuda.Options{})
	if err := toy.computes(dir); err != nil {
		t.Fatal(err)
	}
	drv := onFake(t, fakecuda.Options{})
	drv.Fail("cuModuleLoadDataEx", 1, fakecuda.NoBinary)
	if err := toy.computes(dir); err != nil || drv.Called("cuLinkComplete") != 1 {
		t.Errorf("%v, %d compiled", err, drv.Called("cuLinkComplete"))
	}
	clean(t, drv)
}

// TestCacheFailures: whichever call fails while modules are compiled and loaded, there is an error or
// the right result, and nothing is left.
func TestCacheFailures(t *testing.T) {
	toy := simple()
	for _, name := range []string{"cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete", "cuLinkDestroy", "cuModuleLoadDataEx"} {
		for _, result := range []int{fakecuda.OutOfMemory, fakecuda.InvalidPTX, fakecuda.LaunchFailed} {
			for at := 1; at <= 2; at++ {
				drv := onFake(t, fakecuda.Options{})
				drv.Fail(name, at, result)
				err := toy.computes(t.TempDir())
				if name != "cuLinkDestroy" && err == nil {
					t.Errorf("%s number %d gives %d, and there is no error", name, at, result)
				}
				var full *device.MemoryError
				if err != nil && result == fakecuda.OutOfMemory && !errors.As(err, &full) {
					t.Errorf("%s: %v", name, err)
				}
				clean(t, drv)
			}
		}
	}
	toy.Code[0].Data = []byte(strings.Replace(string(toy.Code[0].Data), "mov.u32", "frob.u32", 1))
	drv := onFake(t, fakecuda.Options{})
	if err := toy.computes(t.TempDir()); err == nil || !strings.Contains(err.Error(), "cannot compile module 0") || !strings.Contains(err.Error(), "frob.u32") {
		t.Errorf("found %v; expected what the compiler says", err)
	}
	clean(t, drv)
}
