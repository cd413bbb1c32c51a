package program

import (
	"math"
	"slices"
)

// validateMesh checks that every rank of the mesh has one program.
func validateMesh(p *Plan) error {
	ranks := 1
	seen := map[string]bool{}
	for _, a := range p.Mesh {
		if err := name(a.Name); err != nil || seen[a.Name] {
			return invalid("%w", unlessLimit(err, "mesh axis %q", a.Name))
		}
		seen[a.Name] = true
		if a.Size < 1 {
			return invalid("mesh axis %s of size %d", a.Name, a.Size)
		}
		if err := within(CountLimit, "%d devices along mesh axis "+a.Name, int64(a.Size), int64(maxRanks/ranks)); err != nil {
			return invalid("%w", err)
		}
		ranks *= a.Size
	}
	for _, r := range p.Refined {
		if err := name(r.Value); err != nil || !seen[r.Key] {
			return invalid("mesh axis %q is a part of %q", r.Key, r.Value)
		}
	}
	if n := p.Stats.FlopsPerStep; !(n >= 0 && n <= math.MaxFloat64) {
		return invalid("a step of %g operations", n)
	}
	return validateClasses(p)
}

// validateClasses checks that there is a program for each combination of
// coordinates on the axes By, and one alone.
func validateClasses(p *Plan) error {
	last := -1
	for _, name := range p.By {
		i := p.Mesh.index(name)
		if i <= last {
			return invalid("devices differ by mesh axis %q, which the mesh does not have or the list has out of order", name)
		}
		last = i
	}
	if want := p.Mesh.Parts(p.By); len(p.Devices) != want {
		return invalid("%d programs for %d places along %v", len(p.Devices), want, p.By)
	}
	seen := make([]bool, len(p.Devices))
	for i := range p.Devices {
		at, n := p.Devices[i].At, 0
		if len(at) != len(p.By) {
			return invalid("device %d has %d coordinates on %v", i, len(at), p.By)
		}
		for j, name := range p.By {
			size := p.Mesh[p.Mesh.index(name)].Size
			if at[j] < 0 || at[j] >= size {
				return invalid("device %d has coordinate %d of %d on %s", i, at[j], size, name)
			}
			n = n*size + at[j]
		}
		if seen[n] {
			return invalid("device %d has the coordinates %v of another", i, at)
		}
		seen[n] = true
	}
	return nil
}

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
