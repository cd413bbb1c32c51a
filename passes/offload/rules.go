package offload

import (
	"slices"
	"strings"

	"ptc/ir"
)

// defaultPiece is how many bytes of state are on their way at once, where the
// layout does not say: long enough for a disk, and small beside an arena.
const defaultPiece = 4 << 20

// rule is one directive of the layout.
type rule struct {
	memory   ir.Memory // host or disk
	piece    int64     // bytes
	patterns []string  // of module paths; nil: all
	why      ir.Str    // what says so, and where
}

// rulesOf are the layout's rules that offload what, in order.
func rulesOf(m *ir.Module, what string) []rule {
	t := m.MetaTerm("layout")
	if t == nil {
		return nil
	}
	var out []rule
	for _, x := range t.Args.Terms("rules") {
		if x.Head != "offload" || !slices.Contains(x.Args.Names("what"), what) {
			continue
		}
		to, _ := ir.ParseMemory(x.Args.Text("to"))
		out = append(out, rule{to, max(1, x.Args.Int("piece", defaultPiece)), patterns(m, x.Args.Text("of")),
			ir.Str(strings.TrimSpace("offload " + what + " " + x.Args.Text("at")))})
	}
	return out
}

// patterns are the module paths that a list of names stands for: a name is a
// path, or of a module, whose instances the module lists.
func patterns(m *ir.Module, of string) []string {
	if of == "" {
		return nil
	}
	var out []string
	instances := m.MetaTerm("instances")
	for _, name := range strings.Split(of, ",") {
		name = strings.TrimSpace(name)
		if instances != nil && instances.Args.Has(name) {
			name = instances.Args.Text(name)
		}
		for _, p := range strings.Split(name, ",") {
			out = append(out, strings.TrimSpace(p))
		}
	}
	return out
}

// inside reports whether scope is in a module that the rule names.
func (r rule) inside(scope string) bool {
	if r.patterns == nil {
		return true
	}
	at := strings.Split(scope, ".")
	return slices.ContainsFunc(r.patterns, func(p string) bool {
		return matches(strings.Split(p, "."), at)
	})
}

// matches reports whether a path, or the beginning of one, is of the pattern, in
// which * stands for one part and ** for any number.
func matches(pattern, path []string) bool {
	switch {
	case len(pattern) == 0:
		return true
	case pattern[0] == "**":
		return matches(pattern[1:], path) || len(path) > 0 && matches(pattern, path[1:])
	}
	return len(path) > 0 && (pattern[0] == "*" || pattern[0] == path[0]) && matches(pattern[1:], path[1:])
}
