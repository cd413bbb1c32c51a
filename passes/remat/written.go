package remat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
)

// written is a rule that a user could write in the place of auto.
type written struct {
	text  string
	again map[*ir.Op]bool
	work  []float64 // flops that it adds, by device
}

// mostMembers is of how many members of a module all sets are kept; of more, one or all
// but one.
const mostMembers = 5

// written are rules that a user could write instead of auto, in addition to those that the
// layout has: nothing, everything, each module with each list of members to keep, and two
// modules. Of those that rematerialize the same the first counts.
func (s *Search) written() []written {
	if s.rules != nil {
		return s.rules
	}
	m := s.of.m
	have := slices.DeleteFunc(rulesOf(m), func(r rule) bool { return r.auto })
	h := s.of.b.phases
	seen := map[string]bool{}
	add := func(text string, rules ...rule) {
		again := named(h, append(slices.Clone(have), rules...))
		s.of.b.attentions.keepStatistics(again)
		var key strings.Builder
		for i, o := range s.f.Ops {
			if again[o] && slices.ContainsFunc(have, func(r rule) bool { return r.keeps(o.Scope) }) {
				delete(again, o)
			}
			if again[o] {
				fmt.Fprint(&key, i, " ")
			}
		}
		if !seen[key.String()] {
			seen[key.String()] = true
			s.rules = append(s.rules, written{text, again, s.work(again)})
		}
	}
	add("no rule")
	l := layout.Of(m)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(l.Instances)), func(n string) bool { return len(h.members(ruleOf(l, n))) == 0 })
	for _, n := range names {
		add("`recompute "+n+"`", ruleOf(l, n))
	}
	for _, path := range append(tops(l), "*") { // lists of modules as one, and everything
		add("`recompute "+path+"`", rule{patterns: []string{path}})
	}
	for _, n := range names {
		for _, keep := range subsets(h.members(ruleOf(l, n))) {
			r := ruleOf(l, n)
			r.keep = keep
			add(fmt.Sprintf("`recompute %s { keep = [%s] }`", n, strings.Join(keep, ", ")), r)
		}
	}
	for i, n := range names {
		for _, k := range names[i+1:] {
			add(fmt.Sprintf("`recompute %s` and `recompute %s`", n, k), ruleOf(l, n), ruleOf(l, k))
		}
	}
	return s.rules
}

// tops are the first parts of the paths of modules.
func tops(l *layout.Layout) []string {
	seen := map[string]bool{}
	for _, paths := range l.Instances {
		for _, p := range paths {
			first, _, _ := strings.Cut(p, ".")
			seen[first] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func ruleOf(l *layout.Layout, module string) rule { return rule{patterns: l.Instances[module]} }

// members are the first parts of the scopes of forward operations inside of what rule r
// names; "" for what is of the module itself.
func (h *phases) members(r rule) []string {
	seen := map[string]bool{}
	for _, o := range h.f.Ops {
		if path, ok := r.inside(o.Scope); ok && h.forward[o] {
			rest := strings.TrimPrefix(strings.TrimPrefix(ir.OfInstance(o.Scope, 0), path), ".")
			first, _, _ := strings.Cut(rest, ".")
			seen[first] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// subsets are the lists of members that may be kept, but for none.
func subsets(members []string) (out [][]string) {
	members = slices.DeleteFunc(members, func(m string) bool { return m == "" })
	n := len(members)
	if n == 0 {
		return nil
	}
	if n <= mostMembers {
		for bits := 1; bits < 1<<n; bits++ {
			var list []string
			for i, m := range members {
				if bits>>i&1 == 1 {
					list = append(list, m)
				}
			}
			out = append(out, list)
		}
		slices.SortStableFunc(out, func(a, b []string) int { return cmp.Compare(len(a), len(b)) })
		return out
	}
	for i, m := range members {
		out = append(out, []string{m}, slices.Delete(slices.Clone(members), i, i+1))
	}
	return out
}

// pickOf is what rule w does on device d, with what it takes by the count.
func (s *Search) pickOf(d int, dev *device, w written) *pick {
	p := &pick{by: w.text, again: map[int]bool{}, work: w.work[d]}
	for i, o := range s.f.Ops {
		if w.again[o] && (o.Stage == 0 || s.of.b.device(o.Stage.Or(0)) == d) {
			p.again[i] = true
		}
	}
	one := &device{flight: dev.flight, effort: dev.effort}
	for _, u := range dev.units {
		v := u
		v.fronts = nil
		for _, r := range u.regions {
			v.fronts = append(v.fronts, front{options: []option{r.by(w.again)}})
		}
		one.units = append(one.units, v)
	}
	one.join()
	for _, u := range one.units {
		p.plan.picks = append(p.plan.picks, make([]int, u.count))
		p.plan.flops += int64(u.count) * u.all.options[0].flops
	}
	p.plan.peak = one.peak(p.plan.picks)
	return p
}

// by is the option of the region where these operations are rematerialized, as far as
// there is a choice. Elementwise work is done again wherever that takes less, as fusion
// does it of its own accord.
func (r *region) by(redo map[*ir.Op]bool) option {
	q := &region{fixed: r.fixed, nodes: slices.Clone(r.nodes)}
	for i := range q.nodes {
		switch n := &q.nodes[i]; {
		case n.must != undecided:
		case redo[n.o]:
			n.must = again
		case n.o != nil && op.Of(n.o).Class != op.Elementwise:
			n.must = keep
		}
	}
	return slices.MinFunc(frontOf(q).options, func(a, b option) int { return cmp.Or(cmp.Compare(a.keep, b.keep), cmp.Compare(a.work, b.work)) })
}

// work is what rematerializing these operations adds, by device, as [rewriter] would: each
// once, if the backward phase or one that is rematerialized reads it.
func (s *Search) work(again map[*ir.Op]bool) []float64 {
	out := make([]float64, len(s.of.devices))
	scores, copied, scored := s.of.b.attentions, map[*ir.Op]bool{}, map[*ir.Op]bool{}
	var copy, score func(v *ir.Value, reader *ir.Op)
	behind := scores.carries(s.f)
	var whole func(o *ir.Op)
	whole = func(o *ir.Op) {
		if copied[o] || !again[o] {
			return
		}
		copied[o] = true
		out[s.of.b.device(o.Stage.Or(0))] += float64(o.Times()) * float64(op.Of(o).Flops(o))
		for _, a := range o.Args {
			copy(a, o)
		}
	}
	copy = func(v *ir.Value, reader *ir.Op) {
		o := v.Def
		if o == nil || copied[o] || !again[o] || crosses(o, reader) {
			return
		}
		if k := scores.core[o]; k != nil {
			for _, x := range slices.Concat(k.Ops, behind[k]) {
				whole(x)
			}
		}
		whole(o)
	}
	score = func(v *ir.Value, reader *ir.Op) {
		if scores.of[v] == nil || crosses(v.Def, reader) {
			copy(v, reader)
			return
		}
		if !scored[v.Def] {
			scored[v.Def] = true
			for _, a := range v.Def.Args {
				score(a, v.Def)
			}
		}
	}
	for _, o := range s.f.Ops {
		if !s.of.b.forward[o] && !scores.in[o] {
			for _, v := range o.Args {
				score(v, o)
			}
		}
	}
	return out
}
