package remat

import (
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/internal/openpath"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/passes/pass"
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
	l := layout.Of(m)
	var out []rule
	for _, x := range layout.All[*layout.Recompute](l) {
		r := rule{auto: x.Auto(), keep: x.Keep, budget: x.Budget, at: x.At}
		if !r.auto {
			r.patterns = l.Patterns(x.Of)
		}
		out = append(out, r)
	}
	return out
}

// warnIdle warns of rules whose modules have nothing that w rematerialized. What is over
// queries and keys counts as rematerialized by them, since targets without kernels of
// attention would store it.
func warnIdle(c *pass.Context, m *ir.Module, rules []rule, w *rewriter) {
	for _, x := range rules {
		idle := !x.auto
		for _, o := range w.phases.f.Ops {
			if !idle {
				break
			}
			if _, ok := x.inside(o.Scope); ok {
				idle = !o.Remat && !w.attentions.in[o]
			}
		}
		if idle {
			c.Warnf(nil, "%s", layout.NoEffect(layout.Of(m).Name, "recompute", x.at, "the backward phase reads nothing that these modules compute inside"))
		}
	}
}

// inside is the path of the instance that scope is in, and whether the rule
// has its values rematerialized.
func (r rule) inside(scope string) (string, bool) {
	at := strings.Split(ir.OfInstance(scope, 0), ".") // rules are of all instances of a stack, or of none
	for n := 1; n <= len(at); n++ {
		for _, p := range r.patterns {
			if !openpath.Match(strings.Split(p, "."), at[:n]) {
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
	at := strings.Split(ir.OfInstance(scope, 0), ".") // rules are of all instances of a stack, or of none
	for n := 1; n < len(at); n++ {
		for _, p := range r.patterns {
			if slices.Contains(r.keep, at[n]) && openpath.Match(strings.Split(p, "."), at[:n]) {
				return true
			}
		}
	}
	return false
}
