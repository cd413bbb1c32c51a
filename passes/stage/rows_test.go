package stage

import (
	"fmt"
	"math/rand"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/verify"
	"ptc/passes/autodiff"
	"ptc/passes/check"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// cuts are the ways in which the batch is cut: by the devices of a mesh axis, and into
// microbatches.
var cuts = []struct{ shards, micro int }{{1, 2}, {2, 2}, {1, 4}, {2, 1}}

// TestEveryAxisAsTheBatch takes each axis of an operation as the batch of a pipeline, for
// every row there is. The step then computes what it computes of the whole batch, in the
// forward and in the backward phase, or is refused with E0609, where there are several
// microbatches.
func TestEveryAxisAsTheBatch(t *testing.T) {
	for _, d := range op.All() {
		switch d.Class {
		case op.Symbolic, op.Control, op.Collective, op.Placement, op.Boundary:
			continue // they come from passes that run later, or stand for others
		}
		t.Run(d.Name, func(t *testing.T) {
			equal, refused := 0, 0
			for i := range 12 {
				e := d.Sample(rand.New(rand.NewSource(int64(i))))
				for _, x := range batches(d, e) {
					switch err := compareRows(x); {
					case err == nil:
						equal++
					case isCode(err, "E0609") && x.Micro > 1: // the only microbatch relates what it likes
						refused++
					default:
						t.Fatalf("sample %d, %s: %v", i, x.Axis.Name, err)
					}
				}
			}
			if d.Name == op.Const || d.Name == op.Coordinate {
				return // no axes
			}
			if t.Logf("%d equal, %d refused", equal, refused); equal < 20 {
				t.Errorf("only %d cases are equal, %d are refused", equal, refused)
			}
		})
	}
}

// batches are an example's axes as the batch, cut in each way.
func batches(d *op.Def, e op.Example) (out []*passtest.Batch) {
	for _, axis := range passtest.AxesOf(d, e) {
		for _, c := range cuts {
			if axis.Size%(c.shards*c.micro) != 0 {
				continue
			}
			for _, given := range []bool{false, true} {
				for _, square := range []bool{false, true} {
					out = append(out, &passtest.Batch{Op: e, Def: d, Axis: axis, Shards: c.shards, Micro: c.micro, Given: given, Square: square})
				}
			}
		}
	}
	return out
}

func isCode(err error, code string) bool {
	l, ok := diag.As(err)
	return ok && len(l) == 1 && l[0].Code == code
}

// compare runs the step of the whole batch and that of microbatches.
func compareRows(x *passtest.Batch) error {
	m := x.Module()
	if err := autodiff.Run(&pass.Context{Pass: "autodiff"}, m); err != nil {
		return err
	}
	if errs := verify.Module(m); len(errs) > 0 {
		return fmt.Errorf("the program is not valid: %v\n%s", errs, ir.Print(m))
	}
	want, err := check.Execute(m, x.Inputs, true)
	if err != nil {
		return err
	}
	before := ir.Print(m)
	if err := Run(&pass.Context{Pass: "stage"}, m); err != nil {
		return err
	}
	if errs := verify.Module(m); len(errs) > 0 {
		return fmt.Errorf("not valid any more: %v\n%s\n%s", errs, before, ir.Print(m))
	}
	got, err := check.Execute(m, x.Inputs, true)
	if err != nil {
		return fmt.Errorf("%w\n%s\n%s", err, before, ir.Print(m))
	}
	if where, diff := check.Difference(want, got); !(diff < 1e-9) {
		return fmt.Errorf("%s differs by %.3g\n%s\n%s", where, diff, before, ir.Print(m))
	}
	return nil
}
