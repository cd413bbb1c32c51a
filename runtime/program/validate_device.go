package program

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ptc/internal/dtype"
)

// validateDevice checks one device; the kernels and the mesh are known to be
// valid.
func (p *Plan) validateDevice(d *Device) error {
	for _, memory := range []string{"", Host, Disk} {
		n := d.Size(memory)
		if n < 0 {
			return fmt.Errorf("an arena of %d bytes", n)
		}
		if err := within(SizeLimit, "an arena of %d bytes", n, maxArena); err != nil {
			return err
		}
	}
	for i := range d.Buffers {
		if err := p.validateBuffer(d, &d.Buffers[i]); err != nil {
			return fmt.Errorf("buffer %d: %w", i, err)
		}
	}
	if err := d.validateTensors(); err != nil {
		return err
	}
	kind := "" // of all the device's code
	progs := map[string]*Program{}
	for i := range d.Progs {
		prog := &d.Progs[i]
		if err := name(prog.Name); err != nil || progs[prog.Name] != nil {
			return unlessLimit(err, "two programs, or one without a name: %q", prog.Name)
		}
		progs[prog.Name] = prog
		if err := p.validateProgram(d, prog, &kind); err != nil {
			return fmt.Errorf("program %s, %w", prog.Name, err)
		}
	}
	return p.validatePorts(d, progs)
}

func (p *Plan) validateBuffer(d *Device, b *Buffer) error {
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
	if part*elem > b.Bytes {
		return fmt.Errorf("%d bytes for %d elements of %s", b.Bytes, part, b.DType)
	}
	return p.validateSharding(b)
}

// validateSharding checks that each axis is cut into as many equal parts as its
// mesh axes have places, and no mesh axis cuts twice.
func (p *Plan) validateSharding(b *Buffer) error {
	used := map[string]bool{}
	for _, a := range b.Axes {
		size := a.Size
		for _, m := range a.Mesh {
			i := slices.IndexFunc(p.Mesh, func(x MeshAxis) bool { return x.Name == m })
			if i < 0 || used[m] {
				return fmt.Errorf("axis %s is cut over %q, which the mesh does not have or another axis uses", a.Name, m)
			}
			used[m] = true
			size *= p.Mesh[i].Size // both factors are at most 2^44 and 2^20
			if size > a.Global {
				break
			}
		}
		if size != a.Global {
			return fmt.Errorf("axis %s of size %d is a part of %d, and its mesh axes make %d", a.Name, a.Size, a.Global, size)
		}
	}
	return nil
}

// span is a range of the arena in a memory.
type span struct {
	memory string
	lo, hi int64
}

func (s span) meets(t span) bool { return s.memory == t.memory && s.lo < t.hi && t.lo < s.hi }

// within says whether all of s is in t.
func (s span) within(t span) bool { return s.memory == t.memory && t.lo <= s.lo && s.hi <= t.hi }

// span is the first n bytes of b.
func (b *Buffer) span(n int64) span { return span{b.Memory, b.Offset, b.Offset + n} }

// elements are the bytes of b's elements.
func (b *Buffer) elements() span { return b.span(b.Size()) }

// validateTensors checks names and initial values, and that what lives between
// steps has a place that nothing else is in: a buffer that meets it is in that
// place, as the tensor's new value is, or pieces of it.
func (d *Device) validateTensors() error {
	paths := d.tensorsByPath()
	places := map[string][]span{} // by memory
	for i := range d.Tensors {
		t := &d.Tensors[i]
		if err := name(t.Path); err != nil || paths[t.Path] != i {
			return unlessLimit(err, "two tensors, or one without a path: %q", t.Path)
		}
		if t.Buffer < 0 || t.Buffer >= len(d.Buffers) {
			return fmt.Errorf("tensor %s is in buffer %d of %d", t.Path, t.Buffer, len(d.Buffers))
		}
		b := &d.Buffers[t.Buffer]
		if err := t.validateInit(b.DType); err != nil {
			return fmt.Errorf("tensor %s: %v", t.Path, err)
		}
		if err := d.validateCopy(t, paths); err != nil {
			return err
		}
		if b.Bytes > 0 {
			places[b.Memory] = append(places[b.Memory], b.span(b.Bytes))
		}
	}
	for _, memory := range []string{"", Host, Disk} {
		if err := d.validatePersistent(memory, places[memory]); err != nil {
			return err
		}
	}
	return nil
}

// tensorsByPath are the places of the first tensor of each path.
func (d *Device) tensorsByPath() map[string]int {
	paths := make(map[string]int, len(d.Tensors))
	for i := range d.Tensors {
		if _, ok := paths[d.Tensors[i].Path]; !ok {
			paths[d.Tensors[i].Path] = i
		}
	}
	return paths
}

// validatePersistent checks the places of the tensors in one memory.
func (d *Device) validatePersistent(memory string, places []span) error {
	slices.SortFunc(places, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	for i := 1; i < len(places); i++ {
		if places[i].lo < places[i-1].hi {
			return fmt.Errorf("two tensors share the bytes from %d on", places[i].lo)
		}
	}
	for i := range d.Buffers {
		s := d.Buffers[i].span(d.Buffers[i].Bytes)
		if s.lo == s.hi || s.memory != memory {
			continue
		}
		// The first place that ends behind the buffer's begin.
		n, _ := slices.BinarySearchFunc(places, s.lo, func(x span, lo int64) int { return cmp.Compare(x.hi-1, lo) })
		if n < len(places) && s.meets(places[n]) && !s.within(places[n]) {
			return fmt.Errorf("buffer %d covers a part of a tensor's bytes from %d on", i, places[n].lo)
		}
	}
	return nil
}

// validateCopy checks that what t is a copy of is a tensor here of its global
// shape.
func (d *Device) validateCopy(t *Tensor, paths map[string]int) error {
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
	if i, ok := paths[t.Of]; ok && &d.Tensors[i] != t {
		of := &d.Tensors[i]
		if !slices.EqualFunc(shape(t), shape(of), func(a, b Axis) bool { return a.Name == b.Name && a.Global == b.Global }) {
			return fmt.Errorf("tensor %s has another shape than %s, of which it is a copy", t.Path, t.Of)
		}
		return nil
	}
	return fmt.Errorf("tensor %s is a copy of %s, which is not here", t.Path, t.Of)
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

// validateProgram checks the instructions.
func (p *Plan) validateProgram(d *Device, prog *Program, kind *string) error {
	var free accesses // since the last wait, that instruction included
	var under flights
	pass := func(i int, in *Instr, reads, writes []span) error {
		if !in.NoWait {
			if err := free.conflict(); err != nil {
				return err
			}
			free = free[:0]
		}
		free.add(i, reads, false)
		free.add(i, writes, true)
		return under.pass(i, in, reads, writes)
	}
	var reads, writes []span
	for i := range prog.Instrs {
		in := &prog.Instrs[i]
		if err := in.names(); err != nil {
			return fmt.Errorf("instruction %d: %w", i, err)
		}
		if in.Comm != nil {
			if err := p.validateComm(d, in); err != nil {
				return fmt.Errorf("instruction %d: %w", i, err)
			}
			reads, writes = d.spans(in)
			if err := pass(i, in, reads, writes); err != nil {
				return err
			}
			continue
		}
		if in.Kernel < 0 || in.Kernel >= len(p.Kernels) {
			return fmt.Errorf("instruction %d calls kernel %d of %d", i, in.Kernel, len(p.Kernels))
		}
		k := &p.Kernels[in.Kernel]
		if got := p.Code[k.Code].Kind; *kind == "" {
			*kind = got
		} else if got != *kind {
			return fmt.Errorf("instruction %d calls code of kind %s beside %s", i, got, *kind)
		}
		if len(in.Bufs) != len(k.Args) {
			return fmt.Errorf("instruction %d gives kernel %s %d buffers of %d", i, k.Name, len(in.Bufs), len(k.Args))
		}
		reads, writes = reads[:0], writes[:0]
		for j, n := range in.Bufs {
			if n < 0 || n >= len(d.Buffers) {
				return fmt.Errorf("instruction %d uses buffer %d of %d", i, n, len(d.Buffers))
			}
			b, a := &d.Buffers[n], k.Args[j]
			if a.Bytes > b.Bytes {
				return fmt.Errorf("instruction %d gives kernel %s a buffer of %d bytes, of which it uses %d", i, k.Name, b.Bytes, a.Bytes)
			}
			if b.Memory != "" {
				return fmt.Errorf("instruction %d gives kernel %s a buffer in %s memory", i, k.Name, b.Memory)
			}
			s := b.span(a.Bytes)
			if a.Write {
				writes = append(writes, s)
			} else {
				reads = append(reads, s)
			}
		}
		if err := pass(i, in, reads, writes); err != nil {
			return err
		}
	}
	if err := free.conflict(); err != nil {
		return err
	}
	return under.end()
}

func meetsAny(s span, all []span) bool {
	for _, t := range all {
		if s.meets(t) {
			return true
		}
	}
	return false
}

// validatePorts checks what programs are fed and what is read of them.
func (p *Plan) validatePorts(d *Device, progs map[string]*Program) error {
	type key struct{ program, role, path string }
	seen := map[key]bool{}
	paths := d.tensorsByPath()
	for i := range d.Ports {
		x := &d.Ports[i]
		k := key{x.Program, x.Role, x.Path}
		if x.Role == RoleStep || x.Role == RoleSeed || x.Role == RoleLoss || x.Role == RoleCoord {
			k.path = ""
		}
		prog := progs[x.Program]
		switch {
		case prog == nil:
			return fmt.Errorf("port %d is of the program %q, which there is not", i, x.Program)
		case x.Buffer < 0 || x.Buffer >= len(d.Buffers):
			return fmt.Errorf("port %d is buffer %d of %d", i, x.Buffer, len(d.Buffers))
		case seen[k]:
			return fmt.Errorf("program %s has the port %s %q twice", x.Program, x.Role, x.Path)
		case x.After < 0 || x.After > len(prog.Instrs) || x.After > 0 && x.Role != RoleGrad:
			return fmt.Errorf("port %s %q after %d of %d instructions", x.Role, x.Path, x.After, len(prog.Instrs))
		}
		seen[k] = true
		if err := p.validatePort(d, x, &d.Buffers[x.Buffer], paths); err != nil {
			return fmt.Errorf("port %s %q of program %s: %w", x.Role, x.Path, x.Program, err)
		}
	}
	return nil
}

func (p *Plan) validatePort(d *Device, x *Port, b *Buffer, paths map[string]int) error {
	if b.Memory != "" {
		return fmt.Errorf("it is in %s memory", b.Memory)
	}
	scalar := func(dtypes ...dtype.DType) error {
		names := dtype.Names(dtypes)
		if len(b.Axes) != 0 || !slices.Contains(names, b.DType) {
			return fmt.Errorf("a %s with %d axes, not a scalar %s", b.DType, len(b.Axes), strings.Join(names, " or "))
		}
		return nil
	}
	switch x.Role {
	case RoleStep, RoleSeed, RoleIndex:
		return scalar(dtype.I32)
	case RoleCoord:
		if b.DType != dtype.I32.String() || len(b.Axes) != 1 || b.Axes[0].Size != len(p.Mesh) || b.Axes[0].Global != len(p.Mesh) {
			return fmt.Errorf("not an i32 for each of %d mesh axes", len(p.Mesh))
		}
		return nil
	case RoleLoss:
		return scalar(dtype.F32, dtype.F64)
	case RoleStat:
		if err := name(x.Path); err != nil {
			return err
		}
		return scalar(dtype.F32, dtype.F64)
	case RoleData:
		if b.DType != dtype.I32.String() && b.DType != dtype.F32.String() {
			return fmt.Errorf("data of %s, not i32 or f32", b.DType)
		}
		return name(x.Path)
	case RoleGrad:
		i, ok := paths[x.Path]
		if !ok {
			return fmt.Errorf("there is no such parameter")
		}
		if g, w := wholeElems(b), wholeElems(&d.Buffers[d.Tensors[i].Buffer]); g != w {
			return fmt.Errorf("%d elements, and the parameter has %d", g, w)
		}
		return nil
	}
	return fmt.Errorf("unknown role")
}

func wholeElems(b *Buffer) int64 {
	n := int64(1)
	for _, a := range b.Axes {
		n *= int64(a.Global)
	}
	return n
}
