package program

import "fmt"

// validateDevice checks one device; the kernels and the mesh are known to be
// valid.
func validateDevice(p *Plan, d *Device) error {
	for _, memory := range []string{"", Host, Disk} {
		n := d.Size(memory)
		if n < 0 {
			return fmt.Errorf("an arena of %d bytes", n)
		}
		if err := within(SizeLimit, "an arena of %d bytes", n, maxArena); err != nil {
			return err
		}
	}
	for _, s := range d.Stacks {
		if err := s.validate(); err != nil {
			return err
		}
	}
	for i := range d.Buffers {
		if err := validateBuffer(p.Mesh, d, &d.Buffers[i]); err != nil {
			return fmt.Errorf("buffer %d: %w", i, err)
		}
	}
	if err := d.validateTensors(); err != nil {
		return err
	}
	check := newProgramCheck(p, d)
	progs := map[string]*Order{}
	for i := range d.Progs {
		prog := &d.Progs[i]
		if err := name(prog.Name); err != nil || progs[prog.Name] != nil {
			return unlessLimit(err, "two programs, or one without a name: %q", prog.Name)
		}
		o, err := check.program(prog)
		if err != nil {
			return fmt.Errorf("program %s, %w", prog.Name, err)
		}
		progs[prog.Name] = o
	}
	return (&portCheck{d, progs, len(p.Mesh), d.tensorsByPath(), portValuesOf(p.Settings)}).all()
}

func (s *Stack) validate() error {
	if err := name(s.Name); err != nil {
		return unlessLimit(err, "a stack without a name")
	}
	if s.Count < 1 {
		return fmt.Errorf("stack %s of %d instances", s.Name, s.Count)
	}
	return within(CountLimit, "%d instances of "+s.Name, int64(s.Count), maxInstances)
}

func validateBuffer(mesh Mesh, d *Device, b *Buffer) error {
	elem, arena := int64(DTypeSize(b.DType)), d.Size(b.Memory)
	switch {
	case elem == 0:
		return fmt.Errorf("unknown dtype %q", b.DType)
	case arena < 0:
		return fmt.Errorf("unknown memory %q", b.Memory)
	case b.Offset < 0 || b.Offset%Align != 0:
		return fmt.Errorf("offset %d is not a multiple of %d", b.Offset, Align)
	case b.Bytes < 0 || b.Bytes > arena || b.Offset > arena-b.Bytes:
		return fmt.Errorf("%d bytes from %d on are not in the arena of %d", b.Bytes, b.Offset, arena)
	}
	if err := d.validateFamily(b, arena); err != nil {
		return err
	}
	part, whole := int64(1), int64(1)
	names := map[string]bool{}
	for _, a := range b.Axes {
		if err := name(a.Name); err != nil || names[a.Name] {
			return unlessLimit(err, "two axes, or one without a name: %q", a.Name)
		}
		names[a.Name] = true
		if err := within(SizeLimit, "%d elements along axis "+a.Name, int64(a.Global), maxElems/whole); err != nil {
			return err
		}
		if a.Size < 1 || a.Global < a.Size {
			return fmt.Errorf("axis %s of size %d, a part of %d", a.Name, a.Size, a.Global)
		}
		part, whole = part*int64(a.Size), whole*int64(a.Global)
	}
	if b.Pad < 0 || b.Pad > 0 && (len(b.Axes) == 0 || b.Memory != "") {
		return fmt.Errorf("%d elements of padding behind each row of %d axes", b.Pad, len(b.Axes))
	}
	if b.Pad > 0 {
		row := int64(b.Axes[len(b.Axes)-1].Size)
		if err := within(SizeLimit, "%d elements of padding", int64(b.Pad), maxElems/(part/row)-row); err != nil {
			return err
		}
		part = part / row * (row + int64(b.Pad))
	}
	if part*elem > b.Bytes {
		return fmt.Errorf("%d bytes for %d elements of %s", b.Bytes, part, b.DType)
	}
	return validateSharding(mesh, b)
}

// validateSharding checks that each axis is cut into as many equal parts as its
// mesh axes have places, and no mesh axis cuts twice.
func validateSharding(mesh Mesh, b *Buffer) error {
	used := map[string]bool{}
	for _, a := range b.Axes {
		size := a.Size
		for _, m := range a.Mesh {
			i := mesh.index(m)
			if i < 0 || used[m] {
				return fmt.Errorf("axis %s is cut over %q, which the mesh does not have or another axis uses", a.Name, m)
			}
			used[m] = true
			if size > a.Global/mesh[i].Size {
				return fmt.Errorf("axis %s of size %d is a part of %d, and its mesh axes make more", a.Name, a.Size, a.Global)
			}
			size *= mesh[i].Size
		}
		if size != a.Global {
			return fmt.Errorf("axis %s of size %d is a part of %d, and its mesh axes make %d", a.Name, a.Size, a.Global, size)
		}
	}
	return nil
}

// validateFamily checks where the instances of a buffer are, and those of microbatches,
// of which the first is known to be in the arena.
func (d *Device) validateFamily(b *Buffer, arena int64) error {
	if b.Stack < 0 || b.Stack > len(d.Stacks) {
		return fmt.Errorf("it is of stack %d of %d", b.Stack, len(d.Stacks))
	}
	if b.Ring != 0 || b.Step != 0 {
		if err := d.validateRing(b, arena); err != nil {
			return err
		}
	}
	if b.MicroRing == 0 && b.MicroStep == 0 {
		return nil
	}
	_, hi := b.ends()
	switch {
	case b.MicroRing < 2 || b.MicroRing > maxMicro:
		return fmt.Errorf("microbatches have %d places", b.MicroRing)
	case b.MicroStep <= 0 || b.MicroStep%Align != 0 || b.MicroStep < b.Bytes:
		return fmt.Errorf("%d bytes of each microbatch, %d apart", b.Bytes, b.MicroStep)
	case b.MicroStep > (arena-hi)/int64(b.MicroRing-1):
		return fmt.Errorf("%d places from %d on, %d bytes apart, are not in the arena of %d", b.MicroRing, b.Offset, b.MicroStep, arena)
	}
	return nil
}

// validateRing checks where the instances of a buffer are for microbatch 0.
func (d *Device) validateRing(b *Buffer, arena int64) error {
	switch {
	case b.Stack == 0 || b.Ring < 2 || b.Ring > d.Count(b.Stack):
		return fmt.Errorf("%d instances have %d places", d.Count(b.Stack), b.Ring)
	case b.Step == 0 || b.Step%Align != 0 || -b.Bytes < b.Step && b.Step < b.Bytes:
		return fmt.Errorf("%d bytes of each instance, %d apart", b.Bytes, b.Step)
	case b.Step > (arena-b.Offset-b.Bytes)/int64(b.Ring-1) || b.Step < -(b.Offset/int64(b.Ring-1)):
		return fmt.Errorf("%d places from %d on, %d bytes apart, are not in the arena of %d", b.Ring, b.Offset, b.Step, arena)
	}
	return nil
}
