package certify

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ptc/foresight/certificate"
)

// forgery changes a certificate at random. It gives what the error must be of: checks, any of which may find the change, and a
// part of its text; or no checks if there is nothing to change in this way.
type forgery func(r *rand.Rand, c *certificate.Certificate) (checks []Check, text string)

// anyLeaf is a random leaf for which ok holds; −1 if there is none.
func anyLeaf(r *rand.Rand, c *certificate.Certificate, ok func(l *certificate.Leaf) bool) int {
	var all []int
	for i := range c.Leaves {
		if ok(&c.Leaves[i]) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return -1
	}
	return all[r.IntN(len(all))]
}

// off is a number that is not n: one more or less, some percent, or another one. It is not negative.
func off(r *rand.Rand, n int64) int64 {
	for {
		x := []int64{n + 1, n - 1, n - n/50, n + n/50, n * 9 / 10, 2 * n, 0, r.Int64N(2*n + 10)}[r.IntN(8)]
		if x != n && x >= 0 {
			return x
		}
	}
}

// why is a change of the leaves with a reason.
func why(w certificate.Why, do func(r *rand.Rand, c *certificate.Certificate, l *certificate.Leaf) []Check) forgery {
	return func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		i := anyLeaf(r, c, func(l *certificate.Leaf) bool { return l.Why == w })
		if i < 0 {
			return nil, ""
		}
		return do(r, c, &c.Leaves[i]), "leaves["
	}
}

// numbersOf are the checks that find a false number of a leaf.
var numbersOf = map[certificate.By][]Check{certificate.Facts: {Facts}, certificate.Rows: {Blocks}, certificate.OneTable: {Blocks}, certificate.Tables: {Blocks}, certificate.Probe: {Probes}}

// subject is a change of what a certificate is about.
func subject(text string, do func(r *rand.Rand, c *certificate.Certificate)) forgery {
	return func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		do(r, c)
		return []Check{Subject}, text
	}
}

var forgeries = map[string]forgery{
	"version": subject("has version", func(_ *rand.Rand, c *certificate.Certificate) { c.Version++ }),
	"ptc":     subject("is of ptc", func(_ *rand.Rand, c *certificate.Certificate) { c.Ptc += "0" }),
	"source":  subject("another SHA-256", func(_ *rand.Rand, c *certificate.Certificate) { c.Source = "00" + c.Source }),
	"import":  subject("the imported file has", func(r *rand.Rand, c *certificate.Certificate) { c.Imports[r.IntN(2)].SHA256 += "0" }),
	"imports": subject("does not import", func(r *rand.Rand, c *certificate.Certificate) {
		i := r.IntN(2)
		c.Imports = slices.Delete(c.Imports, i, i+1)
	}),
	"imports more": subject("the source here does not", func(_ *rand.Rand, c *certificate.Certificate) {
		c.Imports = append(c.Imports, certificate.Import{Path: "rope.ptl", SHA256: "03"})
	}),
	"imports twice":  subject("twice", func(r *rand.Rand, c *certificate.Certificate) { c.Imports = append(c.Imports, c.Imports[r.IntN(2)]) }),
	"imports sorted": subject("not sorted", func(_ *rand.Rand, c *certificate.Certificate) { slices.Reverse(c.Imports) }),
	"config":         subject("another config", func(r *rand.Rand, c *certificate.Certificate) { c.Config[r.IntN(len(c.Config))][r.IntN(2)] += "0" }),
	"layout":         subject("of the layout", func(_ *rand.Rand, c *certificate.Certificate) { c.Layout += "2" }),
	"machine":        subject("of the machine", func(_ *rand.Rand, c *certificate.Certificate) { c.Machine.Name = "h200" }),
	"levels":         subject("units", func(r *rand.Rand, c *certificate.Certificate) { c.Machine.Levels[r.IntN(2)]++ }),
	"hash":           subject("another machine", func(_ *rand.Rand, c *certificate.Certificate) { c.Machine.SHA256 = strings.Repeat("0", 64) }),
	"memory":         subject("bytes of a device", func(r *rand.Rand, c *certificate.Certificate) { c.Memory = off(r, c.Memory) }),
	"objectives":     subject("minimizes", func(_ *rand.Rand, c *certificate.Certificate) { c.Objectives = append(c.Objectives, "memory") }),
	"dimensions": subject("dimensions", func(r *rand.Rand, c *certificate.Certificate) {
		i := r.IntN(len(c.Dimensions))
		c.Dimensions = slices.Delete(slices.Clone(c.Dimensions), i, i+1)
	}),
	"slack above": subject("slack", func(r *rand.Rand, c *certificate.Certificate) { c.Slack = whole + 1 + r.Int64N(100) }),
	"slack": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		c.Slack -= 1 + r.Int64N(900)
		return []Check{Facts, Blocks}, "by the verifier's formula"
	},

	"dropped": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		i := r.IntN(len(c.Leaves))
		c.Leaves = slices.Delete(c.Leaves, i, i+1)
		return []Check{Tree}, "no leaf has the layout"
	},
	"several dropped": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		i := r.IntN(len(c.Leaves))
		c.Leaves = slices.Delete(c.Leaves, i, min(len(c.Leaves), i+2+r.IntN(10)))
		return []Check{Tree}, "no leaf has the layout"
	},
	"twice": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		l := c.Leaves[r.IntN(len(c.Leaves))]
		c.Leaves = slices.Insert(c.Leaves, r.IntN(len(c.Leaves)+1), l)
		return []Check{Tree}, "twice"
	},
	"swapped": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		i, j := r.IntN(len(c.Leaves)), r.IntN(len(c.Leaves)-1)
		if j >= i {
			j++
		}
		c.Leaves[i], c.Leaves[j] = c.Leaves[j], c.Leaves[i]
		return []Check{Tree}, "must be here"
	},
	"above": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		above := func(l *certificate.Leaf) string { return l.At[:max(strings.LastIndex(l.At, "/"), 0)] }
		l := &c.Leaves[anyLeaf(r, c, func(l *certificate.Leaf) bool { // whose part is divided into others too
			return slices.ContainsFunc(c.Leaves, func(o certificate.Leaf) bool { return o.At != l.At && strings.HasPrefix(o.At, above(l)+"/") })
		})]
		l.At = above(l)
		return []Check{Tree}, "leaves["
	},
	"below": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		l := &c.Leaves[r.IntN(len(c.Leaves))]
		l.At += "/" + l.At
		return []Check{Tree}, ""
	},
	"another path": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		l := &c.Leaves[r.IntN(len(c.Leaves))]
		words := strings.Split(l.At, "/")
		words[r.IntN(len(words))] += "0"
		l.At = strings.Join(words, "/")
		return []Check{Tree}, "no leaf has the layout"
	},

	"illegal instead": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		l := &c.Leaves[anyLeaf(r, c, func(l *certificate.Leaf) bool { return l.Why != certificate.Illegal })]
		checks := []Check{Form}
		if l.By == certificate.Probe {
			checks = []Check{Probes, Winner}
		}
		*l = certificate.Leaf{At: l.At, By: l.By, Why: certificate.Illegal, Code: "E0406"}
		return checks, "leaves["
	},
	"illegal by a probe": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		l := &c.Leaves[anyLeaf(r, c, func(l *certificate.Leaf) bool { return l.Why != certificate.Illegal })]
		*l = certificate.Leaf{At: l.At, By: certificate.Probe, Why: certificate.Illegal, Code: "E0406"}
		return []Check{Form, Tables, Probes, Winner}, ""
	},
	"over instead": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		l := &c.Leaves[anyLeaf(r, c, func(l *certificate.Leaf) bool { return l.Why != certificate.Over })]
		*l = certificate.Leaf{At: l.At, By: l.By, Why: certificate.Over, Bytes: c.Memory + 1 + r.Int64N(1<<30)}
		return append([]Check{Winner}, numbersOf[l.By]...), "leaves["
	},
	"bound instead": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		l := &c.Leaves[anyLeaf(r, c, func(l *certificate.Leaf) bool { return l.Why != certificate.Bound })]
		checks := append([]Check{Winner}, numbersOf[l.By]...)
		if l.By == certificate.Probe {
			checks = []Check{Form, Winner}
		}
		*l = certificate.Leaf{At: l.At, By: l.By, Why: certificate.Bound, Bound: 1 << 50}
		return checks, "leaves["
	},
	"exact instead": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		l := &c.Leaves[anyLeaf(r, c, func(l *certificate.Leaf) bool { return l.Why != certificate.Exact })]
		*l = certificate.Leaf{At: l.At, By: certificate.Probe, Why: certificate.Exact, PS: 1 << 50, Bytes: 1 + r.Int64N(c.Memory)}
		return []Check{Form, Tables, Probes}, ""
	},
	"no reason": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		c.Leaves[r.IntN(len(c.Leaves))].Why = []certificate.Why{"", "slow", "Exact"}[r.IntN(3)]
		return []Check{Form}, "is no reason"
	},
	"another field": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		l := &c.Leaves[r.IntN(len(c.Leaves))]
		switch {
		case l.Why != certificate.Bound && r.IntN(2) == 0:
			l.Bound++
		case l.Why != certificate.Exact && r.IntN(2) == 0:
			l.PS++
		case l.Why != certificate.Illegal:
			l.Code = "E0406"
		default:
			l.Bytes++
		}
		return []Check{Form}, "belongs to another reason"
	},
	"by": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		l := &c.Leaves[r.IntN(len(c.Leaves))]
		was := l.By
		for l.By == was {
			l.By = []certificate.By{certificate.Facts, certificate.Rows, certificate.OneTable, certificate.Tables, certificate.Probe, "", "me"}[r.IntN(7)]
		}
		return []Check{Form, Facts, Tables, Blocks, Probes}, ""
	},

	"bound": why(certificate.Bound, func(r *rand.Rand, _ *certificate.Certificate, l *certificate.Leaf) []Check {
		l.Bound = off(r, l.Bound)
		return numbersOf[l.By]
	}),
	"over": why(certificate.Over, func(r *rand.Rand, _ *certificate.Certificate, l *certificate.Leaf) []Check {
		l.Bytes = off(r, l.Bytes)
		return numbersOf[l.By]
	}),
	"code": why(certificate.Illegal, func(r *rand.Rand, _ *certificate.Certificate, l *certificate.Leaf) []Check {
		l.Code = []string{"E0499", l.Code + "0"}[r.IntN(2)]
		return []Check{Probes}
	}),
	"no code": why(certificate.Illegal, func(_ *rand.Rand, _ *certificate.Certificate, l *certificate.Leaf) []Check {
		l.Code = ""
		return []Check{Form}
	}),
	"step": why(certificate.Exact, func(r *rand.Rand, _ *certificate.Certificate, l *certificate.Leaf) []Check {
		l.PS = off(r, l.PS)
		return []Check{Winner, Probes, Facts, Blocks} // a slower winner may be worse than bounds, or than another leaf
	}),
	"bytes": why(certificate.Exact, func(r *rand.Rand, _ *certificate.Certificate, l *certificate.Leaf) []Check {
		l.Bytes = off(r, l.Bytes)
		return []Check{Winner, Probes}
	}),

	"second": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		was := c.Winner
		c.Winner = anyLeaf(r, c, func(l *certificate.Leaf) bool { return l.Why == certificate.Exact && *l != c.Leaves[was] })
		return []Check{Winner}, "is better than"
	},
	"winner": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		for was := c.Winner; c.Winner == was; {
			c.Winner = r.IntN(len(c.Leaves)+2) - 1
		}
		return []Check{Winner}, "winner"
	},

	"table": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		x := &c.Tables[r.IntN(len(c.Tables))]
		n := []*int64{&x.Forward, &x.Backward, &x.Exchanges, &x.Ends, &x.Kept, &x.Shared}[r.IntN(6)]
		*n = off(r, *n)
		return []Check{Tables}, "by the verifier's probe"
	},
	"table refused": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		x := &c.Tables[r.IntN(len(c.Tables))]
		if x.Illegal += "E0406"; r.IntN(2) == 0 {
			*x = certificate.Table{At: x.At, Illegal: "E0406"}
		}
		return []Check{Tables}, "illegal"
	},
	"table dropped": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		i := r.IntN(len(c.Tables))
		c.Tables = slices.Delete(c.Tables, i, i+1)
		return []Check{Tables}, "is missing"
	},
	"table twice": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		i := r.IntN(len(c.Tables))
		c.Tables = slices.Insert(c.Tables, i, c.Tables[i])
		return []Check{Tables}, "twice"
	},
	"table too many": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		x := c.Tables[r.IntN(len(c.Tables))]
		x.At += "0"
		c.Tables = slices.Insert(c.Tables, r.IntN(len(c.Tables)+1), x)
		return []Check{Tables}, "no leaf needs this table"
	},
	"tables swapped": func(r *rand.Rand, c *certificate.Certificate) ([]Check, string) {
		i := r.IntN(len(c.Tables) - 1)
		c.Tables[i], c.Tables[i+1] = c.Tables[i+1], c.Tables[i]
		return []Check{Tables}, ""
	},
}

// TestForged: 1,000 certificates that were changed are refused, each for its change.
func TestForged(t *testing.T) {
	l := everyReason()
	c, g := found(t, "gpt", large, "a100_80:2x4", &l)
	known := newKnown() // of layouts that were compiled before
	verify := func(c *certificate.Certificate) error {
		_, err := newChecker(c, g, known, nil).run()
		return err
	}
	if err := verify(c); err != nil {
		t.Fatal(err)
	}
	has := map[string]int{}
	for i := range c.Leaves {
		has[string(c.Leaves[i].Why)]++
		has[string(c.Leaves[i].By)]++
	}
	for _, x := range []string{"illegal", "over", "bound", "exact", "facts", "rows", "table", "tables", "probe"} {
		if has[x] == 0 {
			t.Errorf("no leaf has %s: the test tries too little", x)
		}
	}
	var names []string
	for name := range forgeries {
		names = append(names, name)
	}
	slices.Sort(names)
	tried := map[string]int{}
	for n := range 1000 {
		name := names[n%len(names)]
		x := copied(t, c)
		checks, text := forgeries[name](rand.New(rand.NewPCG(uint64(n), 7)), x)
		if len(checks) == 0 {
			continue
		}
		err := verify(x)
		var f *Fault
		switch {
		case err == nil:
			t.Errorf("%s: forgery %d is accepted: %s", name, n, differences(c, x))
		case !errors.As(err, &f) || !slices.Contains(checks, f.Check) || !strings.Contains(err.Error(), text):
			t.Errorf("%s: forgery %d is refused by %v; want %v with %q", name, n, err, checks, text)
		default:
			tried[name+": "+string(f.Check)]++
		}
	}
	all := 0
	for _, n := range tried {
		all += n
	}
	if all < 1000 && !t.Failed() {
		t.Errorf("%d forgeries were tried", all)
	}
	t.Log(has, tried)
}

// differences shows in what two certificates differ.
func differences(a, b *certificate.Certificate) string {
	var out []string
	x, y := strings.Split(string(a.Encode()), "\n"), strings.Split(string(b.Encode()), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] && len(out) < 3 {
			out = append(out, fmt.Sprintf("%s, now %s", x[i], y[i]))
		}
	}
	return strings.Join(out, "; ")
}
