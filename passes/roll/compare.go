package roll

import (
	"slices"
	"strconv"
	"strings"

	"ptc/ir"
)

// classes numbers the modules: those that do the same, but for what they read from
// outside, have one number.
func (s *sequence) classes() []int {
	texts := make([][]byte, s.n)
	for _, a := range s.f.Args {
		if i := s.family.get(a.Value) - 1; i >= 0 {
			texts[i] = s.argument(texts[i], a)
		}
	}
	for i := range texts {
		if i > 0 {
			texts[i] = slices.Grow(texts[i], max(0, len(texts[i-1])-len(texts[i])))
		}
		for _, w := range s.ways {
			for _, o := range w.segments[i] {
				texts[i] = s.sign(strconv.AppendInt(texts[i], int64(w.number), 10), o, i)
			}
		}
	}
	for _, r := range s.f.Results {
		if i, ok := s.module(r.Path); ok && i < s.n {
			texts[i] = append(s.opened(append(append(texts[i], r.Role...), ' '), r.Path), ' ')
			texts[i] = append(s.operand(texts[i], r.Value, i), '\n')
		}
	}
	known, out := map[string]int{}, make([]int, s.n)
	for i, b := range texts {
		text := string(append(b, s.rules(s.omitted.number(i))...))
		if known[text] == 0 {
			known[text] = len(known) + 1
		}
		out[i] = known[text]
	}
	return out
}

// argument writes what a module has of its own.
func (s *sequence) argument(b []byte, a *ir.Arg) []byte {
	b = s.opened(append(append(b, a.Role...), ' '), a.Path)
	b = s.typ(append(b, ' '), a.Value.Type)
	as := a.Attrs
	if of := as.Text(ir.AttrCopyOf); of != "" {
		b, as = s.opened(append(b, ' '), of), as.With(ir.AttrCopyOf, nil)
	}
	return append(append(append(append(b, ' '), as.String()...), a.Pos.String()...), '\n')
}

// rules are, as a text, which kinds of modules, and patterns of the layout, the module
// with a number and those in it are of: what a rule is about is an instance, or none is.
func (s *sequence) rules(number int) []byte {
	if s.ruled != nil {
		return s.ruled[number]
	}
	s.ruled = map[int][]byte{}
	for n, patterns := range s.patterns {
		for _, p := range patterns {
			rest, ok := strings.CutPrefix(p, s.list+".")
			digits, _, _ := strings.Cut(rest, ".")
			if i, err := strconv.Atoi(digits); ok && err == nil && strconv.Itoa(i) == digits {
				b := strconv.AppendInt(append(s.ruled[i], "rule "...), int64(n), 10)
				s.ruled[i] = append(append(b, rest[len(digits):]...), '\n')
			}
		}
	}
	return s.ruled[number]
}

// sign writes what o, of module i, does.
func (s *sequence) sign(b []byte, o *ir.Op, i int) []byte {
	b = append(append(append(b, ' '), o.Name...), ' ')
	for _, a := range o.Attrs {
		if a.Key != ir.AttrSite {
			b = append(append(append(append(b, a.Key...), '='), a.Val.String()...), ' ')
		}
	}
	b = append(append(s.opened(b, o.Scope), ' '), o.Pos.File...)
	b = strconv.AppendInt(append(b, ':'), int64(o.Pos.Line), 10)
	b = strconv.AppendInt(append(b, ':'), int64(o.Pos.Col), 10)
	for _, r := range o.Results {
		b = s.typ(append(b, ' '), r.Type)
	}
	for _, v := range o.Args {
		b = s.operand(append(b, ' '), v, i)
	}
	return append(b, '\n')
}

// operand writes where v is from, as module i sees it.
func (s *sequence) operand(b []byte, v *ir.Value, i int) []byte {
	if k := s.family.get(v) - 1; k >= 0 {
		return append(strconv.AppendInt(append(b, "family "...), int64(int(k)-i), 10), s.familyName(v)...)
	}
	if v.Def != nil {
		if p := s.pos.get(v.Def); p.way != nil && p.module == i {
			b = strconv.AppendInt(append(b, '.'), int64(p.index), 10)
			b = strconv.AppendInt(append(b, '.'), int64(resultIndex(v)), 10)
			return strconv.AppendInt(append(b, '@'), int64(p.way.number), 10)
		}
	}
	return s.typ(append(b, "outside "...), v.Type)
}

func (s *sequence) typ(b []byte, t ir.Type) []byte {
	b = append(append(b, t.DType.String()...), '[')
	for _, a := range t.Axes {
		b = append(strconv.AppendInt(append(append(b, a.Name...), '='), int64(a.Size), 10), ',')
	}
	return append(b, ']')
}

// familyName tells the arguments of a module, and their gradients, apart.
func (s *sequence) familyName(v *ir.Value) string {
	if v.Def != nil {
		return "gradient of " + s.names[s.of[v]]
	}
	return s.names[v]
}

func resultIndex(v *ir.Value) int {
	for k, r := range v.Def.Results {
		if r == v {
			return k
		}
	}
	return -1
}

// opened writes a path with the number of its module of the list left open.
func (s *sequence) opened(b []byte, path string) []byte {
	if _, ok := s.module(path); ok {
		lead, rest := s.cut(path)
		return append(append(append(b, lead...), "{i}"...), rest...)
	}
	return append(b, path...)
}

// at is path with what stands for the number of its module.
func (s *sequence) at(path string, number string) string {
	lead, rest := s.cut(path)
	return lead + number + rest
}

// cut is what is before and behind the number of a path's module.
func (s *sequence) cut(path string) (lead, rest string) {
	n := len(s.list) + 1
	if strings.HasPrefix(path, updates) && strings.HasPrefix(path[len(updates):], s.list+".") {
		n += len(updates)
	}
	end := n
	for end < len(path) && '0' <= path[end] && path[end] <= '9' {
		end++
	}
	return path[:n], path[end:]
}

// takes is whether the modules of g can be instances of a stack: all read the same
// from outside, and otherwise from the instance before, in the same places; and
// nothing outside reads from within but what leaves the last instance.
func (s *sequence) takes(g group) bool {
	s.links = map[*way]*link{}
	if !s.results(g) {
		return false
	}
	for _, w := range s.ways {
		if len(s.ops(w, g, 0)) == 0 {
			continue
		}
		l := s.link(w, g)
		if l == nil || !s.leaves(w, g, l) {
			return false
		}
		s.links[w] = l
	}
	return true
}

// ops are the operations of instance k of g in a way.
func (s *sequence) ops(w *way, g group, k int) []*ir.Op {
	return slices.Concat(w.segments[g.first+k*g.period : g.first+(k+1)*g.period]...)
}

// carry is a value that goes from instance to instance.
type carry struct {
	op, result int
	init       *ir.Value
}

// link is how the instances of a group are joined in a way.
type link struct {
	carries []carry
	// of has, for each operand of the first instance that is carried, its carry.
	of    map[[2]int]int
	sites map[int]int64 // by how much the site of an operation grows
}

// link compares the operands of all instances; nil where they do not agree.
func (s *sequence) link(w *way, g group) *link {
	l := &link{of: map[[2]int]int{}, sites: map[int]int64{}}
	first := s.ops(w, g, 0)
	before, second := first, s.ops(w, g, 1)
	at := map[*ir.Op]int{}
	for k, o := range first {
		at[o] = k
	}
	for k, o := range second {
		for a, v := range o.Args {
			init := first[k].Args[a]
			if v == init || s.own(v, g, 1) {
				continue
			}
			from, ok := at[v.Def]
			if !ok || v.Def == nil {
				return nil
			}
			c := l.carry(carry{from, resultIndex(v), init})
			if c < 0 {
				return nil
			}
			l.of[[2]int{k, a}] = c
		}
		if o.Attrs.Has(ir.AttrSite) {
			l.sites[k] = (o.Attrs.Int(ir.AttrSite, 0) - first[k].Attrs.Int(ir.AttrSite, 0)) / s.apart(g, 1)
		}
	}
	for n := 1; n < g.count; n++ {
		ops := s.ops(w, g, n)
		for k, o := range ops {
			for a, v := range o.Args {
				want := first[k].Args[a]
				if c, carried := l.of[[2]int{k, a}]; carried {
					want = before[l.carries[c].op].Results[l.carries[c].result]
				} else if s.own(v, g, n) {
					continue // compared by class
				}
				if v != want {
					return nil
				}
			}
			if o.Attrs.Int(ir.AttrSite, 0)-before[k].Attrs.Int(ir.AttrSite, 0) != l.sites[k]*s.apart(g, n) {
				return nil
			}
		}
		before = ops
	}
	return l
}

// apart is by how many instances instance n of g is behind the one before it.
func (s *sequence) apart(g group, n int) int64 {
	if g.omitted > 0 && g.first+n == s.omitted.from {
		return int64(1 + g.omitted)
	}
	return 1
}

// carry is the number of the carried value, which is new or starts with the same; -1
// where it starts with another one.
func (l *link) carry(c carry) int {
	for k, old := range l.carries {
		if old.op == c.op && old.result == c.result {
			if old.init != c.init {
				return -1
			}
			return k
		}
	}
	l.carries = append(l.carries, c)
	return len(l.carries) - 1
}

// own is whether v is of instance k of g itself.
func (s *sequence) own(v *ir.Value, g group, k int) bool {
	m := int(s.family.get(v)) - 1
	if v.Def != nil && m < 0 {
		if p := s.pos.get(v.Def); p.way != nil {
			m = p.module
		}
	}
	return m >= 0 && m >= g.first+k*g.period && m < g.first+(k+1)*g.period
}

// leaves is whether all that is read outside of the instance that makes it is
// carried to the next one, or is a result of its own module.
func (s *sequence) leaves(w *way, g group, l *link) bool {
	carried := map[[2]int]bool{}
	for _, c := range l.carries {
		carried[[2]int{c.op, c.result}] = true
	}
	within := func(m, k int) bool { return m >= g.first+k*g.period && m < g.first+(k+1)*g.period }
	for n := range g.count {
		for k, o := range s.ops(w, g, n) {
			for r, v := range o.Results {
				on := carried[[2]int{k, r}]
				if on && n == g.count-1 {
					continue // readers outside read what leaves
				}
				for _, u := range s.users.of(v) {
					p := s.pos.get(u)
					if p.way == nil || !within(p.module, n) && !(on && p.way == w && within(p.module, n+1)) {
						return false
					}
				}
				for _, path := range s.yields[v] {
					if m, ok := s.module(path); !ok || !within(m, n) {
						return false
					}
				}
			}
		}
	}
	return true
}

// results is whether the results of the modules of g are their own values.
func (s *sequence) results(g group) bool {
	return !slices.ContainsFunc(s.f.Results, func(r ir.Result) bool {
		m, ok := s.module(r.Path)
		return ok && m >= g.first && m < g.first+g.period*g.count && !s.own(r.Value, g, (m-g.first)/g.period)
	})
}
