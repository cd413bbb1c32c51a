package decode

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Window makes of f a function that computes all of it for each token, without caches:
// where f has no logits of each position, of the token behind the window, and else of
// the one behind a position that it is told. In the second case nothing is proved of what
// is behind the position.
//
//	tokens i32[batch, seq]                   logits [batch, vocab]
//	tokens i32[batch, seq], position i32[]   logits [batch, seq, vocab] at the position
func Window(f *ir.Func) (*ir.Func, error) {
	f = f.Clone()
	tokens := dataOf(f)
	if tokens == nil || len(f.Results) != 1 {
		return nil, fmt.Errorf("decode: @%s does not take tokens and give logits", f.Name)
	}
	axes := tokens.Value.Type.Axes
	v := f.Results[0].Value
	b := op.Builder{F: f}
	if v.Def != nil {
		b.Scope, b.Pos = v.Def.Scope, v.Def.Pos
	}
	var position []*ir.Arg
	if axis := axes[1].Name; v.Type.Has(axis) {
		at := f.NewValue(ir.Scalar(ir.I32), nil)
		v = b.Emit(op.Gather, ir.A("axis", ir.Name(axis)), v, at)
		position = []*ir.Arg{{Value: at, Role: ir.RoleData, Path: Position, Pos: tokens.Pos}}
	}
	if names := v.Type.Names(); len(names) == 2 && names[0] != axes[0].Name {
		v = b.Emit(op.Transpose, ir.A("order", ir.Names{names[1], names[0]}), v)
	}
	old := &ir.Arg{Value: f.NewValue(v.Type.Clone(), nil), Role: ir.RoleState, Path: Logits, Attrs: zeros()}
	f.Args = slices.Insert(f.Args, slices.Index(f.Args, tokens), old)
	f.Args = append(f.Args, position...)
	f.Results = []ir.Result{{Value: v, Role: ir.RoleState, Path: Logits}}
	f.Renumber()
	return f, nil
}

// Slides reports whether f has the logits of the token behind a whole window alone.
func Slides(f *ir.Func) bool {
	tokens := dataOf(f)
	return tokens != nil && len(f.Results) == 1 && !f.Results[0].Value.Type.Has(tokens.Value.Type.Axes[1].Name)
}
