package remat

import (
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
)

// rule is one recompute rule: patterns of module paths, and members to keep;
// or auto, and its budget in bytes, 0 where none is said.
type rule struct {
	auto     bool
	budget   int64
	at       diag.Pos
	patterns []string
	keep     []string
}

func rulesOf(m *ir.Module) []rule {
	t := m.MetaTerm("layout")
	if t == nil {
		return nil
	}
	instances := m.MetaTerm("instances")
	var out []rule
	for _, x := range t.Args.Terms("rules") {
		if x.Head != "recompute" {
			continue
		}
		r := rule{keep: x.Args.Names("keep"), budget: x.Args.Int("budget", 0), at: diag.ParsePos(x.Args.Text("at"))}
		for _, name := range strings.Split(x.Args.Text("of"), ",") {
			name = strings.TrimSpace(name)
			if name == "auto" {
				r.auto = true
				continue
			}
			paths := name
			if instances != nil && instances.Args.Has(name) {
				paths = instances.Args.Text(name)
			}
			for _, p := range strings.Split(paths, ",") {
				r.patterns = append(r.patterns, strings.TrimSpace(p))
			}
		}
		out = append(out, r)
	}
	return out
}

// inside is the path of the instance that scope is in, and whether the rule
// has its values computed again.
func (r rule) inside(scope string) (string, bool) {
	at := strings.Split(scope, ".")
	for n := 1; n <= len(at); n++ {
		for _, p := range r.patterns {
			if !matches(strings.Split(p, "."), at[:n]) {
				continue
			}
			if n < len(at) && slices.Contains(r.keep, at[n]) {
				return "", false
			}
			return strings.Join(at[:n], "."), true
		}
	}
	return "", false
}

// keeps reports whether scope is in a member that the rule keeps.
func (r rule) keeps(scope string) bool {
	at := strings.Split(scope, ".")
	for n := 1; n < len(at); n++ {
		for _, p := range r.patterns {
			if slices.Contains(r.keep, at[n]) && matches(strings.Split(p, "."), at[:n]) {
				return true
			}
		}
	}
	return false
}

// matches reports whether a path is of the pattern, in which * stands for one
// part and ** for any number.
func matches(pattern, path []string) bool {
	if len(pattern) == 0 || len(path) == 0 {
		return len(pattern) == 0 && len(path) == 0 || len(pattern) == 1 && pattern[0] == "**"
	}
	if pattern[0] == "**" {
		return matches(pattern[1:], path) || matches(pattern, path[1:])
	}
	return (pattern[0] == "*" || pattern[0] == path[0]) && matches(pattern[1:], path[1:])
}
