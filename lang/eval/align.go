package eval

import (
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// anyAxes are the elementwise operations whose operands may each have axes that
// the other lacks: comparisons, as in index(seq) >= index(kseq), which makes a
// mask, and the logic of what they give.
var anyAxes = map[string]bool{
	"eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true, "and": true, "or": true,
}

// Elementwise emits an operation on operands that are aligned by name. Of two
// operands one must have all axes of the other: where each lacks one, a name is
// more likely wrong than a product over all of them meant, and the result would
// have an axis that nobody wrote. who names the operands.
func (f *Frame) Elementwise(n syntax.Node, name string, who []string, vs ...value.Value) value.Value {
	for i, v := range vs {
		for j, w := range vs[:i] {
			a, okA := w.(value.Tensor)
			b, okB := v.(value.Tensor)
			if !okA || !okB || anyAxes[name] {
				continue
			}
			lackA, lackB := lacking(a.V.Type, b.V.Type), lacking(b.V.Type, a.V.Type)
			if len(lackA) > 0 && len(lackB) > 0 {
				return f.crossed(n, name, [2]string{who[j], who[i]}, [2]value.Tensor{a, b}, lackA, lackB)
			}
		}
	}
	return f.Emit(n, name, nil, vs...)
}

// lacking are the axes of want that t has not.
func lacking(t, want ir.Type) (names []string) {
	for _, a := range want.Axes {
		if !t.Has(a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// crossed reports two operands that each lack an axis of the other.
func (f *Frame) crossed(n syntax.Node, name string, who [2]string, ts [2]value.Tensor, lackA, lackB []string) value.Value {
	e := atOperator("E0222", n, "one of them to have all axes of the other", "%s lacks %s, and %s lacks %s", who[0], axisNames(lackA), who[1], axisNames(lackB))
	for i, t := range ts {
		e.Note = append(e.Note, diag.Note{Msg: who[i] + " is " + t.V.Type.String()})
	}
	for _, a := range lackA {
		if b, near := diag.Nearest(a, lackB); near {
			e.Hint = "are `" + b + "` and `" + a + "` one axis? Then it needs one name. "
			if s := diag.Spelled(b, a); s != "" {
				e.Hint += strings.TrimPrefix(s, " ") + ". "
			}
			break
		}
	}
	if e.Hint == "" {
		e.Hint = "an axis that both share needs one name: `x.rename(old = new)`. "
	}
	if name == "mul" {
		e.Hint += "`outer(a, b)` is the product over the axes of both"
	} else {
		e.Hint += "`broadcast(a, as = (a, b))` gives one of them the axes of both"
	}
	f.Report(e)
	return value.Unknown{}
}

// axisNames lists axes for a message.
func axisNames(names []string) string {
	return "`" + strings.Join(names, "`, `") + "`"
}
