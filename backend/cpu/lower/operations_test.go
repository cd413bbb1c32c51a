package lower

import (
	"fmt"
	"math/rand"
	"testing"

	"ptc/ir"
	"ptc/ir/op"
)

// Every operation that computes has native code: a kernel of it alone, of examples that
// its row makes, stores what the evaluator says.
func TestOperations(t *testing.T) {
	for _, d := range op.All() {
		switch d.Class {
		case op.Elementwise, op.Source, op.Reduction, op.Contraction, op.Indexed, op.Movement:
		default:
			continue
		}
		if d.Name == op.Take {
			continue // which a pass replaces
		}
		t.Run(d.Name, func(t *testing.T) {
			ran := 0
			for i := int64(0); i < 12 && !t.Failed(); i++ {
				e := d.Sample(rand.New(rand.NewSource(i)))
				f := &ir.Func{Name: "k", Class: ir.Kernel}
				b := &op.Builder{F: f}
				var args []*ir.Value
				for j, a := range e.Args {
					args = append(args, f.AddArg(a.Type, ir.RoleIn, fmt.Sprint("a", j), nil, b.Pos))
				}
				results, err := b.TryEmit(d.Name, args, e.Attrs)
				if err != nil {
					t.Fatal(err)
				}
				f.Results = []ir.Result{{Value: results[0], Role: ir.RoleOut}}
				if wide(f) || d.Class == op.Reduction && len(e.Attrs.Names("over")) == 0 {
					continue // no kernel has a sum over nothing
				}
				checkArgs(t, f, e.Args)
				ran++
			}
			if ran < 5 {
				t.Errorf("%d kernels", ran)
			}
		})
	}
}
