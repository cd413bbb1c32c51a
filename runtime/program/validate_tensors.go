package program

import (
	"fmt"
	"slices"

	"ptc/internal/dtype"
	"ptc/internal/openpath"
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
