package ref

import (
	"fmt"

	"ptc/backend"
	"ptc/backend/tile/schedule"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/targetinfo"
	"ptc/runtime/program"
)

// Kind is the kind of code that the package makes and loads.
const Kind = "ir"

func init() {
	backend.Register(&backend.Backend{
		Name:      "ref",
		Doc:       "pure Go reference evaluator; ref:f64 computes in float64",
		Resolve:   resolve,
		Available: func() error { return nil },
		Names:     func() []string { return []string{"ref:f32", "ref:f64"} },
		Rank:      9,
	})
}

type target struct{ exact bool }

func resolve(name string) (backend.Target, error) {
	switch name {
	case "ref", "ref:f32":
		return &target{}, nil
	case "ref:f64":
		return &target{exact: true}, nil
	}
	return nil, &diag.Error{Code: "E0701", Msg: fmt.Sprintf("unknown target `%s`", name), Want: "ref, ref:f32 or ref:f64"}
}

// Info has no block, since a product has its operands as a whole, and no rows, since tensors have no memory of
// a device.
func (t *target) Info() targetinfo.Info {
	x := targetinfo.Info{Name: "ref:f32", Exact: t.exact, Disk: true, Chunk: targetinfo.Chunks(8192)}
	if t.exact {
		x.Name = "ref:f64"
	}
	return x
}

// Unfit is none.
func (t *target) Unfit(*fusion.Kernel) string { return "" }

// Parts is one: nothing runs side by side.
func (t *target) Parts(*fusion.Kernel, *schedule.Table) int64 { return 1 }

// Forms are none: the evaluator takes the function as it is.
func (t *target) Forms(*ir.Func, *schedule.Table) ([]backend.Form, error) { return nil, nil }

// Disassembly is none: code is the text of the function.
func (t *target) Disassembly(program.Code, string) (backend.Form, error) { return backend.Form{}, nil }

// Generate prints the kernels.
func (t *target) Generate(fns []*ir.Func, _ *schedule.Table) (*backend.Code, error) {
	text := ir.Print(&ir.Module{Level: ir.Fused, Name: "kernels", Funcs: fns})
	out := &backend.Code{Code: []program.Code{{Kind: Kind, Data: []byte(text)}}}
	for _, f := range fns {
		out.Kernels = append(out.Kernels, program.Kernel{Symbol: f.Name, Tasks: 1})
	}
	return out, nil
}
