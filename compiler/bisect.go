package compiler

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"ptc/passes"
	"ptc/passes/pass"
)

// Culprit is the rewrite that breaks a module: without it and all later ones no pass changes the
// result, and with it one does.
type Culprit struct {
	Number int    `json:"number"` // from 1; 0: the module is wrong without any rewrite
	All    int    `json:"all"`    // rewrites up to the end of the pass that is wrong
	Pass   string `json:"pass"`
	Rule   string `json:"rule"`
	Scope  string `json:"scope,omitempty"`
	Pos    string `json:"pos,omitempty"`
	// Wrong is what happens with it.
	Wrong string `json:"wrong"`
	// Before and After are the module behind the pass, without the rewrite and with it. After is
	// empty if the module is invalid.
	Before string `json:"before"`
	After  string `json:"after"`
}

// String names the rewrite on one line.
func (c *Culprit) String() string {
	if c.Number == 0 {
		return fmt.Sprintf("pass %s is wrong without any rewrite: %s", c.Pass, c.Wrong)
	}
	where := strings.TrimSpace(c.Scope + " " + c.Pos)
	return fmt.Sprintf("rewrite %d of %d, %s: %s at %s: %s", c.Number, c.All, c.Pass, c.Rule, cmp.Or(where, "no place"), c.Wrong)
}

// Bisect finds the rewrite by which [Check] fails, or nil if Check succeeds. The numbers of rewrites
// depend on the source alone, so a binary search over how many are allowed finds it.
func Bisect(o Options) (*Culprit, *Report, error) {
	if o.CheckMemory > 0 {
		o.VerifyEach = true
		if r, err := affordable(o); err != nil {
			return nil, r, err
		}
		o.CheckMemory = 0
	}
	b := &bisection{o: o}
	all, err := b.check(math.MaxInt)
	if err != nil || all.wrong == "" {
		return nil, b.report, err
	}
	b.o.Stop = all.pass // what is behind it does not matter, and takes time
	if stopped, err := b.check(math.MaxInt); err != nil {
		return nil, b.report, err
	} else if stopped.wrong != "" {
		all = stopped
	} else {
		b.o.Stop = o.Stop
	}
	good, err := b.check(0)
	if err != nil {
		return nil, b.report, err
	}
	if good.wrong != "" {
		return &Culprit{Pass: good.pass, Wrong: good.wrong, All: all.made}, b.report, nil
	}
	bad := all
	for lo, hi := 0, all.made; hi-lo > 1; {
		middle, err := b.check(lo + (hi-lo)/2)
		if err != nil {
			return nil, b.report, err
		}
		if middle.wrong == "" {
			lo, good = middle.most, middle
		} else {
			hi, bad = middle.most, middle
		}
	}
	c := &Culprit{Number: bad.made, All: all.made, Pass: bad.last.Pass, Rule: bad.last.Text, Scope: bad.last.Scope, Wrong: bad.wrong,
		Before: good.text[bad.last.Pass], After: bad.text[bad.last.Pass]}
	if bad.last.Pos.IsValid() {
		c.Pos = bad.last.Pos.String()
	}
	return c, b.report, nil
}

// bisection checks one source with different limits.
type bisection struct {
	o      Options
	report *Report
}

// verdict is what a check with the first rewrites found.
type verdict struct {
	most, made int
	last       pass.Remark // the last rewrite
	pass       string      // that is wrong
	wrong      string      // empty: none is
	text       map[string]string
}

// check allows the first rewrites. A pass that leaves an invalid module is as wrong as one that changes
// the result.
func (b *bisection) check(most int) (*verdict, error) {
	v := &verdict{most: most, text: map[string]string{}}
	o, rewrites := b.o, &pass.Rewrites{Most: most}
	o.Rewrites = rewrites
	o.Hooks = []Hook{func(_ int, name string, text func() string, _ time.Duration) error {
		v.text[name] = text()
		return nil
	}}
	found, r, err := Check(o)
	b.report, v.made, v.last = r, rewrites.Made, rewrites.Last
	var broken *passes.Broken
	if errors.As(err, &broken) {
		v.pass, v.wrong = broken.Pass, err.Error()
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	if bad := found.First(); bad != nil {
		v.pass, v.wrong = bad.Pass, bad.String()
	}
	return v, nil
}

// Diff is the lines of the module that the rewrite removes (-) and adds (+), at most so many of them.
func (c *Culprit) Diff(most int) string {
	if c.After == "" {
		return ""
	}
	before, after := strings.SplitAfter(c.Before, "\n"), strings.SplitAfter(c.After, "\n")
	lines := append(only("- ", before, after), only("+ ", after, before)...)
	if left := len(lines) - most; left > 0 {
		lines = append(lines[:most], fmt.Sprintf("… and %d lines more\n", left))
	}
	return strings.Join(lines, "")
}

// only is the lines that a has more often than b, each with a sign in front.
func only(sign string, a, b []string) (out []string) {
	times := map[string]int{}
	for _, x := range b {
		times[x]++
	}
	for _, x := range a {
		if times[x]--; times[x] < 0 {
			out = append(out, sign+x)
		}
	}
	return out
}
