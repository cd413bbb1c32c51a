package partition

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
)

// forbidden returns an error for each collective of f that a rule bans, with
// the reasons why it is there.
func forbidden(m *ir.Module, f *ir.Func, rules []*layout.Forbid) diag.List {
	if len(rules) == 0 {
		return nil
	}
	from := origins(f)
	var errs diag.List
	for _, o := range f.Ops {
		if op.Of(o).Class != op.Collective {
			continue
		}
		for _, b := range rules {
			path := from[o.Args[0]]
			if !slices.Contains(b.Collectives, o.Name) || len(b.Of) > 0 && !slices.Contains(b.Of, path) {
				continue
			}
			what := declared(m, o.Args[0].Type).String()
			if path != "" {
				what = "`" + path + "` (" + what + ")"
			}
			e := &diag.Error{Code: "E0612", Pos: b.At, Msg: fmt.Sprintf("%s over %s moves %s, which the layout forbids",
				o.Name, strings.Join(op.DeclaredOver(m, o.Attrs.Names("over")), ", "), what)}
			if why := o.Attrs.Text("why"); why != "" {
				e.Note = append(e.Note, diag.Note{Msg: "it is there because of " + why})
			}
			e.Note = append(e.Note, diag.Note{Pos: o.Pos, Msg: fmt.Sprintf("for an operation of %s", scopeOf(o))})
			errs = append(errs, e)
		}
	}
	return errs
}

// declared is t over mesh axes as the layout names them.
func declared(m *ir.Module, t ir.Type) ir.Type {
	t = t.Clone()
	for i := range t.Axes {
		t.Axes[i].Mesh = op.DeclaredOver(m, t.Axes[i].Mesh)
	}
	return t
}

// banned are the kinds of collectives that a plan for a value is better without:
// those that rules ban for everything, or for the parameter that it is.
func banned(rules []*layout.Forbid, path string) (kinds []string) {
	for _, b := range rules {
		if len(b.Of) == 0 || path != "" && slices.Contains(b.Of, path) {
			kinds = append(kinds, b.Collectives...)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

func scopeOf(o *ir.Op) string {
	if o.Scope == "" {
		return "the model"
	}
	return ir.OfInstance(o.Scope, 0)
}

// moves reports whether o moves or casts its one operand.
func moves(o *ir.Op) bool {
	c := op.Of(o).Class
	return len(o.Args) == 1 && len(o.Results) == 1 && (c == op.Movement || c == op.Placement || c == op.Collective || o.Attrs.Has("to") && c == op.Elementwise)
}

// origins is the parameter that a value is, a part of it or its gradient, by
// path: through operations that move or cast one operand, and for gradients
// back from the function's results.
func origins(f *ir.Func) map[*ir.Value]string {
	from := map[*ir.Value]string{}
	for _, a := range f.Args {
		if a.Role == ir.RoleParam {
			from[a.Value] = ir.OfInstance(a.Path, 0)
		}
	}
	for _, o := range f.Ops {
		if moves(o) && from[o.Args[0]] != "" {
			from[o.Result()] = from[o.Args[0]]
		}
	}
	for _, r := range f.Results {
		if r.Role != ir.RoleGrad && r.Role != ir.RoleParam {
			continue
		}
		for v := r.Value; v.Def != nil; v = v.Def.Args[0] {
			if from[v] == "" {
				from[v] = ir.OfInstance(r.Path, 0)
			}
			if !moves(v.Def) {
				break
			}
		}
	}
	return from
}
