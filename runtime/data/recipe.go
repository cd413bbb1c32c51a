package data

import (
	"fmt"
	"slices"
	"strings"
)

// Fact is something that decides which examples a source has. A value that begins with
// sha256: is not for people.
type Fact struct{ Name, Value string }

// Part is one source of what a run is fed: all of it, or one of a mixture.
type Part struct {
	Kind   string
	Print  string // as Source.Fingerprint
	Seed   uint64 // of the order of its examples
	Places int64  // of the block of a mixture; 0: the source is no mixture
	Facts  []Fact // what Print is of, to say in which way another one differs

	fixed bool // an option gives the seed
}

// Recipe says which examples come in which order.
type Recipe struct {
	Order uint64 // seed of the order of a mixture
	Parts []Part
}

// Phase is a number of examples of one recipe that a run was fed. Of one without parts no more
// is known than the fingerprint of its data.
type Phase struct {
	Examples int64
	Print    string
	Recipe
}

// Check refuses a phase that no source has fed.
func (p *Phase) Check() error {
	all := int64(0)
	for _, q := range p.Parts {
		if q.Places < 0 || q.Places > mixBlock || q.Places == 0 && len(p.Parts) > 1 {
			return errorf("a source has %d of %d examples of a mixture", q.Places, mixBlock)
		}
		all += q.Places
	}
	if p.mixture() && all != mixBlock {
		return errorf("the sources have %d of %d examples of a mixture", all, mixBlock)
	}
	return nil
}

// mixture reports whether the parts are of a mixture.
func (r *Recipe) mixture() bool { return len(r.Parts) > 0 && r.Parts[0].Places > 0 }

// Same reports whether two recipes give the same examples in the same order.
func (r *Recipe) Same(s *Recipe) bool {
	same := func(a, b Part) bool { return a.same(&b) && a.Places == b.Places }
	return len(r.Parts) > 0 && slices.EqualFunc(r.Parts, s.Parts, same) && (!r.mixture() || r.Order == s.Order)
}

// same reports whether two parts have the same examples in the same order.
func (p *Part) same(q *Part) bool { return p.Print == q.Print && p.Seed == q.Seed }

// Given counts the examples of each part among those from one number to another.
func (r *Recipe) Given(from, to int64) []int64 {
	if !r.mixture() {
		return []int64{to - from}
	}
	first := r.places()
	given := make([]int64, len(r.Parts))
	count := func(n, sign int64) {
		block := n / mixBlock
		for k, p := range r.Parts {
			given[k] += sign * block * p.Places
		}
		order := newPermutation(mixBlock, newStream(r.Order, streamMix))
		for i := range n % mixBlock {
			k, _ := find(first, order.at(block, i))
			given[k] += sign
		}
	}
	count(to, 1)
	count(from, -1)
	return given
}

// places are the bounds of the parts in a block.
func (r *Recipe) places() []int64 {
	first := []int64{0}
	for _, p := range r.Parts {
		first = append(first, first[len(first)-1]+p.Places)
	}
	return first
}

// pairs finds for each part of s the one of r that it goes on with, -1 where there is none.
func (r *Recipe) pairs(s *Recipe, same func(a, b *Part) bool) []int {
	taken := make([]bool, len(r.Parts))
	of := make([]int, len(s.Parts))
	for k := range s.Parts {
		of[k] = -1
		for j := range r.Parts {
			if !taken[j] && same(&r.Parts[j], &s.Parts[k]) {
				of[k], taken[j] = j, true
				break
			}
		}
	}
	return of
}

// Difference says in which way a recipe differs from an earlier one; empty where it does not.
func (r *Recipe) Difference(old *Recipe) string {
	out := r.others(old)
	if now, was := r.shares(), old.shares(); now != was {
		out = append(out, fmt.Sprintf("weights (%s, now %s)", was, now))
	}
	if len(out) == 0 && r.mixture() && old.mixture() && r.Order != old.Order {
		out = append(out, fmt.Sprintf("seed of the mixture's order (%d, now %d)", old.Order, r.Order))
	}
	if len(out) == 0 && !r.Same(old) {
		out = append(out, "order of the sources")
	}
	return strings.Join(out, "; ")
}

// others says which parts differ from those of an earlier recipe, and in what. A part that none goes
// on with is compared with the one in its place among these.
func (r *Recipe) others(old *Recipe) (out []string) {
	of := old.pairs(r, (*Part).same)
	var left []int // parts of old with which none goes on
	for j := range old.Parts {
		if !slices.Contains(of, j) {
			left = append(left, j)
		}
	}
	var texts []string
	numbers := map[string][]string{}
	note := func(text string, part int) {
		if numbers[text] == nil {
			texts = append(texts, text)
		}
		numbers[text] = append(numbers[text], fmt.Sprint(part+1))
	}
	for k := range r.Parts {
		switch p := &r.Parts[k]; {
		case of[k] >= 0:
		case len(left) == 0:
			note("data."+p.Kind+", which was not there before", k)
		default:
			note(p.difference(&old.Parts[left[0]]), k)
			left = left[1:]
		}
	}
	for _, text := range texts {
		if len(r.Parts) > 1 {
			text = "of source " + strings.Join(numbers[text], ", ") + ": " + text
		}
		out = append(out, text)
	}
	for _, j := range left {
		out = append(out, fmt.Sprintf("source %d, data.%s, no longer exists", j+1, old.Parts[j].Kind))
	}
	return out
}

// shares are the weights as people write them.
func (r *Recipe) shares() string {
	if !r.mixture() {
		return "100%"
	}
	var out []string
	for _, p := range r.Parts {
		out = append(out, fmt.Sprintf("%.4g%%", float64(p.Places)*100/mixBlock))
	}
	return strings.Join(out, " : ")
}

// difference names the facts that are others.
func (p *Part) difference(old *Part) string {
	if p.Kind != old.Kind {
		return "data." + p.Kind + " in place of data." + old.Kind
	}
	var out []string
	for _, f := range p.Facts {
		i := slices.IndexFunc(old.Facts, func(g Fact) bool { return g.Name == f.Name })
		switch {
		case i >= 0 && old.Facts[i].Value == f.Value:
		case i < 0 || isHash(f.Value) || isHash(old.Facts[i].Value):
			out = append(out, f.Name)
		default:
			out = append(out, fmt.Sprintf("%s (%s, now %s)", f.Name, old.Facts[i].Value, f.Value))
		}
	}
	if p.Print == old.Print {
		out = append(out, fmt.Sprintf("seed of the order (%d, now %d)", old.Seed, p.Seed))
	}
	if len(out) == 0 {
		return "content of the files"
	}
	return strings.Join(out, ", ")
}

func isHash(value string) bool { return value == "" || strings.HasPrefix(value, "sha256:") }
