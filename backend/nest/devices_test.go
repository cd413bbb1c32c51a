package nest

import (
	"math/rand"
	"testing"

	"ptc/backend/tile/tiletest"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
)

// Kernels that depend on the device, on every device of a mesh, are what the evaluator
// says of it.
func TestDevices(t *testing.T) {
	for _, text := range irtest.DeviceKernels {
		read, errs := ir.Parse("k.ptir", []byte("ptir 1 fused \"\"\n\n"+text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		f := read.Funcs[0]
		m, args := irtest.OnDevices(f, 1)
		want, err := eval.Devices(m, f, args, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		k, err := fusion.Analyze(f)
		if err != nil {
			t.Fatal(err)
		}
		if k.Class == fusion.Horizontal {
			continue // whose sections backend/cpu/lower joins
		}
		if k.Class == fusion.Attend {
			for _, s := range blocks(rand.New(rand.NewSource(3)), 5) {
				parts, err := Fold("k", k, s)
				if err != nil {
					t.Fatal(err)
				}
				for d := range args {
					compareParts(t, parts, f, args[d], want[d], tiletest.Options{Seed: int64(d)})
				}
			}
		}
		for _, s := range schedules(k, rand.New(rand.NewSource(2)), 3) {
			p, err := Program("k", k, s)
			if err != nil {
				t.Fatal(err)
			}
			for d := range args {
				compare(t, p, f, args[d], want[d], tiletest.Options{Seed: int64(d)}, -1, -1)
			}
		}
	}
}
