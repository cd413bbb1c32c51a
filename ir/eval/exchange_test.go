package eval

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/tensor"
)

// meetAll runs one body per device and returns why the execution failed.
func meetAll(mesh []ir.MeshAxis, n int, body func(ex *exchange, d int) error) error {
	ex := newExchange(mesh, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for d := 0; d < n; d++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[d] = body(ex, d)
			ex.leave(d, errs[d])
		}()
	}
	wg.Wait()
	return ex.cause(errs)
}

func gather(ex *exchange, d int, name, mesh string) error {
	_, err := ex.member(d)(&ir.Op{Name: name}, mesh, tensor.Scalar(ir.F32, float64(d)))
	return err
}

func TestDeadlockIsAnError(t *testing.T) {
	mesh := []ir.MeshAxis{{Name: "x", Size: 2}, {Name: "y", Size: 2}}
	// Devices 0, 1, 2, 3 are at (0,0), (0,1), (1,0), (1,1).
	for _, c := range []struct {
		name  string
		first map[int]string // mesh axis that a device exchanges over first
		want  string
	}{
		// A ring of waits: 0 for 2, 2 for 3, 3 for 1, 1 for 0.
		{"ring", map[int]string{0: "x", 2: "y", 3: "x", 1: "y"}, "deadlock: device 0 waits in r"},
		{"ended", map[int]string{0: "x", 2: "", 1: "", 3: ""}, "3 devices have ended"},
	} {
		err := meetAll(mesh, 4, func(ex *exchange, d int) error {
			if c.first[d] == "" {
				return nil
			}
			return gather(ex, d, "r", c.first[d])
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestOutOfStepIsAnError(t *testing.T) {
	err := meetAll([]ir.MeshAxis{{Name: "x", Size: 2}}, 2, func(ex *exchange, d int) error {
		return gather(ex, d, []string{"all_reduce", "all_gather"}[d], "x")
	})
	if err == nil || !strings.Contains(err.Error(), "device 0 is at all_reduce of f32[], device 1 at all_gather of f32[]") {
		t.Errorf("error %v", err)
	}
}

// TestRoundsDoNotMix lets fast devices run ahead into later rounds.
func TestRoundsDoNotMix(t *testing.T) {
	err := meetAll([]ir.MeshAxis{{Name: "x", Size: 3}}, 3, func(ex *exchange, d int) error {
		for round := 0; round < 200; round++ {
			all, err := ex.member(d)(&ir.Op{Name: "r"}, "x", tensor.Scalar(ir.F32, float64(10*round+d)))
			if err != nil {
				return err
			}
			for i, x := range all {
				if x.Data[0] != float64(10*round+i) {
					return errors.New("a value of another round")
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestValuesDieAfterTheirLastReader holds when storage is freed.
func TestValuesDieAfterTheirLastReader(t *testing.T) {
	f := &ir.Func{Name: "f"}
	x := f.AddArg(ir.Scalar(ir.F32), ir.RoleIn, "x", nil, diag.Pos{})
	add := func(name string, args ...*ir.Value) *ir.Value {
		o := f.NewOp(name, args, nil, ir.Scalar(ir.F32))
		f.Ops = append(f.Ops, o)
		return o.Result()
	}
	y := add("exp", x)
	unread := add("neg", y)
	z := add("mul", y, x)
	f.Results = []ir.Result{{Value: z, Role: ir.RoleOut}, {Value: x, Role: ir.RoleOut}}
	want := [][]*ir.Value{nil, {unread}, {y}}
	dead := planOf(f).dead
	for i := range want {
		if len(dead[i]) != len(want[i]) || len(want[i]) > 0 && dead[i][0] != want[i][0] {
			t.Errorf("after operation %d, %d values die, want %d", i, len(dead[i]), len(want[i]))
		}
	}
	add("grad", z, x)
	for i, vs := range planOf(f).dead {
		if len(vs) > 0 {
			t.Errorf("a value dies after operation %d, though differences may read it", i)
		}
	}
}
