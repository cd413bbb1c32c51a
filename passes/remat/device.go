package remat

import (
	"cmp"
	"slices"
)

// inFlight is how many microbatches a stage holds activations of, at its worst
// moment: kept from the forward to the last backward slot, and rematerialized
// in the input backward for a weight backward that has not come yet.
type inFlight struct{ kept, pending int64 }

// device is what one device decides together: its units in the order of the
// forward phase, each once for all microbatches.
//
// Instances of a unit are alike, so only how many have which option matters, and they
// come in the order of what they rematerialize, the most first, while the least is
// kept: of two neighbours in the other order, exchanging them lowers the peak or leaves
// it. Without the rounding to whole instances, the best choice has two options (Kellerer
// et al., chapter 11: those of one edge of the hull of flops over bytes).
type device struct {
	units  []unit
	flight map[int]inFlight // by stage
	apart  bool             // instances of a run may have different options
	effort effort
}

// one reports whether each stage holds one microbatch at a time.
func (d *device) one() bool {
	for _, f := range d.flight {
		if f.kept != 1 || f.pending != 0 {
			return false
		}
	}
	return len(d.flight) == 1
}

// plan is a choice of an option for each instance of each unit, in the order of the
// forward phase.
type plan struct {
	picks       [][]int
	flops, peak int64
	bound       int64 // no choice has fewer flops
}

// lists are groups of instances, and for each the options that rematerialize at most
// so many bytes; sizes say how many instances a group has, of which unit. Without
// rounding, each group is one instance.
//
// While the backward phase of a region runs, the device holds what is kept for
// that region and those before it, of each microbatch in flight, and what the
// region rematerializes. With one microbatch, those after the region have been
// released; with more, others are still held, and the sum over all regions
// counts.
func (d *device) lists(most int64, each bool) (lists [][]item, of []group) {
	one := d.one()
	for i := range d.units {
		u := &d.units[i]
		fl := d.flight[u.stage]
		by := map[int][]item{}
		first := fl.kept * u.once
		for _, n := range groups(u.count, d.apart) {
			times := 1
			if each {
				n, times = 1, n
			}
			list, known := by[n]
			if !known {
				list = d.effort.some(u.items(fl, one, most, int64(n)))
				by[n] = list
			}
			for range times {
				if first > 0 {
					list = slices.Clone(list)
					for k := range list {
						list[k].load += first
						list[k].top += first
					}
				}
				lists, of = append(lists, list), append(of, group{i, n})
				list, first = by[n], 0
			}
		}
	}
	return lists, of
}

// group is n instances of a unit.
type group struct{ unit, n int }

// items are the options of n instances in a row.
func (u *unit) items(fl inFlight, one bool, most, n int64) (list []item) {
	for k, o := range u.all.options {
		redone := o.work - o.keep
		if redone > most {
			continue
		}
		x := item{load: n * o.keep, top: (n-1)*o.keep + o.work, flops: n * o.flops, pick: k}
		if !one {
			x.load = n * (fl.kept*o.keep + fl.pending*redone)
			x.top = x.load
		}
		list = append(list, x)
	}
	return list
}

// planOf is the plan that picks an option for each group.
func (d *device) planOf(of []group, picks []int) (p plan) {
	p.picks = make([][]int, len(d.units))
	for i, g := range of {
		for range g.n {
			p.picks[g.unit] = append(p.picks[g.unit], picks[i])
		}
		p.flops += int64(g.n) * d.units[g.unit].all.options[picks[i]].flops
	}
	for i, list := range p.picks {
		redone := func(k int) int64 { o := d.units[i].all.options[k]; return o.work - o.keep }
		slices.SortFunc(list, func(a, b int) int { return cmp.Or(cmp.Compare(redone(b), redone(a)), cmp.Compare(a, b)) })
	}
	p.peak = d.peak(p.picks)
	return p
}

// allowances are the bytes that one region may do again: where several
// microbatches are in flight they come on top of what is kept, and each value
// is a packing of its own.
func (d *device) allowances() []int64 {
	if d.one() {
		return []int64{1 << 62}
	}
	out := []int64{0}
	for _, u := range d.units {
		for _, o := range u.all.options {
			out = append(out, o.work-o.keep)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if n := d.effort.allowances; n > 0 && len(out) > n { // evenly among them, with both ends
		few := make([]int64, n)
		for i := range few {
			few[i] = out[i*(len(out)-1)/(n-1)]
		}
		return few
	}
	return out
}

// choose is the plan with the fewest flops whose peak is at most the budget;
// false if there is none.
func (d *device) choose(budget int64) (plan, bool) {
	var best plan
	found := false
	bound := int64(-1) // the least of all packings'
	for _, most := range d.allowances() {
		room := budget
		if !d.one() {
			room -= most
		}
		singles, _ := d.lists(most, true)
		if room < 0 || slices.ContainsFunc(singles, func(l []item) bool { return len(l) == 0 }) {
			continue
		}
		low := relax(singles, room).bound()
		if found && low > best.flops {
			continue
		}
		lists, of := d.lists(most, false)
		p, ok := pack(lists, room, d.effort)
		fits := true // as far as is known
		if len(lists) == len(singles) {
			low, fits = p.bound, ok
		} else if len(singles) <= 2*exact {
			var x packing
			x, fits = pack(singles, room, d.effort)
			low = x.bound
		}
		if !fits {
			continue
		}
		if bound < 0 || low < bound {
			bound = low
		}
		if !ok {
			continue
		}
		x := d.planOf(of, p.picks)
		if !found || x.flops < best.flops || x.flops == best.flops && x.peak < best.peak {
			best, found = x, true
		}
	}
	if !found { // groups fit less than single instances do
		best, found = d.fit(budget)
	}
	for _, u := range d.units {
		bound -= int64(u.count) * u.all.slack
	}
	best.bound = min(best.flops, max(0, bound))
	return best, found
}

// peak is what a choice of options holds at the worst moment.
func (d *device) peak(picks [][]int) int64 {
	var sum, most, redone int64
	for i, list := range picks {
		u := &d.units[i]
		fl := d.flight[u.stage]
		sum += fl.kept * u.once
		for _, k := range list {
			o := u.all.options[k]
			most = max(most, sum+o.work)
			redone = max(redone, o.work-o.keep)
			sum += fl.kept*o.keep + fl.pending*(o.work-o.keep)
		}
	}
	if d.one() {
		return max(most, sum)
	}
	return sum + redone
}

// least is the plan with the lowest peak. What a region keeps is held during
// those that follow, so under any budget it is best to keep as little as fits.
func (d *device) least() plan {
	low, high := int64(0), int64(1)<<61
	best, _ := d.fit(high)
	for high = best.peak; low < high; {
		mid := low + (high-low)/2
		if p, ok := d.fit(mid); ok {
			best, high = p, p.peak
		} else {
			low = mid + 1
		}
	}
	return best
}

// fit is some choice within the budget; false if there is none.
func (d *device) fit(budget int64) (plan, bool) {
	for _, most := range d.allowances() {
		room := budget
		if !d.one() {
			room -= most
		}
		var picks []int
		var sum int64
		lists, of := d.lists(most, d.apart)
		for _, list := range lists {
			at := -1
			for k, x := range list {
				if sum+x.top <= room && (at < 0 || x.load < list[at].load) {
					at = k
				}
			}
			if at < 0 {
				break
			}
			sum += list[at].load
			picks = append(picks, list[at].pick)
		}
		if len(picks) == len(lists) {
			return d.planOf(of, picks), true
		}
	}
	return plan{}, false
}
