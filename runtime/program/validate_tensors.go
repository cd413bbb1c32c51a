package program

import (
	"cmp"
	"fmt"
	"slices"

	"ptc/internal/dtype"
	"ptc/internal/openpath"
	"ptc/internal/rolled"
)

// validateTensors checks names and initial values, and that what lives between
// steps has a place that nothing else is in: a buffer that meets it is in that
// place, as the tensor's new value is, or pieces of it.
func (d *Device) validateTensors() error {
	byPath := d.tensorsByPath()
	all := paths[*Tensor]{meet: func(a, _ *Tensor, what string, i, _ int) error {
		return fmt.Errorf("two tensors with the path %s", of(a.Path, i))
	}}
	var places []int // buffers of tensors
	for i := range d.Tensors {
		t := &d.Tensors[i]
		if err := name(t.Path); err != nil {
			return unlessLimit(err, "a tensor without a path: %q", t.Path)
		}
		if t.Buffer < 0 || t.Buffer >= len(d.Buffers) {
			return fmt.Errorf("tensor %s is in buffer %d of %d", t.Path, t.Buffer, len(d.Buffers))
		}
		b := &d.Buffers[t.Buffer]
		if b.Pad != 0 {
			return fmt.Errorf("tensor %s has %d elements of padding behind each row", t.Path, b.Pad)
		}
		count := d.Count(b.Stack)
		if err := openPath(t.Path, b.Stack > 0, count); err != nil {
			return fmt.Errorf("tensor %w", err)
		}
		if instances, micros := b.Places(); instances != count || micros > 1 {
			return fmt.Errorf("tensor %s of %d instances in %d places", t.Path, count, instances*micros)
		}
		if err := all.add("tensor", t.Path, count, t); err != nil {
			return err
		}
		if err := t.validateInit(b.DType); err != nil {
			return fmt.Errorf("tensor %s: %v", t.Path, err)
		}
		if err := d.validateCopy(t, byPath); err != nil {
			return err
		}
		places = append(places, t.Buffer)
	}
	if err := all.compare(); err != nil {
		return err
	}
	return d.validatePersistent(places)
}

// validateCopy checks that what t is a copy of is a tensor here of its global
// shape.
func (d *Device) validateCopy(t *Tensor, byPath map[string]int) error {
	if t.Of == "" {
		return nil
	}
	shape := func(t *Tensor) (out []Axis) {
		if t.Buffer < 0 || t.Buffer >= len(d.Buffers) {
			return nil
		}
		for _, a := range d.Buffers[t.Buffer].Axes {
			out = append(out, Axis{Name: a.Name, Global: a.Global})
		}
		return out
	}
	i, ok := byPath[t.Of]
	if !ok || &d.Tensors[i] == t || shape(&d.Tensors[i]) == nil && d.stackOf(&d.Tensors[i]) < 0 {
		return fmt.Errorf("tensor %s is a copy of %s, which is not here", t.Path, t.Of)
	}
	of := &d.Tensors[i]
	if !slices.EqualFunc(shape(t), shape(of), func(a, b Axis) bool { return a.Name == b.Name && a.Global == b.Global }) {
		return fmt.Errorf("tensor %s has another shape than %s, of which it is a copy", t.Path, t.Of)
	}
	x, _ := openpath.Parse(t.Path)
	y, _ := openpath.Parse(t.Of)
	if d.stackOf(t) != d.stackOf(of) || x.Times != y.Times || x.Plus != y.Plus {
		return fmt.Errorf("tensor %s is a copy of %s, of other instances", t.Path, t.Of)
	}
	return nil
}

func (t *Tensor) validateInit(name string) error {
	v, err := t.Init.Values()
	if err != nil {
		return err
	}
	if d, _ := dtype.Parse(name); !d.IsFloat() && (v.Dist != Constant || !d.Holds(v.Value)) {
		return fmt.Errorf("elements of %s cannot start as %s", name, t.Init.Kind)
	}
	return nil
}

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
