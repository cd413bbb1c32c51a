package remat

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
)

// option is one way to do a region's part: what it keeps, in bytes; what its
// activations take while its backward phase runs, which is what is kept and
// what is rematerialized; and the work of doing so.
type option struct {
	keep, work, flops int64
	last              *choice
	parts             []int // of a unit of several regions: the option of each
}

// choice is the decision on one node, and those before it.
type choice struct {
	node int
	what decision
	prev *choice
}

// front is the options of a region that no other is better than in all of keep,
// work and flops. slack bounds what was left out to save time: for every option
// there is one in the front with at most slack more flops, and not more of the
// others.
type front struct {
	options []option
	slack   int64
}

// maxOptions is how many partial options are looked at side by side, maxSets
// how many sets. Beyond the first a front gets slack; beyond the second nodes
// are kept without looking at rematerializing them, and the slack is everything.
const (
	maxOptions = 1 << 14
	maxSets    = 1 << 11
)

// frontOf finds the front. It walks the nodes against their order with the set
// of those that later nodes read to be rematerialized. A node in that set, or
// that the backward phase reads, is kept or rematerialized; the latter brings in
// those that it reads. Partial options with equal sets compete, so
// that the walk is exact, and its effort grows with how many nodes are in the
// set at once, not with how many there are: dynamic programming over a path
// decomposition.
func frontOf(r *region) front {
	sets := map[string][]option{string(make([]byte, (len(r.nodes)+7)/8)): {{keep: r.fixed, work: r.fixed}}}
	var out front
	for i := len(r.nodes) - 1; i >= 0; i-- {
		next := map[string][]option{}
		wide := len(sets) > maxSets
		if wide {
			out.slack = r.flops()
		}
		for _, key := range slices.Sorted(maps.Keys(sets)) {
			decide(r, i, key, sets[key], next, wide)
		}
		n := 0
		for _, key := range slices.Sorted(maps.Keys(next)) {
			next[key] = thin(next[key], 0)
			n += len(next[key])
		}
		var delta int64
		for n > maxOptions {
			if delta = 2*delta + 1 + r.flops()>>14; delta > r.flops() {
				break // only as many options as there are sets are left
			}
			n = 0
			for _, key := range slices.Sorted(maps.Keys(next)) {
				next[key] = thin(next[key], delta)
				n += len(next[key])
			}
			out.slack += delta
		}
		sets = next
	}
	for _, key := range slices.Sorted(maps.Keys(sets)) {
		out.options = append(out.options, sets[key]...)
	}
	out.options = thin(out.options, 0)
	return out
}

// flops is the work of doing everything again.
func (r *region) flops() (sum int64) {
	for _, n := range r.nodes {
		sum += n.flops
	}
	return sum
}

// decide extends the options of one set by the decisions on node i.
func decide(r *region, i int, key string, options []option, next map[string][]option, wide bool) {
	n := r.nodes[i]
	set := []byte(key)
	wanted := n.needed || set[i/8]>>(i%8)&1 == 1
	set[i/8] &^= 1 << (i % 8)
	if !wanted {
		next[string(set)] = append(next[string(set)], options...)
		return
	}
	if n.must != again {
		add(next, string(set), options, n.bytes, n.bytes, 0, choice{node: i, what: keep})
	}
	if n.must == again || n.must == undecided && !wide {
		for _, j := range n.from {
			if !r.nodes[j].needed {
				set[j/8] |= 1 << (j % 8)
			}
		}
		add(next, string(set), options, 0, n.work, n.flops, choice{node: i, what: again})
	}
}

func add(next map[string][]option, key string, options []option, keep, work, flops int64, c choice) {
	for _, x := range options {
		last := c
		last.prev = x.last
		next[key] = append(next[key], option{keep: x.keep + keep, work: x.work + work, flops: x.flops + flops, last: &last})
	}
}

// thin leaves out each option that another is no worse than, where up to delta
// more flops count as no worse. What is left is in ascending order of keep.
func thin(options []option, delta int64) []option {
	sort.SliceStable(options, func(i, j int) bool {
		a, b := &options[i], &options[j]
		switch {
		case a.keep != b.keep:
			return a.keep < b.keep
		case a.flops != b.flops:
			return a.flops < b.flops
		}
		return a.work < b.work
	})
	// Of those so far, the ones with the least work for their flops: work falls
	// as flops rise.
	var stairs []option
	var out []option
	for _, x := range options {
		at := sort.Search(len(stairs), func(i int) bool { return stairs[i].flops > x.flops+delta })
		if at > 0 && stairs[at-1].work <= x.work {
			continue
		}
		out = append(out, x)
		at = sort.Search(len(stairs), func(i int) bool { return stairs[i].flops >= x.flops })
		end := at
		for end < len(stairs) && stairs[end].work >= x.work {
			end++
		}
		if at > 0 && stairs[at-1].work <= x.work {
			continue // already a stair that is as good, within delta
		}
		stairs = append(stairs[:at], append([]option{x}, stairs[end:]...)...)
	}
	return out
}

// signature is equal for regions with the same front: those of equal blocks.
func (r *region) signature() string {
	var b strings.Builder
	fmt.Fprint(&b, r.fixed)
	for _, n := range r.nodes {
		fmt.Fprintln(&b, n.bytes, n.flops, n.work, n.needed, n.must, n.from, n.o == nil)
	}
	return b.String()
}
