package remat

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/internal/units"
	"ptc/ir"
	"ptc/passes/pass"
)

// Search looks for what @step rematerializes under rule auto. What the finished plan takes
// is known only when it is made: fusion leaves values out, padding and the places of
// buffers add to them, and products are done in ranges of rows. So the search proposes
// choices ([Search.Next]), hears what each takes ([Search.Took]), and corrects its count
// by that. It starts from the cheapest choice by the count (auto.go), and goes on to
// what a user could write (written.go): if one of those fits, so does what is found, and
// does no more work.
//
// Devices of a pipeline search side by side: a choice has a proposal for each of them.
type Search struct {
	f      *ir.Func
	rule   rule
	memory int64
	of     *counted
	sides  []*side
	rules  []written // that a user could write, once they are asked for
	tried  []*Choice
	least  int // trials that are left, but for devices on which nothing fits so far
	most   int // for those
}

// pick is what one device may do.
type pick struct {
	by     string // the rule
	plan   plan   // of the count; of a written rule its peak and flops alone
	again  map[int]bool
	work   float64 // flops that it adds, as far as is known
	excess int64   // bytes above what there is, below it if negative, where tried
	use    pass.Use
	tried  bool
}

func (p *pick) fits() bool { return p.tried && p.excess <= 0 }

// NewSearch begins a search for @step of m, which has its stages; nil where its layout
// does not ask for one, or no budget is said.
func NewSearch(c *pass.Context, m *ir.Module) (*Search, error) {
	f := m.Func("step")
	rules := rulesOf(m)
	at := slices.IndexFunc(rules, func(x rule) bool { return x.auto })
	if f == nil || at < 0 {
		return nil, nil
	}
	s := &Search{f: f, rule: rules[at], memory: memoryOf(m)}
	if s.rule.budget <= 0 && s.memory <= 0 {
		return nil, nil
	}
	h := phasesOf(f)
	quiet := &pass.Context{Target: c.Target}
	var err error
	if s.of, err = countedOf(quiet, m, rules, h, attentionsOf(quiet, h), true); err != nil || s.of == nil {
		return nil, err
	}
	s.least, s.most = trials(f)
	for d, dev := range s.of.devices {
		dev.effort = quickly
		s.sides = append(s.sides, s.side(d, dev))
	}
	return s, nil
}

// thorough is from how many trials on every flop counts.
const thorough = 8

// trials are how many plans may be made: many of a small program, few of a large one.
func trials(f *ir.Func) (least, most int) {
	const work = 40000 // operations
	least = min(max(work/max(1, len(f.Ops)), 3), 24)
	return least, 3 * least
}

// Next is the next choice to try; nil where there is nothing more to gain.
func (s *Search) Next() *Choice {
	picks, any := make([]*pick, len(s.sides)), false
	for d, x := range s.sides {
		if len(s.tried) < s.most && (len(s.tried) < s.least || x.best == nil) {
			picks[d] = x.next()
		}
		any = any || picks[d] != nil
	}
	for d, x := range s.sides {
		if picks[d] == nil {
			picks[d] = x.standing()
		}
	}
	if !any && s.same(picks) != nil {
		return nil // what every device had best do was tried together
	}
	return s.choice(picks)
}

// same is the choice of these picks that was tried, or nil.
func (s *Search) same(picks []*pick) *Choice {
	for _, x := range s.tried {
		if slices.Equal(x.picks, picks) {
			return x
		}
	}
	return nil
}

// Took says what the plan of choice x takes on each device.
func (s *Search) Took(x *Choice, use []pass.Use) {
	s.tried = append(s.tried, x)
	for d, p := range x.picks {
		u := use[d]
		p.excess = -1 << 62
		if s.memory > 0 {
			p.excess = u.All - s.memory
		}
		if s.rule.budget > 0 {
			p.excess = max(p.excess, u.Step-s.rule.budget)
		}
		p.use, p.work, p.tried = u, x.flops[d], true
		s.sides[d].took(p)
	}
}

// Best is the choice that fits with the least work, and an error where none fits the
// budget that the layout says. Where none fits a device's memory it is the one that needs
// least, whose plan is then refused; Note says so.
func (s *Search) Best() (x *Choice, note string, err error) {
	picks := make([]*pick, len(s.sides))
	for d, side := range s.sides {
		picks[d] = side.standing()
	}
	x = s.same(picks)
	if x == nil || !x.fits() {
		for _, y := range s.tried {
			if y.fits() && (x == nil || !x.fits() || y.work() < x.work()) {
				x = y
			}
		}
	}
	if x == nil {
		x = s.choice(picks)
	}
	x.told = s.tell(x)
	worst := 0
	for d, p := range x.picks {
		if p.excess > x.picks[worst].excess {
			worst = d
		}
	}
	p := x.picks[worst]
	if !p.tried || p.excess <= 0 {
		return x, "", nil
	}
	note = fmt.Sprintf("the smallest of %d plans that were tried, by %s, takes %s on a device, %s of them for temporaries of @step",
		len(s.tried), p.by, units.Bytes(p.use.All), units.Bytes(p.use.Step))
	if b := s.rule.budget; b > 0 && p.use.Step > b {
		if !s.sides[worst].counts(b) {
			return nil, "", &diag.Error{Code: "E0613", Pos: s.rule.at,
				Msg:  fmt.Sprintf("@step needs at least %s on a device, in addition to parameters, state and data", units.AtLeast(p.use.Step)),
				Want: fmt.Sprintf("at most %s, the budget", units.Bytes(b)),
				Note: []diag.Note{{Msg: note}},
				Hint: "say at least so much, use smaller or more microbatches, or shard more"}
		}
		x.told = append(x.told, fmt.Sprintf("auto: the plan exceeds the budget of %s, though activations alone do not: %s", units.Bytes(b), note))
	}
	return x, note, nil
}

func (x *Choice) fits() bool {
	return !slices.ContainsFunc(x.picks, func(p *pick) bool { return !p.fits() })
}

func (x *Choice) work() (sum float64) {
	for _, p := range x.picks {
		sum += p.work
	}
	return sum
}

// tell is what was found, in words.
func (s *Search) tell(x *Choice) (out []string) {
	for d, p := range x.picks {
		if len(s.sides[d].dev.units) == 0 {
			continue
		}
		where, per := "", ""
		if len(x.picks) > 1 {
			where, per = fmt.Sprintf("device %d of the pipeline: ", d), " for each microbatch"
		}
		kept := fmt.Sprintf("activations take at most %s", units.Bytes(p.plan.peak))
		if p.again != nil {
			kept = "as by " + p.by
		}
		text := fmt.Sprintf("auto: %s%s; rematerialization costs %.3g FLOP%s", where, kept, p.work, per)
		if p.tried {
			text += fmt.Sprintf("; the plan takes %s, %s of them temporaries", units.Bytes(p.use.All), units.Bytes(p.use.Step))
		}
		out = append(out, text)
	}
	return append(out, fmt.Sprintf("auto: %d plans were tried", len(s.tried)))
}

// choice puts together what each device does.
func (s *Search) choice(picks []*pick) *Choice {
	x := &Choice{picks: picks, counts: map[string][]int{}, redo: map[int][]bool{}, device: s.of.b.device}
	cuts := map[*ir.Stack][]bool{}
	for d, p := range picks {
		if p.again == nil {
			for i := range s.sides[d].dev.units {
				s.sides[d].dev.units[i].cut(p.plan.picks[i], cuts)
			}
		}
	}
	parts := partsOf(s.f, cuts)
	for t, counts := range parts {
		x.counts[t.Name] = counts
	}
	number := make(map[*ir.Op]int, len(s.f.Ops))
	for i, o := range s.f.Ops {
		number[o] = i
	}
	for d, p := range picks {
		if p.again != nil {
			for i := range p.again {
				x.redo[i] = []bool{true}
			}
			continue
		}
		for i := range s.sides[d].dev.units {
			u := &s.sides[d].dev.units[i]
			u.parts(p.plan.picks[i], parts[u.stack()], func(o *ir.Op, part, of int) {
				if x.redo[number[o]] == nil {
					x.redo[number[o]] = make([]bool, of)
				}
				x.redo[number[o]][part] = true
			})
		}
	}
	s.of.b.views(func(view, of *ir.Op) {
		if list := x.redo[number[of]]; list != nil {
			x.redo[number[view]] = list
		}
	})
	return x
}

// parts calls do for what each part of the unit's stack rematerializes, of so many.
func (u *unit) parts(picks []int, counts []int, do func(o *ir.Op, part, of int)) {
	if counts == nil {
		counts = []int{u.count}
	}
	first := 0
	for k, n := range counts {
		for i, r := range u.regions {
			r.redone(u.option(i, picks[u.number(first)]), func(o *ir.Op) { do(o, k, len(counts)) })
		}
		first += n
	}
}
