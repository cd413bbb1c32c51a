package random

import (
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/internal/diag"
	"ptc/ir/targetinfo"
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
	c.m.training(newDice(^seed))
	c.m.relate(newDice(seed + 1<<36))
	c.m.rare(newDice(seed + 1<<37))
	c.l = newLayout(d, &c.m)
	if c.m.rows != "" {
		c.l.need["batch"] = 2 * max(1, c.l.need["batch"])
	}
	c.sizes = sizes(d, &c.m, &c.l)
	if c.sizes["seq"] > 0 && newDice(seed+1<<33).chance(0.4) {
		c.sizes["seq"] *= 16 // rows of which chunks begin where buffers may
		c.sizes["vocab"] *= 8
		for i, text := range c.l.directives { // activations are as much larger
			if n := 0; strings.HasPrefix(text, "recompute auto") {
				_, _ = fmt.Sscanf(text, "recompute auto { budget = %d }", &n)
				c.l.directives[i] = fmt.Sprintf("recompute auto { budget = %d }", 16*n)
			}
		}
	}
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
	if m.rows != "" {
		s["two"] = 2
	}
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
		if k.extra == "shared" {
			s["taps"] = 3
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
	if !finite(want) {
		return Result{Result: matrix.Result{Err: errors.New("on one device the numbers are not finite: nothing can be compared")}}
	}
	got, err := c.train("many", t.Name)
	if err != nil {
		if l, ok := diag.As(err); ok && clear(l) {
			return Result{Refused: l[0].Error()}
		}
		return Result{Result: matrix.Result{Err: err}}
	}
	return Result{Result: matrix.Compare(want, got, t)}
}

// finite says whether no number of a run is infinite or none at all.
func finite(r *matrix.Run) bool {
	bad := func(v float64) bool { return v-v != 0 }
	if slices.ContainsFunc(r.Losses, bad) {
		return false
	}
	for _, all := range []map[string][]float64{r.Grads, r.Params} {
		for _, x := range all {
			if slices.ContainsFunc(x, bad) {
				return false
			}
		}
	}
	return true
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
	o := compiler.Options{File: "case.ptl", Source: []byte(c.Source()), Layout: name, Target: target, VerifyEach: true}
	if name != "single" {
		o.Chunk = &targetinfo.Chunk{Bytes: 1, Rows: 16, Most: 4} // as if the models were large
	}
	p, _, err := compiler.Compile(o)
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
	report, _, err := compiler.Check(compiler.Options{File: "case.ptl", Source: []byte(c.Source()), Layout: "many", Target: "ref:f64",
		Chunk: &targetinfo.Chunk{Bytes: 1, Rows: 16, Most: 4}})
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
