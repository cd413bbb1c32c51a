package verify

import (
	"fmt"
	"sort"
	"sync"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/excerpt"
)

type rule struct {
	level ir.Level
	name  string
	begin func(m *ir.Module) (Proof, diag.List)
}

// Proof goes through the entry functions of a module one after the other. Line is the
// function's excerpt, in a line ([excerpt.Line]), which all rules share and none may change.
type Proof struct {
	Each func(f *ir.Func, line func() excerpt.Excerpt) diag.List
	End  func(found int) diag.List // what is wrong behind them, where so much is already
}

var rules []rule

// AtLevel adds a rule that every module at the level must keep; it is for
// init functions. The rule may rely on everything that the other checks hold,
// save the other rules. A second rule of one name and level is a bug.
func AtLevel(level ir.Level, name string, check func(m *ir.Module) diag.List) {
	AtLevelByFunction(level, name, func(m *ir.Module) (Proof, diag.List) { return Proof{}, check(m) })
}

// AtLevelByFunction adds a rule as AtLevel does, which after begin goes through the entry
// functions.
func AtLevelByFunction(level ir.Level, name string, begin func(m *ir.Module) (Proof, diag.List)) {
	for _, r := range rules {
		if r.level == level && r.name == name {
			panic(fmt.Sprintf("verify: rule %q at %s registered twice", name, level))
		}
	}
	rules = append(rules, rule{level, name, begin})
}

// Alone is what is wrong with m by one rule.
func Alone(m *ir.Module, begin func(m *ir.Module) (Proof, diag.List)) diag.List {
	return hold(m, []rule{{begin: begin}})
}

// hold is what is wrong with m by the rules, in their order.
func hold(m *ir.Module, rules []rule) diag.List {
	proofs, found := make([]Proof, len(rules)), make([]diag.List, len(rules))
	for i, r := range rules {
		proofs[i], found[i] = r.begin(m)
	}
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		line := sync.OnceValue(func() excerpt.Excerpt { return excerpt.Line(f) })
		for i, p := range proofs {
			if p.Each != nil {
				found[i] = append(found[i], p.Each(f, line)...)
			}
		}
	}
	var out diag.List
	for i, p := range proofs {
		if p.End != nil {
			found[i] = append(found[i], p.End(len(found[i]))...)
		}
		out = append(out, found[i]...)
	}
	return out
}

// atLevel is the rules of the level by name, so that their order does not
// depend on the order in which packages are initialized.
func atLevel(level ir.Level) []rule {
	var out []rule
	for _, r := range rules {
		if r.level == level {
			out = append(out, r)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}
