package remat

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// item is an option of one region as the knapsack of a device sees it.
type item struct {
	load  int64 // bytes that it adds for all regions that follow
	top   int64 // bytes that it adds while its own backward phase runs, at least load
	flops int64
	pick  int // the option
}

// packing is a choice of one item for each region.
type packing struct {
	picks []int
	flops int64
	// bound: no packing has fewer flops.
	bound int64
}

// effort is how many partial packings are looked at side by side before some
// that differ little are left out: first few, whose best packing limits the
// next search; and the part of the flops that a proof may leave open. Of options and of
// allowances it may be that only so many are looked at.
type effort struct {
	states              []int
	gap                 float64
	options, allowances int // 0: all
}

var (
	exactly = effort{states: []int{1 << 8, 1 << 10, 1 << 12}, gap: 1e-4}
	quickly = effort{states: []int{1 << 7}, gap: 1e-3, options: 32, allowances: 8} // of several choices that are tried
)

// some are the items of a list that are looked at: those on the lower convex hull of
// flops over bytes, on which the best choice lies but for its rounding to whole
// instances, with the first and last, and others evenly among them.
func (e effort) some(list []item) []item {
	if e.options == 0 || len(list) <= e.options {
		return list
	}
	at := slices.Clone(list)
	slices.SortStableFunc(at, func(a, b item) int { return cmp.Or(cmp.Compare(a.load, b.load), cmp.Compare(a.flops, b.flops)) })
	keep := map[int]bool{}
	for _, by := range []func(item) int64{func(x item) int64 { return x.load }, func(x item) int64 { return x.top }} {
		hull := hullOf(at, by)
		for _, x := range hull[:min(len(hull), e.options/2)] {
			keep[x.pick] = true
		}
		keep[slices.MinFunc(at, func(a, b item) int { return cmp.Or(cmp.Compare(by(a), by(b)), cmp.Compare(a.flops, b.flops)) }).pick] = true
		keep[slices.MinFunc(at, func(a, b item) int { return cmp.Or(cmp.Compare(a.flops, b.flops), cmp.Compare(by(a), by(b))) }).pick] = true
	}
	for i := range e.options / 2 {
		keep[at[i*(len(at)-1)/max(1, e.options/2-1)].pick] = true
	}
	return slices.DeleteFunc(at, func(x item) bool { return !keep[x.pick] })
}

// pack chooses one item of each list, so that before each list the loads of
// those chosen, and its own top, are at most the budget; with the fewest flops,
// and of those with the least load. False where there is no choice.
//
// It is the multiple-choice knapsack (Kellerer, Pferschy, Pisinger, "Knapsack
// Problems", 2004, chapter 11): dynamic programming over partial packings of
// which no other is better in load and flops, without those whose Lagrangian
// bound is above a packing already found. It is exact unless there are very
// many of them; then the bound says how far off it can be.
func pack(lists [][]item, budget int64, effort effort) (packing, bool) {
	b := relax(lists, budget)
	var found packing
	limit := int64(-1)
	for _, n := range effort.states {
		p, slack, ok := b.search(lists, budget, n, limit)
		if !ok {
			break
		}
		bound := max(b.bound(), p.flops-slack)
		if limit < 0 || p.flops < found.flops || slack == 0 {
			p.bound = bound
			found, limit = p, p.flops
		}
		found.bound = min(found.flops, max(found.bound, bound))
		if float64(found.flops-found.bound) <= effort.gap*float64(found.flops) {
			break
		}
	}
	return found, limit >= 0
}

// partial is a packing of the lists so far: of prev, in the level before, and
// an item.
type partial struct {
	load, flops int64
	prev, pick  int32
}

// search packs list by list. limit, if not negative, is a number of flops that
// some packing has. No packing has fewer flops than what is found, less slack.
func (b *relaxation) search(lists [][]item, budget int64, states int, limit int64) (p packing, slack int64, ok bool) {
	levels := [][]partial{{{}}}
	var next []partial
	for i, list := range lists {
		next = next[:0]
		for k, s := range levels[i] {
			for j, x := range list {
				load, flops := s.load+x.load, s.flops+x.flops
				if s.load+x.top > budget || limit >= 0 && b.exceeds(i, load, flops, limit) {
					continue
				}
				next = append(next, partial{load, flops, int32(k), int32(j)})
			}
		}
		if len(next) == 0 {
			return packing{}, 0, false
		}
		now := best(next, 0)
		for delta := int64(1); len(now) > states; delta *= 2 {
			now = best(now, delta)
			slack += delta
		}
		levels = append(levels, slices.Clone(now))
	}
	at := len(levels[len(lists)]) - 1
	p = packing{picks: make([]int, len(lists)), flops: levels[len(lists)][at].flops}
	for i := len(lists) - 1; i >= 0; i-- {
		s := levels[i+1][at]
		p.picks[i] = lists[i][s.pick].pick
		at = int(s.prev)
	}
	return p, slack, true
}

// best leaves out each packing of which another has no more load and at most
// delta more flops. Load ascends in what is left, and flops descend.
func best(list []partial, delta int64) []partial {
	slices.SortFunc(list, func(a, b partial) int {
		switch { // most differ in the first
		case a.load != b.load:
			return cmp.Compare(a.load, b.load)
		case a.flops != b.flops:
			return cmp.Compare(a.flops, b.flops)
		case a.prev != b.prev:
			return cmp.Compare(a.prev, b.prev)
		}
		return cmp.Compare(a.pick, b.pick)
	})
	out := list[:0]
	for _, s := range list {
		if len(out) == 0 || s.flops < out[len(out)-1].flops-delta {
			out = append(out, s)
		}
	}
	return out
}

// relaxation is the Lagrangian relaxation of one of the constraints: the loads
// before list at, and its top, are within the budget. At price lambda, in flops
// for a byte, each list before it costs at least the minimum of flops + lambda
// load, so that no packing has fewer flops than the sum of those minimums, less
// the budget at that price.
type relaxation struct {
	lambda float64
	at     int
	low    float64   // the bound itself
	rest   []float64 // after list i: what lists i+1 to at cost at least, less the budget
}

// relax finds the constraint and the price that give the highest bound. Prices
// need only be slopes between items, where the minimum changes.
func relax(lists [][]item, budget int64) *relaxation {
	var kinds [][]item
	kind := make([]int, len(lists))
	for i, list := range lists {
		kind[i] = -1
		for k, other := range kinds {
			if slices.Equal(list, other) {
				kind[i] = k
			}
		}
		if kind[i] < 0 {
			kind[i] = len(kinds)
			kinds = append(kinds, list)
		}
	}
	prices := []float64{0}
	for _, list := range kinds {
		prices = append(prices, slopes(list, func(x item) int64 { return x.load })...)
		prices = append(prices, slopes(list, func(x item) int64 { return x.top })...)
	}
	sort.Float64s(prices)
	prices = slices.Compact(prices)
	r := &relaxation{low: -1}
	for _, lambda := range prices {
		least, top := minimums(kinds, lambda)
		sum := -lambda * float64(budget)
		for i := range lists {
			if v := sum + top[kind[i]]; v > r.low {
				r.low, r.lambda, r.at = v, lambda, i
			}
			sum += least[kind[i]]
		}
	}
	least, top := minimums(kinds, r.lambda)
	r.rest = make([]float64, len(lists))
	sum := -r.lambda * float64(budget)
	for i := r.at - 1; i >= 0; i-- {
		if i == r.at-1 {
			sum += top[kind[r.at]]
		} else {
			sum += least[kind[i+1]]
		}
		r.rest[i] = sum
	}
	return r
}

// minimums are the least cost of each kind of list at a price, with its load
// and with its top.
func minimums(kinds [][]item, lambda float64) (load, top []float64) {
	for _, list := range kinds {
		for i, x := range list {
			a, b := float64(x.flops)+lambda*float64(x.load), float64(x.flops)+lambda*float64(x.top)
			if i == 0 {
				load, top = append(load, a), append(top, b)
			}
			k := len(load) - 1
			load[k], top[k] = min(load[k], a), min(top[k], b)
		}
	}
	return load, top
}

// slopes are those of the lower convex hull of flops over bytes.
func slopes(list []item, bytes func(item) int64) []float64 {
	hull := hullOf(list, bytes)
	var out []float64
	for i := 1; i < len(hull); i++ {
		out = append(out, slope(hull[i-1], hull[i], bytes))
	}
	return out
}

func slope(a, b item, bytes func(item) int64) float64 {
	return float64(a.flops-b.flops) / float64(bytes(b)-bytes(a))
}

// hullOf is the lower convex hull of flops over bytes, of ascending bytes.
func hullOf(list []item, bytes func(item) int64) []item {
	at := slices.Clone(list)
	sort.SliceStable(at, func(i, j int) bool {
		if bytes(at[i]) != bytes(at[j]) {
			return bytes(at[i]) < bytes(at[j])
		}
		return at[i].flops < at[j].flops
	})
	var hull []item
	for _, x := range at {
		if n := len(hull); n > 0 && (x.flops >= hull[n-1].flops || bytes(x) == bytes(hull[n-1])) {
			continue
		}
		for len(hull) > 1 && slope(hull[len(hull)-2], hull[len(hull)-1], bytes) <= slope(hull[len(hull)-1], x, bytes) {
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, x)
	}
	return hull
}

// exceeds reports whether every packing that begins with the lists up to i, with
// this load and these flops, has more flops than limit.
func (r *relaxation) exceeds(i int, load, flops, limit int64) bool {
	low := float64(flops)
	if i < r.at {
		low += max(0, r.rest[i]+r.lambda*float64(load))
	}
	return low > float64(limit)+margin(limit)
}

// bound is the number of flops that no packing has fewer of.
func (r *relaxation) bound() int64 {
	return max(0, int64(math.Ceil(r.low-margin(int64(max(0, r.low))))))
}

// margin is what rounding may change in a bound.
func margin(flops int64) float64 { return 1 + 1e-9*float64(flops) }
