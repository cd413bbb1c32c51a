package remat

import (
	"slices"

	"ptc/ir"
	"ptc/passes/pass"
)

// Split makes several stacks of one where a budget is used best if some instances
// rematerialize more than others; [Run] then decides for each. A part of one instance is
// written outside of runs.
func Split(c *pass.Context, m *ir.Module) error {
	f := m.Func("step")
	rules := rulesOf(m)
	at := slices.IndexFunc(rules, func(x rule) bool { return x.auto })
	if f == nil || at < 0 || len(f.Stacks) == 0 {
		return nil
	}
	p := phasesOf(f)
	quiet := pass.Context{Target: c.Target} // [Run] tells which attentions are kernels
	chosen, err := plans(c, m, rules[at], rules, p, attentionsOf(&quiet, p), true)
	if err != nil || chosen == nil {
		return err
	}
	cuts := map[*ir.Stack][]bool{} // by the number of an instance: whether a stack begins there
	for d, dev := range chosen.devices {
		for i := range dev.units {
			dev.units[i].cut(chosen.plans[d].picks[i], cuts)
		}
	}
	split(c, f, partsOf(f, cuts), func(*ir.Stack, []*ir.Stack) {})
	return nil
}

// partsOf is how many instances each part of a stack has that is cut.
func partsOf(f *ir.Func, cuts map[*ir.Stack][]bool) map[*ir.Stack][]int {
	out := map[*ir.Stack][]int{}
	for _, s := range f.Stacks {
		if !slices.Contains(cuts[s], true) {
			continue
		}
		var counts []int
		for k := range s.Count {
			if k == 0 || cuts[s][k] {
				counts = append(counts, 0)
			}
			counts[len(counts)-1]++
		}
		out[s] = counts
	}
	return out
}

// split makes several stacks of those that have parts, calls made, and writes a part of
// one instance outside of runs.
func split(c *pass.Context, f *ir.Func, parts map[*ir.Stack][]int, made func(s *ir.Stack, parts []*ir.Stack)) {
	for _, s := range slices.Clone(f.Stacks) {
		if len(parts[s]) == 0 {
			continue
		}
		of := f.Split(s, parts[s])
		made(s, of)
		for _, p := range of {
			if p.Count == 1 {
				f.Inline(p)
			}
		}
		c.Remarkf(nil, "@step: instances of %s rematerialize different operations and are split into stacks of %v", s.Name, parts[s])
	}
}

// cut notes where neighbours of the unit's stack have different options.
func (u *unit) cut(picks []int, cuts map[*ir.Stack][]bool) {
	s := u.stack()
	if s == nil {
		return
	}
	if cuts[s] == nil {
		cuts[s] = make([]bool, s.Count)
	}
	for n := 1; n < len(picks); n++ {
		if picks[n] != picks[n-1] {
			cuts[s][max(u.number(n), u.number(n-1))] = true
		}
	}
}
