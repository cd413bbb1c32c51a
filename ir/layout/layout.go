package layout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
)

const code = "E0321" // metadata of a layout that cannot be read

// Layout is the layout of a module: layout(name="l", rules=[…]).
type Layout struct {
	Name  string
	Rules []Rule // in the order of the source
	// Instances are the paths of a module's instances, by its name.
	Instances map[string][]string
}

// Of is the layout of m; without a name where m has none. What [Check] reports is
// left out.
func Of(m *ir.Module) *Layout {
	l := &Layout{Instances: map[string][]string{}}
	if t := m.MetaTerm("layout"); t != nil {
		l.Name = t.Args.Text("name")
		for _, x := range t.Args.Terms("rules") {
			if r, err := decodeRule(x); err == nil {
				l.Rules = append(l.Rules, r)
			}
		}
	}
	if t := m.MetaTerm("instances"); t != nil {
		for _, x := range t.Args {
			l.Instances[x.Key] = split(t.Args.Text(x.Key))
		}
	}
	return l
}

// All are the rules of one type, in their order.
func All[T Rule](l *Layout) []T {
	var out []T
	for _, r := range l.Rules {
		if r, ok := r.(T); ok {
			out = append(out, r)
		}
	}
	return out
}

// Terms are the layout's two terms of metadata, its rules and the instances.
func (l *Layout) Terms() (rules, instances ir.Term) {
	var list ir.Terms
	for _, r := range l.Rules {
		list = append(list, Encode(r))
	}
	instances.Head = "instances"
	for _, n := range slices.Sorted(maps.Keys(l.Instances)) {
		instances.Args = instances.Args.With(n, ir.Str(strings.Join(l.Instances[n], ", ")))
	}
	return ir.Term{Head: "layout", Args: ir.A("name", ir.Str(l.Name), "rules", list)}, instances
}

// NoEffect is the warning of a directive, or an option of one, that changes nothing.
func NoEffect(layout, what string, at diag.Pos, why string) string {
	where := ""
	if at.IsValid() {
		where = fmt.Sprintf(" of line %d", at.Line)
	}
	return fmt.Sprintf("layout `%s`: `%s`%s has no effect: %s (W0401)", layout, what, where, why)
}

// Patterns are what names stand for: patterns of paths as they are, and those of a
// module's instances for its name.
func (l *Layout) Patterns(names []string) []string {
	var out []string
	for _, n := range names {
		if paths, ok := l.Instances[n]; ok {
			out = append(out, paths...)
		} else {
			out = append(out, n)
		}
	}
	return out
}

func split(s string) []string {
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// Check lists what is wrong with the metadata of m that this package reads.
func Check(m *ir.Module) diag.List {
	var errs diag.List
	add := func(msg, want string) { errs = append(errs, &diag.Error{Code: code, Msg: msg, Want: want}) }
	seen := map[string]bool{}
	for _, t := range m.Meta {
		switch t.Head {
		case "layout", "precision", "instances":
			if seen[t.Head] {
				add(fmt.Sprintf("a second `%s`", t.Head), "one")
			}
			seen[t.Head] = true
		}
		switch t.Head {
		case "layout":
			errs = append(errs, checkLayout(t)...)
		case "precision":
			if _, err := decode(t); err != nil {
				errs = append(errs, err)
			}
		case "instances":
			for _, x := range t.Args {
				if _, ok := x.Val.(ir.Str); !ok {
					add(fmt.Sprintf("instances: `%s` is %s", x.Key, x.Val), "paths, separated by commas: \"blocks.*\"")
				}
			}
		}
	}
	return errs
}

func checkLayout(t ir.Term) (errs diag.List) {
	add := func(msg, want string) { errs = append(errs, &diag.Error{Code: code, Msg: msg, Want: want}) }
	for _, x := range t.Args {
		switch v := x.Val.(type) {
		case ir.Str:
			if x.Key == "name" {
				continue
			}
		case ir.Terms:
			if x.Key == "rules" {
				for _, r := range v {
					if _, err := decodeRule(r); err != nil {
						errs = append(errs, err)
					}
				}
				continue
			}
		}
		add(fmt.Sprintf("layout: `%s` is %s", x.Key, x.Val), "layout(name=\"l\", rules=[…])")
	}
	return errs
}

// decodeRule is decode for what is a rule of the layout.
func decodeRule(t ir.Term) (Rule, *diag.Error) {
	if row := RowOf(t.Head); row != nil && row.Form == InRules {
		return decode(t)
	}
	var words []string
	for _, r := range Table {
		if r.Form == InRules {
			words = append(words, r.Word)
		}
	}
	return nil, &diag.Error{Code: code, Msg: "layout: no directive `" + t.Head + "`", Want: diag.OneOf(words), Hint: diag.DidYouMean(t.Head, words)}
}
