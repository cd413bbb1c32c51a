package program

import (
	"cmp"
	"fmt"
	"slices"

	"ptc/internal/rolled"
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
	var all []rolled.Hull[string]
	add := func(n, id int) {
		if b := &d.Buffers[n]; b.Bytes > 0 {
			h := d.hull(b, once)
			h.ID = id
			all = append(all, h)
		}
	}
	for _, n := range tensors {
		add(n, ^n) // of a tensor
	}
	for n := range d.Buffers {
		add(n, n)
	}
	for group := range rolled.Groups(all) {
		if !slices.ContainsFunc(group, func(h rolled.Hull[string]) bool { return h.ID < 0 }) {
			continue
		}
		if step := max(group[0].Moves.Step, -group[0].Moves.Step); step > 0 && rolled.Alike(group) {
			var list []resident
			for _, h := range group {
				list = append(list, d.resident(h.ID, (h.Lo-group[0].Lo)%step))
			}
			// What reaches beyond the step meets what is at its begin.
			wraps := slices.ContainsFunc(list, func(x resident) bool { return x.hi > step })
			if !wraps && residents(list) == nil {
				continue
			}
		}
		var list []resident
		for _, h := range group {
			b := &d.Buffers[max(h.ID, ^h.ID)]
			instances, micros := b.Places()
			if err := within(CountLimit, "%d places of tensors and buffers to look at one by one", int64(len(list))+int64(instances)*int64(micros), maxWalked/8); err != nil {
				return err
			}
			for m := range micros {
				for k := range instances {
					list = append(list, d.resident(h.ID, b.Place(k, m)))
				}
			}
		}
		if err := residents(list); err != nil {
			return err
		}
	}
	return nil
}

// resident is the place from at on of a buffer, which is a tensor's where id is below 0.
func (d *Device) resident(id int, at int64) resident {
	n := max(id, ^id)
	return resident{at, at + d.Buffers[n].Bytes, n, id < 0}
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
