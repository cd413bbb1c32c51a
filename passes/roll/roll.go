package roll

import (
	"bytes"
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/passes/pass"
)

// Run rolls every function of m that has no stacks yet.
func Run(c *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		if f.Class == ir.Entry && len(f.Stacks) == 0 {
			rollFunc(c, m, f, nil)
		}
	}
	return nil
}

// Omitted is what the text of a function lacks: of a list, the modules From to To−1,
// which do what From−1 does.
type Omitted struct {
	Func, List string
	From, To   int
}

// Complete rolls every function of m as [Run] rolls the module in which nothing is
// omitted. It is false where what is omitted is in no stack, so that m lacks it still.
func Complete(c *pass.Context, m *ir.Module, omitted []Omitted) bool {
	for _, f := range m.Funcs {
		mine := map[string]Omitted{}
		for _, o := range omitted {
			if o.Func == f.Name {
				mine[o.List] = o
			}
		}
		if !rollFunc(c, m, f, mine) {
			return false
		}
	}
	return true
}

// rollFunc rolls the modules of each list; it is whether all that is omitted is in
// stacks then.
func rollFunc(c *pass.Context, m *ir.Module, f *ir.Func, omitted map[string]Omitted) bool {
	complete := 0
	for _, list := range lists(f) {
		if !results(f) {
			break
		}
		o, lacks := omitted[list]
		if covers := roll(c, m, f, list, gap{o.From, o.To}); lacks && covers {
			complete++
		}
	}
	f.Renumber()
	return complete == len(omitted)
}

// roll makes stacks of the modules of one list. It is whether what is omitted of
// the list is in one.
func roll(c *pass.Context, m *ir.Module, f *ir.Func, list string, omitted gap) (covers bool) {
	s := find(f, list, m.Meta, omitted, false)
	if s == nil {
		return false
	}
	found := s.repeated()
	if n := s.modules(found); n < s.n+omitted.count() {
		t := find(f, list, m.Meta, omitted, true)
		if more := t.repeated(); t.modules(more) > n {
			s, found = t, more
		}
	}
	for _, g := range found {
		name := ir.OfInstance(list, 0) + "." + s.open(g, g.first)
		if s.takes(g) && c.May(fmt.Sprintf("write `%s` of @%s once", name, f.Name), nil) {
			t := s.fold(g)
			covers = covers || g.omitted > 0
			c.Remarkf(nil, "@%s: `%s` is repeated %d times", f.Name, name, t.Count)
		}
	}
	s.finish()
	return covers && !s.torn
}

// gap is the numbers of the modules that are omitted: from to to−1. Modules are counted
// without them: what the text has of the list is 0, 1, 2 and so on.
type gap struct{ from, to int }

func (g gap) count() int { return g.to - g.from }

// number is that of module i in its path.
func (g gap) number(i int) int {
	if i >= g.from {
		i += g.count()
	}
	return i
}

// index is that of the module with a number that is not omitted.
func (g gap) index(number int) int {
	if number >= g.to {
		number -= g.count()
	}
	return number
}

// group is a range of modules that is repeated with a period. Behind its module
// omitted ones are, of the same kind.
type group struct{ first, period, count, omitted int }

// open is the number of module i of g, left open.
func (s *sequence) open(g group, i int) string {
	return ir.OpenNumber(g.period, s.omitted.number(g.first+(i-g.first)%g.period))
}

// repeated are the groups of modules; what is omitted is in one, or there are none.
func (s *sequence) repeated() []group {
	classes, o := s.classes(), s.omitted
	if o.count() == 0 {
		return groups(classes)
	}
	if o.from < 1 || o.from >= len(classes) {
		return nil
	}
	for i := o.from; i < o.to; i++ {
		if !bytes.Equal(s.rules(i), s.rules(o.from-1)) {
			return nil
		}
	}
	all := slices.Insert(slices.Clone(classes), o.from, slices.Repeat(classes[o.from:o.from+1], o.count())...)
	found := groups(all)
	for i, g := range found {
		end := g.first + g.period*g.count
		switch {
		case end <= o.from: // before the gap
		case g.first >= o.to:
			found[i].first = o.index(g.first)
		case g.first < o.from && end > o.to && g.period == 1:
			found[i].omitted = o.count()
			found[i].count -= o.count()
		default:
			return nil
		}
	}
	return found
}

// modules counts those in the groups.
func (s *sequence) modules(gs []group) (n int) {
	for _, g := range gs {
		n += g.period*g.count + g.omitted
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
		best := group{i, 1, 1, 0}
		for p := 1; p <= maxPeriod && i+2*p <= len(classes); p++ {
			n := p
			for i+n < len(classes) && classes[i+n] == classes[i+n-p] {
				n++
			}
			if n/p >= 2 && n/p*p > best.period*best.count {
				best = group{i, p, n / p, 0}
			}
		}
		if best.count > 1 {
			out = append(out, best)
		}
		i += best.period * best.count
	}
	return out
}
