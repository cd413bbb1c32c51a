package explain

import (
	"cmp"
	"slices"

	"ptc/runtime/program"
)

// covered is how many bytes of the arena hold a buffer of the kind at some time.
func covered(d *program.Device, s program.Space) int64 {
	if d == nil {
		return 0
	}
	return coveredBy(d, func(i int) bool { return d.Buffers[i].Space == s })
}

// coveredBy is how many bytes of the arena hold one of those buffers at some time.
func coveredBy(d *program.Device, takes func(i int) bool) int64 {
	var list []family
	for i := range d.Buffers {
		if b := &d.Buffers[i]; b.Memory == "" && b.Bytes > 0 && takes(i) {
			n, micros := b.Places()
			if n < micros { // as few families as there can be
				for k := range n {
					list = append(list, family{b.Place(k, 0), b.Bytes, b.MicroStep, int64(micros)})
				}
				continue
			}
			for m := range micros {
				list = append(list, family{min(b.Place(0, m), b.Place(n-1, m)), b.Bytes, max(b.Step, -b.Step), int64(n)})
			}
		}
	}
	slices.SortFunc(list, func(a, b family) int { return cmp.Compare(a.lo, b.lo) })
	var sum int64
	for i := 0; i < len(list); {
		j, end := i+1, list[i].end()
		for ; j < len(list) && list[j].lo < end; j++ {
			end = max(end, list[j].end())
		}
		sum += union(list[i:j])
		i = j
	}
	return sum
}

// family is n ranges of so many bytes, each a step behind the one before.
type family struct{ lo, bytes, step, n int64 }

func (f family) end() int64 { return f.lo + f.step*(f.n-1) + f.bytes }

type extent struct{ from, to int64 }

// length is the length of the union of ranges.
func length(list []extent) int64 {
	slices.SortFunc(list, func(a, b extent) int { return cmp.Compare(a.from, b.from) })
	var sum, end int64
	for i, x := range list {
		if i == 0 {
			end = x.from
		}
		if from := max(x.from, end); x.to > from {
			sum += x.to - from
			end = x.to
		}
	}
	return sum
}

// union is how many bytes families hold together. Where all have one step, the arena is
// frames of that length: in which frame one begins and ends is all that matters, so
// that stretches of frames between are alike.
func union(list []family) int64 {
	step := list[0].step
	var all []extent
	if step == 0 || slices.ContainsFunc(list, func(f family) bool { return f.step != step }) {
		for _, f := range list {
			for k := range f.n {
				all = append(all, extent{f.lo + f.step*k, f.lo + f.step*k + f.bytes})
			}
		}
		return length(all)
	}
	type framed struct {
		extent
		first, n int64
	}
	var parts []framed
	var borders []int64
	add := func(from, to, first, n int64) {
		parts = append(parts, framed{extent{from, to}, first, n})
		borders = append(borders, first, first+n)
	}
	for _, f := range list {
		first, from := (f.lo-list[0].lo)/step, (f.lo-list[0].lo)%step
		if add(from, min(from+f.bytes, step), first, f.n); from+f.bytes > step {
			add(0, from+f.bytes-step, first+1, f.n)
		}
	}
	slices.Sort(borders)
	borders = slices.Compact(borders)
	var sum int64
	for i := 1; i < len(borders); i++ {
		all = all[:0]
		for _, p := range parts {
			if p.first <= borders[i-1] && borders[i] <= p.first+p.n {
				all = append(all, p.extent)
			}
		}
		sum += length(all) * (borders[i] - borders[i-1])
	}
	return sum
}
