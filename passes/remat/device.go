package remat

import "slices"

// inFlight is how many microbatches a stage holds activations of, at its worst
// moment: kept from the forward to the last backward slot, and rematerialized
// in the input backward for a weight backward that has not come yet.
type inFlight struct{ kept, pending int64 }

// device is what one device decides together: its regions in the order of the
// forward phase, each once for all microbatches.
type device struct {
	regions []*region
	fronts  []front
	flight  map[int]inFlight // by stage
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

// plan is a choice of an option for each region.
type plan struct {
	picks       []int
	flops, peak int64
	bound       int64 // no choice has fewer flops
}

// items are the options of the regions that rematerialize at most so many bytes.
//
// While the backward phase of a region runs, the device holds what is kept for
// that region and those before it, of each microbatch in flight, and what the
// region rematerializes. With one microbatch, those after the region have been
// released; with more, others are still held, and the sum over all regions
// counts.
func (d *device) items(most int64) [][]item {
	one := d.one()
	lists := make([][]item, len(d.regions))
	for i, f := range d.fronts {
		fl := d.flight[d.regions[i].stage]
		for k, o := range f.options {
			redone := o.work - o.keep
			if redone > most {
				continue
			}
			x := item{load: o.keep, top: o.work, flops: o.flops, pick: k}
			if !one {
				x.load = fl.kept*o.keep + fl.pending*redone
				x.top = x.load
			}
			lists[i] = append(lists[i], x)
		}
	}
	return lists
}

// allowances are the bytes that one region may do again: where several
// microbatches are in flight they come on top of what is kept, and each value
// is a packing of its own.
func (d *device) allowances() []int64 {
	if d.one() {
		return []int64{1 << 62}
	}
	out := []int64{0}
	for _, f := range d.fronts {
		for _, o := range f.options {
			out = append(out, o.work-o.keep)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
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
		lists := d.items(most)
		if room < 0 || slices.ContainsFunc(lists, func(l []item) bool { return len(l) == 0 }) {
			continue
		}
		if low := relax(lists, room).bound(); found && low > best.flops {
			continue
		}
		p, ok := pack(lists, room)
		if !ok {
			continue
		}
		if bound < 0 || p.bound < bound {
			bound = p.bound
		}
		x := plan{picks: p.picks, flops: p.flops}
		x.peak = d.peak(p.picks)
		if !found || x.flops < best.flops || x.flops == best.flops && x.peak < best.peak {
			best, found = x, true
		}
	}
	for _, f := range d.fronts {
		bound -= f.slack
	}
	best.bound = min(best.flops, max(0, bound))
	return best, found
}

// peak is what a choice of options holds at the worst moment.
func (d *device) peak(picks []int) int64 {
	var sum, most, redone int64
	for i, k := range picks {
		o := d.fronts[i].options[k]
		fl := d.flight[d.regions[i].stage]
		most = max(most, sum+o.work)
		redone = max(redone, o.work-o.keep)
		sum += fl.kept*o.keep + fl.pending*(o.work-o.keep)
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
	var best plan
	for low < high {
		mid := low + (high-low)/2
		if picks := d.fit(mid); picks != nil {
			best, high = plan{picks: picks, peak: d.peak(picks)}, mid
			high = min(high, best.peak)
		} else {
			low = mid + 1
		}
	}
	if best.picks == nil {
		best.picks = d.fit(high)
		best.peak = d.peak(best.picks)
	}
	for i, k := range best.picks {
		best.flops += d.fronts[i].options[k].flops
	}
	return best
}

// fit is some choice within the budget, or nil.
func (d *device) fit(budget int64) []int {
	for _, most := range d.allowances() {
		room := budget
		if !d.one() {
			room -= most
		}
		var picks []int
		var sum int64
		for _, list := range d.items(most) {
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
		if len(picks) == len(d.regions) {
			return picks
		}
	}
	return nil
}
