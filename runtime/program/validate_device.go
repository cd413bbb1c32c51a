package program

import (
	"fmt"
	"slices"

	"ptc/internal/dtype"
	"ptc/internal/openpath"
	"ptc/internal/rolled"
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
	for _, s := range d.Stacks {
		if err := s.validate(); err != nil {
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
	progs := map[string]*Order{}
	for i := range d.Progs {
		prog := &d.Progs[i]
		if err := name(prog.Name); err != nil || progs[prog.Name] != nil {
			return unlessLimit(err, "two programs, or one without a name: %q", prog.Name)
		}
		o, err := p.validateProgram(d, prog, &kind)
		if err != nil {
			return fmt.Errorf("program %s, %w", prog.Name, err)
		}
		progs[prog.Name] = o
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
			if size > a.Global/p.Mesh[i].Size {
				return fmt.Errorf("axis %s of size %d is a part of %d, and its mesh axes make more", a.Name, a.Size, a.Global)
			}
			size *= p.Mesh[i].Size
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

// span is the first n bytes of b as an instruction uses it.
func (b *Buffer) span(by rolled.Issue, n int64) span {
	at := b.Place(by.Instance, by.Micro)
	return span{b.Memory, at, at + n}
}

// elements are the bytes of the elements of b as an instruction uses it.
func (b *Buffer) elements(by rolled.Issue) span { return b.span(by, b.Size()) }

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

// stackOf is the stack of whose every instance a tensor is, 0 if it is one; below 0
// where its buffer is not here.
func (d *Device) stackOf(t *Tensor) int {
	if t.Buffer < 0 || t.Buffer >= len(d.Buffers) {
		return -1
	}
	return d.Buffers[t.Buffer].Stack
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

// validateProgram checks the instructions, and gives the order in which they are issued.
func (p *Plan) validateProgram(d *Device, prog *Program, kind *string) (*Order, error) {
	if err := prog.validateTasks(); err != nil {
		return nil, err
	}
	if err := d.validateRuns(prog); err != nil {
		return nil, err
	}
	o := d.Order(prog)
	if err := o.validateAheads(); err != nil {
		return nil, err
	}
	if err := o.validateHeads(); err != nil {
		return nil, err
	}
	for i := range prog.Instrs {
		in := &prog.Instrs[i]
		if err := p.validateInstr(d, o, in, o.where(i), kind); err != nil {
			return nil, fmt.Errorf("instruction %d: %w", i, err)
		}
		if in.With && !o.joins(i) {
			return nil, fmt.Errorf("instruction %d is launched with the one before it, which is not a call of the same kernel for which it does not wait, outside of runs", i)
		}
	}
	return o, (&hazards{kernels: p.Kernels, device: d, order: o}).all()
}

// where is what an instruction is issued for: every instance of a stack, 0 of none, and
// every one of so many microbatches, 0 if it is issued once.
type where struct{ stack, micros int }

func (o *Order) where(i int) where {
	w := where{stack: o.stack(i)}
	if o.PerMicro(i) {
		w.micros = o.Micro
	}
	return w
}

// validateInstr checks one instruction, for whichever instance and microbatch.
func (p *Plan) validateInstr(d *Device, o *Order, in *Instr, at where, kind *string) error {
	if err := in.names(); err != nil {
		return err
	}
	for _, n := range in.Bufs {
		if n < 0 || n >= len(d.Buffers) {
			return fmt.Errorf("it uses buffer %d of %d", n, len(d.Buffers))
		}
		if s := d.Buffers[n].Stack; s != 0 && s != at.stack {
			return fmt.Errorf("it uses buffer %d of every instance of another stack", n)
		}
		if at.micros == 0 && d.Buffers[n].MicroRing > 0 {
			return fmt.Errorf("it uses buffer %d, which every microbatch has", n)
		}
	}
	if err := in.validateFirst(at); err != nil {
		return err
	}
	if in.Comm != nil {
		for _, n := range in.Bufs {
			if d.Buffers[n].Pad != 0 {
				return fmt.Errorf("%s of buffer %d, whose rows have padding", in.Comm.Kind, n)
			}
		}
		if err := p.validateComm(d, in, at); err != nil {
			return err
		}
		return o.validateOf(in, at.stack)
	}
	if in.First != nil {
		if err := p.validateCall(d, in.In(true), kind); err != nil {
			return fmt.Errorf("in the first turn, %w", err)
		}
	}
	return p.validateCall(d, in, kind)
}

// validateCall checks the call of a kernel.
func (p *Plan) validateCall(d *Device, in *Instr, kind *string) error {
	if in.Kernel < 0 || in.Kernel >= len(p.Kernels) {
		return fmt.Errorf("it calls kernel %d of %d", in.Kernel, len(p.Kernels))
	}
	k := &p.Kernels[in.Kernel]
	if got := p.Code[k.Code].Kind; *kind == "" {
		*kind = got
	} else if got != *kind {
		return fmt.Errorf("it calls code of kind %s beside %s", got, *kind)
	}
	if len(in.Bufs) != len(k.Args) {
		return fmt.Errorf("it gives kernel %s %d buffers of %d", k.Name, len(in.Bufs), len(k.Args))
	}
	for j, n := range in.Bufs {
		b, a := &d.Buffers[n], k.Args[j]
		if a.Bytes > b.Bytes {
			return fmt.Errorf("it gives kernel %s a buffer of %d bytes, of which it uses %d", k.Name, b.Bytes, a.Bytes)
		}
		if b.Memory != "" {
			return fmt.Errorf("it gives kernel %s a buffer in %s memory", k.Name, b.Memory)
		}
	}
	return nil
}

func meetsAny(s span, all []span) bool {
	for _, t := range all {
		if s.meets(t) {
			return true
		}
	}
	return false
}
