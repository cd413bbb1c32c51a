package exec

import (
	"ptc/internal/collective"
	"ptc/runtime/comm"
	"ptc/runtime/device"
)

// values are the tensors that live between steps, in the memories of the devices.
type values struct {
	crew    *crew
	tensors []Tensor // in the order of the plan
	parts   [][]part // by tensor: on each device that has it, by rank
	byPath  map[string]int
}

// newValues collects the devices' parts of each tensor.
func newValues(c *crew) values {
	v := values{crew: c, byPath: map[string]int{}}
	for _, d := range c.ranks {
		for i := range d.prog.Tensors {
			t := &d.prog.Tensors[i]
			b := &d.prog.Buffers[t.Buffer]
			n, ok := v.byPath[t.Path]
			if !ok {
				n = len(v.tensors)
				v.byPath[t.Path] = n
				whole := tensorOf(t.Path, b)
				whole.Train, whole.Of = t.Train, t.Of
				v.tensors = append(v.tensors, whole)
				v.parts = append(v.parts, nil)
			}
			v.parts[n] = add(v.parts[n], partOf(c.plan, d, t.Buffer))
		}
	}
	return v
}

// Tensors lists the parameters and states in the order of the plan. The list is
// not to be changed.
func (v *values) Tensors() []Tensor { return v.tensors }

// Tensor describes the tensor of that path.
func (v *values) Tensor(path string) (Tensor, bool) {
	i, ok := v.byPath[path]
	if !ok {
		return Tensor{}, false
	}
	return v.tensors[i], true
}

// Boxes is what each device of this process holds of a tensor, in order of rank;
// devices among which it is replicated hold the same box.
func (v *values) Boxes(path string) []Box {
	i, ok := v.byPath[path]
	if !ok {
		return nil
	}
	var out []Box
	for _, p := range v.parts[i] {
		if p.d.here() {
			out = append(out, p.of())
		}
	}
	return out
}

// WriteBox sets what one device of this process holds of a tensor. All copies must
// be the same before the next run.
func (v *values) WriteBox(path string, rank int, src []byte) error {
	if i, ok := v.byPath[path]; ok {
		for _, p := range v.parts[i] {
			if p.d.here() && p.rank == rank && p.mem.Bytes == int64(len(src)) {
				return p.d.copied(p.mem.Memory.CopyIn(p.mem.Offset, src))
			}
		}
	}
	return errorf(ReasonInput, nil, "rank %d has no box of %d bytes of the tensor %s", rank, len(src), path)
}

// ReadBox copies what one device of this process holds of a tensor, from the element at a place of the whole on: as
// much as dst takes, row-major in the box.
func (v *values) ReadBox(path string, rank int, at []int64, dst []byte) error {
	if i, ok := v.byPath[path]; ok {
		for _, p := range v.parts[i] {
			from, ok := p.offset(at)
			if !ok || !p.d.here() || p.rank != rank || from+int64(len(dst)) > p.mem.Bytes {
				continue
			}
			for ; len(dst) > 0; from += chunkBytes {
				n := min(len(dst), chunkBytes)
				if err := p.d.copied(p.mem.Memory.CopyOut(dst[:n], p.mem.Offset+from)); err != nil {
					return err
				}
				dst = dst[n:]
			}
			return nil
		}
	}
	return errorf(ReasonInput, nil, "rank %d does not have %d bytes of the tensor %s at %v", rank, len(dst), path, at)
}

// ReadBytes copies the whole tensor to dst: row-major, little-endian, in its
// dtype. Where several processes have the devices, each calls it, and it is the
// Root alone that gets the tensor; dst of the others may be nil.
func (v *values) ReadBytes(path string, dst []byte) error {
	if i, ok := v.byPath[path]; ok && !v.crew.Root() {
		return v.crew.collect(v.parts[i], nil)
	}
	i, err := v.findBytes(path, dst)
	if err != nil {
		return err
	}
	return v.crew.collect(v.parts[i], dst)
}

// WriteBytes sets the whole tensor on every device of this process that holds a
// part of it.
func (v *values) WriteBytes(path string, src []byte) error {
	i, err := v.findBytes(path, src)
	if err != nil {
		return err
	}
	return v.scatter(i, src)
}

func (v *values) findBytes(path string, mem []byte) (int, error) {
	i, ok := v.byPath[path]
	if !ok {
		return 0, errorf(ReasonInput, nil, "the plan has no tensor %s", path)
	}
	if n := v.tensors[i].Bytes(); n != len(mem) {
		return 0, errorf(ReasonInput, nil, "the tensor %s has %d bytes, not %d", path, n, len(mem))
	}
	return i, nil
}

func (v *values) scatter(tensor int, whole []byte) error {
	for i := range v.parts[tensor] {
		if p := &v.parts[tensor][i]; p.d.here() {
			if err := p.set(whole); err != nil {
				return err
			}
		}
	}
	return nil
}

// Whole tensors are collected in the process that has rank 0. The devices of the
// other processes send it their boxes in chunks, so that memory next to the
// tensor is that of a few chunks.

// Tags of the messages, above those of plans.
const (
	tensorTag   = comm.MaxTag - 1
	gradientTag = comm.MaxTag - 2
)

// collect puts the boxes of all devices into the whole tensor, which only the
// root has. Every process calls it, for the same tensor.
func (c *crew) collect(parts []part, whole []byte) error {
	for i := range parts {
		p := &parts[i]
		var err error
		switch {
		case !p.own: // a copy of another box
		case c.Root() && p.d.here():
			err = p.get(func(from int, chunk []byte) error { p.place(whole, from, chunk); return nil })
		case c.Root():
			err = c.receive(p, tensorTag, func(from int, chunk []byte) { p.place(whole, from, chunk) })
		case p.d.here():
			err = p.send(tensorTag)
		}
		if err != nil {
			return errorf(ReasonComm, err, "ptc cannot collect a tensor from all devices")
		}
	}
	return nil
}

// send sends the box to rank 0.
func (p *part) send(tag int) error {
	return p.get(func(_ int, chunk []byte) error {
		return p.d.message(comm.Op{Kind: collective.Send, Src: device.Bytes(chunk), Inner: len(chunk), Tag: tag})
	})
}

// receive gives the chunks of a box that another process has, and the element
// with which each begins.
func (c *crew) receive(p *part, tag int, chunk func(from int, mem []byte)) error {
	left := p.bytes()
	buf := make([]byte, min(left, chunkBytes))
	for from := 0; left > 0; {
		n := min(left, chunkBytes)
		err := c.devices[0].message(comm.Op{Kind: collective.Recv, Peer: p.rank, Dst: device.Bytes(buf[:n]), Inner: n, Tag: tag})
		if err != nil {
			return err
		}
		chunk(from, buf[:n])
		from += n / p.elem
		left -= n
	}
	return nil
}
