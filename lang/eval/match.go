package eval

import (
	"slices"

	"ptc/internal/diag"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// formal is a parameter of something that is called.
type formal struct {
	name     string
	axis     bool // takes names of axes
	required bool
}

// matched are the arguments of a call in the order of the formals; absent ones
// are nil. rest are further positional ones, extra further named ones.
type matched struct {
	args  []*syntax.Arg
	rest  []*syntax.Arg
	extra []*syntax.Arg
}

// match assigns arguments to formals. skip formals are already taken, by a
// receiver; rest and extra are as in [builtin]. Mistakes are reported.
func (f *Frame) match(site syntax.Node, who string, formals []formal, args []*syntax.Arg, skip, rest int, extra bool) (matched, bool) {
	m := matched{args: make([]*syntax.Arg, len(formals))}
	next, ok, positional := skip, true, len(formals)
	misnamed := false // an argument with a wrong name may be the one that seems to be missing
	if rest >= 0 {
		positional = rest
	}
	for _, a := range args {
		if a.Name == nil {
			switch {
			case next < positional:
				m.args[next] = a
				next++
			case rest >= 0:
				m.rest = append(m.rest, a)
			default:
				f.Wants("E0206", a, value.Count(len(formals), "argument"), "", "too many arguments for %s", who)
				return m, false
			}
			continue
		}
		i := formalIndex(formals, a.Name.Name)
		switch {
		case i < 0 && extra:
			m.extra = append(m.extra, a)
		case i < 0:
			names := append(formalNames(formals), f.Common...)
			f.Wants("E0206", a.Name, diag.OneOf(names), insteadOf(a.Name.Name, names), "%s has no parameter `%s`", who, a.Name.Name)
			ok, misnamed = false, true
		case m.args[i] != nil || i < skip:
			f.Errorf("E0206", a.Name, "`%s` is given twice", a.Name.Name)
			ok = false
		default:
			m.args[i] = a
		}
	}
	for i, p := range formals {
		if i >= skip && m.args[i] == nil && p.required && !misnamed {
			f.Wants("E0206", site, "", "", "%s needs `%s`", who, p.name)
			ok = false
		}
	}
	return m, ok
}

// insteadOf is what to write for an argument's name that there is not: `over` for
// what other frameworks call the numbers of axes, or the nearest name.
func insteadOf(name string, names []string) string {
	if slices.Contains(names, "over") && slices.Contains([]string{"axis", "axes", "dim", "dims", "keepdim", "keepdims"}, name) {
		return "an axis is named: `over = axis`"
	}
	return diag.DidYouMean(name, names)
}

func formalIndex(fs []formal, name string) int {
	for i, p := range fs {
		if p.name == name {
			return i
		}
	}
	return -1
}

func formalNames(fs []formal) []string {
	var out []string
	for _, p := range fs {
		out = append(out, p.name)
	}
	return out
}

// formalsOf are the formals of declared parameters.
func formalsOf(ps []*syntax.Param) []formal {
	out := make([]formal, len(ps))
	for i, p := range ps {
		t, named := p.Type.(*syntax.NamedType)
		out[i] = formal{p.Name.Name, named && t.Name == "axis", p.Default == nil}
	}
	return out
}

// ParamNames are the names of declared parameters.
func ParamNames(ps []*syntax.Param) []string { return formalNames(formalsOf(ps)) }
