package gpu

import (
	"flag"
	"strings"
	"testing"

	"ptc/bench/matrix"
	"ptc/runtime/cuda"
)

var every = flag.Bool("all", false, "compare all layouts of the matrix, and kernels and models that the emulator takes long for")

// target is that of one GPU of any kind that there are schedules for.
const target = "cuda:sm_80"

// TestDriver: there is a driver exactly where the test is told to use it.
func TestDriver(t *testing.T) {
	driver(t, 0)
	if err := cuda.Available(); err != nil {
		t.Error(err)
	}
}

// some layouts, of which the emulator does not take too long; with -real, as with -all, there are more.
var some, more = map[string][]string{"mlp": {"dp2 z3 tp2", "dp4 hidden/2 vocab/2"}}, map[string][]string{
	"mlp":   {"dp2 z3 tp2"},
	"gpt":   {"dp2 z1 1f1b:2:2 tp2 sp (layers=3)", "dp2 z3 zz4 tp2 (seq=16)"},
	"llama": {"zz2 + recompute Block"},
	"moe":   {"dp2 ep2 tp2"},
}

// TestLayouts: several devices on one GPU compute what one device does.
func TestLayouts(t *testing.T) {
	x := &matrix.Matrix{Root: *root}
	if *real {
		some = more
	}
	on := matrix.Target{Name: target, Tolerance: 1e-5, Floor: 1e-4}
	for _, m := range matrix.Models {
		wanted := map[string]bool{}
		for _, name := range some[m.Name] {
			wanted[name] = true
		}
		for _, l := range matrix.Layouts {
			if !l.For(m) || !*every && !wanted[l.Name()] || strings.Contains(l.Extra, "to disk") { // GPUs cannot
				continue
			}
			delete(wanted, l.Name())
			t.Run(m.Name+" "+l.Name(), func(t *testing.T) {
				driver(t, 3)
				if r := x.Case(m, l, on); !r.OK() {
					t.Error(r)
				}
			})
		}
		for name := range wanted {
			t.Errorf("%s has no layout %s", m.Name, name)
		}
	}
}
