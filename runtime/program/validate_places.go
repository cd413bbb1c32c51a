package program

import (
	"cmp"
	"fmt"
	"slices"
)

// resident is the place of a buffer, and whether it is that of a tensor.
type resident struct {
	lo, hi int64
	buffer int
	tensor bool
}

// validatePersistent checks the places of tensors, by the numbers of their buffers:
// they share none, and another buffer that meets one is in it.
//
// Buffers that meet nothing of a tensor are not looked at. Those that do, and move
// from instance to instance by one step, are looked at for one instance, by their
// places in the step; if that finds anything, or they move otherwise, all are written
// out.
func (d *Device) validatePersistent(tensors []int) error {
	type one struct {
		hull
		buffer int
		tensor bool
	}
	var all []one
	add := func(n int, tensor bool) {
		if b := &d.Buffers[n]; b.Bytes > 0 {
			all = append(all, one{d.hull(b, once), n, tensor})
		}
	}
	for _, n := range tensors {
		add(n, true)
	}
	for n := range d.Buffers {
		add(n, false)
	}
	slices.SortStableFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(a.memory, b.memory), cmp.Compare(a.lo, b.lo)) })
	for i := 0; i < len(all); {
		end, j, held, same := all[i].hi, i, false, true
		for ; j < len(all) && all[j].memory == all[i].memory && all[j].lo < end; j++ {
			end = max(end, all[j].hi)
			held = held || all[j].tensor
			same = same && all[j].step == all[i].step
		}
		group := all[i:j]
		i = j
		if !held {
			continue
		}
		if step := max(group[0].step, -group[0].step); same && step > 0 {
			var list []resident
			for _, x := range group {
				at := (x.lo - group[0].lo) % step
				list = append(list, resident{at, at + d.Buffers[x.buffer].Bytes, x.buffer, x.tensor})
			}
			// What reaches beyond the step meets what is at its begin.
			wraps := slices.ContainsFunc(list, func(x resident) bool { return x.hi > step })
			if !wraps && residents(list) == nil {
				continue
			}
		}
		var list []resident
		for _, x := range group {
			b := &d.Buffers[x.buffer]
			instances, micros := b.Places()
			if err := within(CountLimit, "%d places of tensors and buffers to look at one by one", int64(len(list))+int64(instances)*int64(micros), maxWalked/8); err != nil {
				return err
			}
			for m := range micros {
				for k := range instances {
					at := b.Place(k, m)
					list = append(list, resident{at, at + b.Bytes, x.buffer, x.tensor})
				}
			}
		}
		if err := residents(list); err != nil {
			return err
		}
	}
	return nil
}

// residents checks places in one memory.
func residents(list []resident) error {
	var places []resident
	for _, x := range list {
		if x.tensor {
			places = append(places, x)
		}
	}
	slices.SortStableFunc(places, func(a, b resident) int { return cmp.Compare(a.lo, b.lo) })
	for i := 1; i < len(places); i++ {
		if places[i].lo < places[i-1].hi {
			return fmt.Errorf("two tensors share the bytes from %d on", places[i].lo)
		}
	}
	for _, x := range list {
		// The first place that ends behind the buffer's begin.
		n, _ := slices.BinarySearchFunc(places, x.lo, func(y resident, lo int64) int { return cmp.Compare(y.hi-1, lo) })
		if n < len(places) && x.hi > places[n].lo && (x.lo < places[n].lo || x.hi > places[n].hi) {
			return fmt.Errorf("buffer %d covers a part of a tensor's bytes from %d on", x.buffer, places[n].lo)
		}
	}
	return nil
}
