package roll

import (
	"ptc/ir"
	"ptc/passes/pass"
)

// Run rolls every function of m.
func Run(c *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		if f.Class == ir.Entry {
			for _, list := range lists(f) {
				roll(c, m, f, list)
			}
			f.Renumber()
		}
	}
	return nil
}

// roll makes stacks of the modules of one list.
func roll(c *pass.Context, m *ir.Module, f *ir.Func, list string) {
	s := find(f, list, m.Meta, false)
	if s == nil {
		return
	}
	found := groups(s.classes())
	if n := modules(found); n < s.n {
		t := find(f, list, m.Meta, true)
		if more := groups(t.classes()); modules(more) > n {
			s, found = t, more
		}
	}
	for _, g := range found {
		if s.takes(g) {
			t := s.fold(g)
			c.Remarkf(nil, "@%s: `%s`, %d times", f.Name, ir.OfInstance(list, 0)+"."+open(g, g.first), t.Count)
		}
	}
	s.finish()
}

// group is a range of modules that is repeated with a period.
type group struct{ first, period, count int }

// open is the number of module i of g, left open.
func open(g group, i int) string {
	return ir.OpenNumber(g.period, g.first+(i-g.first)%g.period)
}

// modules counts those in the groups.
func modules(gs []group) (n int) {
	for _, g := range gs {
		n += g.period * g.count
	}
	return n
}

// maxPeriod is how many modules of different kinds may alternate.
const maxPeriod = 8

// groups are the repeated ranges of a sequence of classes: from each place on, what
// covers most, and of that what has the smallest period.
func groups(classes []int) []group {
	var out []group
	for i := 0; i < len(classes); {
		best := group{i, 1, 1}
		for p := 1; p <= maxPeriod && i+2*p <= len(classes); p++ {
			n := p
			for i+n < len(classes) && classes[i+n] == classes[i+n-p] {
				n++
			}
			if n/p >= 2 && n/p*p > best.period*best.count {
				best = group{i, p, n / p}
			}
		}
		if best.count > 1 {
			out = append(out, best)
		}
		i += best.period * best.count
	}
	return out
}
