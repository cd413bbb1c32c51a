package random

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/internal/diag"
)

// Case is a program with the layouts single and many.
type Case struct {
	Seed  uint64
	m     model
	l     layout
	sizes map[string]int
}

// New is the case of a seed.
func New(seed uint64) *Case {
	d := newDice(seed)
	c := &Case{Seed: seed, m: newModel(d)}
	c.l = newLayout(d, &c.m)
	c.sizes = sizes(d, &c.m, &c.l)
	return c
}

// Smooth is c with an optimizer that follows gradients smoothly: the sign of a
// gradient that only rounding makes differs between layouts.
func (c *Case) Smooth() *Case {
	s := *c
	s.m.optimizer = "optim.SGD(lr = 0.05, momentum = 0.9)"
	return &s
}

// sizes are small multiples of what the layout needs.
func sizes(d *dice, m *model, l *layout) map[string]int {
	n := func(name string, of ...int) int {
		k := max(1, l.need[name])
		least := of[d.below(len(of))]
		return (least + k - 1) / k * k
	}
	s := map[string]int{"batch": n("batch", 2, 4, 6), "embed": n("embed", 4, 6, 9)}
	s["layers"] = max(l.need["layers"], d.size(1, 2, 2, 3))
	if len(m.stacks) > 1 {
		s["more"] = max(l.need["more"], d.size(1, 2))
	}
	if m.numbers {
		s["inputs"], s["outputs"] = n("inputs", 3, 5), n("outputs", 2, 3)
	} else {
		s["seq"], s["vocab"] = n("seq", 3, 4, 6), n("vocab", 5, 8, 12)
	}
	for _, k := range m.stacks {
		switch k.mixer {
		case "grouped":
			// Whole groups, and pairs of elements that rope turns, halves of them cut.
			kv := n(k.kv, 1, 2)
			s[k.kv] = kv
			s[k.heads] = lcm(lcm(kv, max(1, l.need[k.heads])), s[k.heads])
			if s[k.heads] == kv && d.chance(0.7) {
				s[k.heads] *= 2
			}
			s["head"] = 2 * max(1, l.need["head"]) * d.size(1, 2)
		case "causal", "own":
			s[k.heads] = lcm(n(k.heads, 1, 2, 3), s[k.heads])
			if s["head"] == 0 {
				s["head"] = 2 * max(1, l.need["head"]) * d.size(1, 2)
			}
		case "tokens":
			s["mixed"] = n("mixed", 3, 4)
		}
		switch k.ffn {
		case "mlp", "swiglu", "moe":
			s[k.hidden] = max(s[k.hidden], n(k.hidden, 4, 6, 9))
		case "low":
			s["rank"] = n("rank", 2, 3)
		}
		if k.ffn == "moe" {
			s["experts"] = max(s["experts"], n("experts", 2, 3, 4))
		}
	}
	return s
}

func lcm(a, b int) int {
	if b == 0 {
		return a
	}
	x, y := a, b
	for y > 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// Source is the text of the program.
func (c *Case) Source() string { return c.m.text(c.sizes) + "\nlayout single { }\n\n" + c.l.text() }

// Devices is how many the layout has.
func (c *Case) Devices() int {
	n := 1
	for _, x := range c.l.mesh {
		n *= x.size
	}
	return n
}

// Result is what running a case found.
type Result struct {
	matrix.Result
	// Refused is the diagnostic with which the compiler refused the layout, "" if
	// it did not.
	Refused string
}

// steps of training: the second runs on what the first one made.
const steps = 2

// Run trains c on one device and under its layout, and compares.
func (c *Case) Run(t matrix.Target) Result {
	want, err := c.train("single", t.Name)
	if err != nil {
		return Result{Result: matrix.Result{Err: fmt.Errorf("on one device: %w", err)}}
	}
	got, err := c.train("many", t.Name)
	if err != nil {
		if l, ok := diag.As(err); ok && clear(l) {
			return Result{Refused: l[0].Error()}
		}
		return Result{Result: matrix.Result{Err: err}}
	}
	return Result{Result: matrix.Compare(want, got, t.Tolerance)}
}

// code is of a user's mistake: those of printed IR are the compiler's own.
var code = regexp.MustCompile(`^E0(1|2|4|5|6)\d\d$`)

// clear says whether each diagnostic has a code, a place, and says something.
func clear(l diag.List) bool {
	for _, e := range l {
		placed := e.Pos.IsValid() || slices.ContainsFunc(e.Note, func(n diag.Note) bool { return n.Pos.IsValid() })
		if !code.MatchString(e.Code) || e.Msg == "" || !placed {
			return false
		}
	}
	return len(l) > 0
}

func (c *Case) train(name, target string) (r *matrix.Run, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	p, _, err := compiler.Compile(compiler.Options{File: "case.ptl", Source: []byte(c.Source()), Layout: name, Target: target, VerifyEach: true})
	if err != nil {
		return nil, err
	}
	return matrix.TrainOn(p, steps, max(2, c.sizes["vocab"]))
}

// Blame is the first pass that changes the result, "" if none does.
func (c *Case) Blame() (found string) {
	defer func() {
		if p := recover(); p != nil {
			found = fmt.Sprintf("panic: %v", p)
		}
	}()
	report, _, err := compiler.Check(compiler.Options{File: "case.ptl", Source: []byte(c.Source()), Layout: "many", Target: "ref:f64"})
	var bug *compiler.Bug
	switch {
	case errors.As(err, &bug), err != nil:
		return "error: " + strings.SplitN(err.Error(), "\n", 2)[0]
	case report.First() != nil:
		x := report.First()
		return fmt.Sprintf("%s changes %s by %.1e", x.Pass, x.Worst, x.Diff)
	}
	return ""
}

// simpler are cases with a little less each.
func (c *Case) simpler() (out []*Case) {
	try := func(change func(x *Case) bool) {
		x := *c
		x.l.directives, x.l.mesh = slices.Clone(c.l.directives), slices.Clone(c.l.mesh)
		x.m.stacks, x.sizes = slices.Clone(c.m.stacks), maps.Clone(c.sizes)
		if change(&x) {
			out = append(out, &x)
		}
	}
	for i := range c.l.directives {
		try(func(x *Case) bool { x.l.directives = slices.Delete(x.l.directives, i, i+1); return true })
	}
	for i, a := range c.l.mesh {
		if !strings.Contains(strings.Join(c.l.directives, " "), a.name) {
			try(func(x *Case) bool { x.l.mesh = slices.Delete(x.l.mesh, i, i+1); return len(x.l.mesh) > 0 })
		} else if a.size > 2 {
			try(func(x *Case) bool { x.l.mesh[i].size = 2; return true })
		}
	}
	if len(c.m.stacks) > 1 {
		try(func(x *Case) bool { x.m.stacks = x.m.stacks[:1]; delete(x.sizes, "more"); return true })
	}
	for i := range c.m.stacks {
		s := c.m.stacks[i]
		set := func(f func(s *stack)) { try(func(x *Case) bool { f(&x.m.stacks[i]); return x.m.stacks[i] != s }) }
		set(func(s *stack) { s.norm = "none" })
		set(func(s *stack) { s.drop = 0 })
		set(func(s *stack) { s.post = false })
		set(func(s *stack) { s.bias = false })
		set(func(s *stack) { s.act = "tanh" })
		if s.mixer != "" {
			set(func(s *stack) { s.ffn = "" })
		}
		if s.ffn != "" {
			set(func(s *stack) { s.mixer = "" })
		}
	}
	set := func(f func(m *model)) {
		try(func(x *Case) bool { f(&x.m); return x.m.text(nil) != c.m.text(nil) })
	}
	set(func(m *model) { m.norm = "none" })
	set(func(m *model) { m.positions = false })
	set(func(m *model) { m.bias = false })
	set(func(m *model) { m.pool = "" })
	set(func(m *model) { m.tied = false })
	set(func(m *model) { m.optimizer = "optim.SGD(lr = 0.1, momentum = 0)" })
	if !c.m.numbers {
		set(func(m *model) { m.loss = "cross_entropy" })
	}
	for n, v := range c.sizes {
		if v > 1 {
			try(func(x *Case) bool { x.sizes[n] = v / 2; return true })
		}
	}
	return out
}

// Minimize is the smallest case found that fails as c does: with an error, or
// with a difference.
func (c *Case) Minimize(t matrix.Target) *Case {
	failed := c.Run(t)
	for tries := 0; tries < 400; {
		smaller := (*Case)(nil)
		for _, x := range c.simpler() {
			tries++
			if r := x.Run(t); !r.OK() && r.Refused == "" && same(r.Err, failed.Err) {
				smaller = x
				break
			}
		}
		if smaller == nil {
			return c
		}
		c = smaller
	}
	return c
}

// same says whether two errors are alike: neither is one, or they start alike.
func same(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	start := func(err error) string { return numbers.ReplaceAllString(strings.SplitN(err.Error(), "\n", 2)[0], "") }
	return start(a) == start(b)
}

var numbers = regexp.MustCompile(`\d+|%\d+`)
