package data

import "slices"

// Past records the data that a run has used before it resumes.
type Past struct {
	Steps  int64 // done so far
	Phases []Phase
}

// A run resumes with the first unused example of each part, whatever the batch size
// and the weights were. As long as the recipe stays, examples are numbered consecutively. With
// another recipe numbering restarts, and an earlier part continues with its unused examples:
//
//	block of phase 1, its order  b a a b a a │ a b a …      n = 6 of a block of 10
//	numbers of a in it           . 5 1 . 0 3 │ 2 . 4        fed: 0 1 3 5
//	phase 2 takes of a           2 4 6 7 8 …                left = [2 4], next = 6

// seen records the used examples of a part: all before next except left. Nil: none.
type seen struct {
	left []int64 // ascending
	next int64
}

// at returns the n-th unused example.
func (s *seen) at(n int64) int64 {
	switch {
	case s == nil:
		return n
	case n < int64(len(s.left)):
		return s.left[n]
	}
	return s.next + n - int64(len(s.left))
}

// after returns the examples seen after a phase in which the part had number k.
func (s *seen) after(p *Phase, k int) *seen {
	if !p.mixture() {
		return s.without(p.Examples, nil)
	}
	first := p.places()[k]
	places := p.Parts[k].Places
	block, rest := p.Examples/mixBlock, p.Examples%mixBlock
	if rest == 0 {
		return s.without(block*places, nil)
	}
	order := newPermutation(mixBlock, newStream(p.Order, streamMix))
	taken := make([]bool, places)
	for i := range rest {
		if n := order.at(block, i) - first; 0 <= n && n < places {
			taken[n] = true
		}
	}
	return s.without(block*places, taken)
}

// without returns the examples seen after the first done ones, and after those of the next ones
// that are taken.
func (s *seen) without(done int64, taken []bool) *seen {
	out := new(seen)
	for i, t := range taken {
		if !t {
			out.left = append(out.left, s.at(done+int64(i)))
		}
	}
	end := done + int64(len(taken))
	if s != nil && end < int64(len(s.left)) {
		out.left = append(out.left, s.left[end:]...)
		end = int64(len(s.left))
	}
	out.next = s.at(end)
	return out
}

// begun is the origin of the count: steps are done, and of the counted examples
// so many were used.
type begun struct{ steps, examples int64 }

// firstRow is the number of the first example of a step.
func (b begun) firstRow(step int64, batch int) (int64, error) {
	const last = 1 << 62
	if step <= b.steps || step-b.steps > (last-b.examples)/int64(batch) {
		return 0, errorf("there is no step %d", step)
	}
	return b.examples + (step-b.steps-1)*int64(batch), nil
}

// joined merges phases of one recipe.
func joined(phases []Phase) (out []Phase) {
	for _, p := range phases {
		if n := len(out); n > 0 && out[n-1].Same(&p.Recipe) {
			out[n-1].Examples += p.Examples
			continue
		}
		out = append(out, p)
	}
	return out
}

// Counted is the number of examples of the last phases with a recipe: those used since
// it holds.
func Counted(phases []Phase, r *Recipe) int64 {
	all := joined(phases)
	if n := len(all); n > 0 && all[n-1].Same(r) {
		return all[n-1].Examples
	}
	return 0
}

// Fed is the number of examples of a part used in all phases.
func Fed(phases []Phase, part *Part) (n int64) {
	for _, p := range joined(phases) {
		for k := range p.Parts {
			if p.Parts[k].same(part) {
				n += p.Given(0, p.Examples)[k]
				break
			}
		}
	}
	return n
}

// resumed is a source that can resume.
type resumed interface {
	Fingerprint() string
	recipe() *Recipe
	// goOn sets the seeds of the recipe's parts, and the examples seen of each.
	goOn(r *Recipe, of []*seen, from begun)
}

// givesSeed reports whether the options of a source fix the seed of its order.
func givesSeed(opts []Option) bool {
	return slices.ContainsFunc(opts, func(o Option) bool { return o.Key == "seed" })
}

// goOn makes a source begin after the examples that a run has used. A seed in an option is fixed.
func (p *Past) goOn(src resumed, fixed bool) {
	r, phases := src.recipe(), joined(p.Phases)
	if fixed {
		r.Parts[0].fixed = true
	}
	if n := len(phases); n > 0 && len(phases[n-1].Parts) == 0 && phases[n-1].Print == src.Fingerprint() {
		phases[n-1].Recipe = *r // as it would have been
	}
	adopt(r, phases)
	from := begun{steps: p.Steps}
	if n := len(phases); n > 0 && phases[n-1].Same(r) {
		from.examples, phases = phases[n-1].Examples, phases[:n-1]
	}
	of := make([]*seen, len(r.Parts))
	for i := range phases {
		old := phases[i].pairs(r, (*Part).same)
		for k, j := range old {
			if j >= 0 {
				of[k] = of[k].after(&phases[i], j)
			}
		}
	}
	src.goOn(r, of, from)
}

// adopt gives parts that were there before the seeds that they had, wherever they stand now.
// Another one has none that a part with the same examples has.
func adopt(r *Recipe, phases []Phase) {
	known := make([]bool, len(r.Parts))
	used := func(p *Part, except int) bool {
		for i := range phases {
			for j := range phases[i].Parts {
				if phases[i].Parts[j].same(p) {
					return true
				}
			}
		}
		for k := range r.Parts {
			if k != except && r.Parts[k].same(p) {
				return true
			}
		}
		return false
	}
	for i := len(phases) - 1; i >= 0; i-- { // the latest first
		taken := make([]bool, len(phases[i].Parts))
		for k := range r.Parts {
			for j := range taken {
				p, q := &r.Parts[k], &phases[i].Parts[j]
				if known[k] || taken[j] || p.Print != q.Print || p.fixed && p.Seed != q.Seed || r.has(q, known) {
					continue
				}
				p.Seed, known[k], taken[j] = q.Seed, true, true
			}
		}
	}
	for k := range r.Parts {
		for p := &r.Parts[k]; !known[k] && !p.fixed && used(p, k); {
			p.Seed += seedStep
		}
	}
}

// has reports whether one of the parts that are known is q.
func (r *Recipe) has(q *Part, known []bool) bool {
	for k := range r.Parts {
		if known[k] && r.Parts[k].same(q) {
			return true
		}
	}
	return false
}

// seedStep is the distance between the seeds of the sources of a mixture.
const seedStep = 0x9e3779b97f4a7c15
