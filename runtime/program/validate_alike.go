package program

import "slices"

// validateAlike checks that devices agree on what is global: the programs in
// their order, the tensors' types and initial values, and the types of data and
// gradients.
func validateAlike(devices []Device) error {
	all := paths[owner]{meet: owner.agree}
	for i := range devices {
		d := &devices[i]
		if !slices.EqualFunc(d.Progs, devices[0].Progs, func(a, b Program) bool { return a.Name == b.Name }) {
			return invalid("devices 0 and %d have different programs", i)
		}
		for j := range d.Tensors {
			t := &d.Tensors[j]
			b := &d.Buffers[t.Buffer]
			if err := all.add("tensor", t.Path, d.Count(b.Stack), owner{device: i, buffer: b, tensor: t}); err != nil {
				return err
			}
		}
		for j := range d.Ports {
			x := &d.Ports[j]
			if x.Role != RoleData && x.Role != RoleGrad {
				continue
			}
			b := &d.Buffers[x.Buffer]
			if err := all.add(x.Program+" "+x.Role, x.Path, d.Count(b.Stack), owner{device: i, buffer: b}); err != nil {
				return err
			}
		}
	}
	return all.compare()
}

// owner is what a device says of something global.
type owner struct {
	device int
	buffer *Buffer
	tensor *Tensor
}

// agree compares what devices say of instance i of one and j of the other, which go
// by one path. Where a copy's path is open, its number is the one that is open in the
// path of what it is a copy of: so any pair of instances that agrees stands for all.
func (o owner) agree(with owner, what string, i, j int) error {
	same := sameWhole(o.buffer, with.buffer)
	if same && o.tensor != nil {
		same = o.tensor.Train == with.tensor.Train && of(o.tensor.Of, i) == of(with.tensor.Of, j) && o.tensor.Init.equal(&with.tensor.Init)
	}
	if !same {
		return invalid("devices %d and %d disagree on %s", o.device, with.device, what)
	}
	return nil
}

// sameWhole says whether two buffers are parts of tensors of one type.
func sameWhole(a, b *Buffer) bool {
	if a.DType != b.DType || len(a.Axes) != len(b.Axes) {
		return false
	}
	for i := range a.Axes {
		if a.Axes[i].Name != b.Axes[i].Name || a.Axes[i].Global != b.Axes[i].Global {
			return false
		}
	}
	return true
}
