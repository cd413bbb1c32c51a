package passes

import (
	"math/rand"
	"testing"

	"ptc/internal/diag"
	"ptc/ir/op"
	"ptc/passes/check"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// TestRowsOnDevices takes axes of operations that move, combine or make rows as the batch
// of four devices, two shards by two stages: after each pass the step computes what one
// device does, unless it is refused with E0609.
func TestRowsOnDevices(t *testing.T) {
	for _, d := range op.All() {
		switch d.Class {
		case op.Movement, op.Indexed, op.Reduction, op.Contraction, op.Source:
		default:
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			for seed, left := int64(0), 8; seed < 40 && left > 0; seed++ {
				e := d.Sample(rand.New(rand.NewSource(seed)))
				for _, axis := range passtest.AxesOf(d, e) {
					if axis.Size%4 != 0 || left == 0 {
						continue
					}
					x := &passtest.Batch{Op: e, Def: d, Axis: axis, Shards: 2, Micro: 2, Square: left%2 == 0, Given: left%4 == 3}
					if refused := onDevices(t, x); !refused {
						left--
					}
				}
			}
		})
	}
}

// onDevices compares the step after each pass; it reports whether it is refused.
func onDevices(t *testing.T, x *passtest.Batch) bool {
	t.Helper()
	k := check.New(1)
	err := Run(&pass.Context{}, x.Module(), &Options{VerifyEach: true, Hooks: []Hook{k.Hook}})
	if l, ok := diag.As(err); ok && len(l) == 1 && l[0].Code == "E0609" {
		return true
	}
	if err != nil {
		t.Fatalf("axis %s of %s: %v", x.Axis.Name, x.Op.Attrs, err)
	}
	for _, r := range k.Report.Rows {
		if !r.OK {
			t.Fatalf("axis %s of %s: %s changed the result (%s): %s by %.3g, tolerance %.3g", x.Axis.Name, x.Op.Attrs, r.Pass, r.Kind, r.Worst, r.Diff, r.Tol)
		}
	}
	return false
}
