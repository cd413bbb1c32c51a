package op

import (
	"fmt"

	"ptc/ir"
)

// Operations that stand for others: grad until autodiff, call for a function.

func init() {
	Register(&Def{
		Name: "grad", Doc: "The gradients of the scalar first operand with respect to the others; expanded by autodiff.",
		Class: Symbolic, MinArgs: 2, MaxArgs: -1,
		Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) {
			if args[0].Rank() != 0 || !args[0].DType.IsFloat() {
				return nil, &ShapeError{Msg: fmt.Sprintf("the gradient of %s", args[0]), Want: "a float scalar"}
			}
			var out []ir.Type
			for _, p := range args[1:] {
				if err := wantKind("grad", p, floats); err != nil {
					return nil, err
				}
				out = append(out, ir.Type{DType: p.DType, Axes: cloneAxes(p.Axes...)})
			}
			return out, nil
		},
	})
	Register(&Def{
		Name: "call", Doc: "The results of the module's function `fn`. Its types are the function's: Infer gives none; see Builder.Call.",
		Class: Control, MaxArgs: -1,
		Attrs: []AttrSpec{{"fn", ir.Sym(""), true}},
		Infer: func([]ir.Type, ir.Attrs) ([]ir.Type, error) { return nil, nil },
	})
}

// Call emits a call of fn, whose arguments have the types of args.
func (b *Builder) Call(fn *ir.Func, args ...*ir.Value) []*ir.Value {
	var types []ir.Type
	for _, r := range fn.Results {
		types = append(types, r.Value.Type.Clone())
	}
	return b.append(b.F.NewOp("call", args, ir.A("fn", ir.Sym(fn.Name)), types...))
}
