package exec

import (
	"ptc/internal/dtype"
	"ptc/runtime/program"
)

// Tensor describes a whole tensor that lives between steps, or a gradient.
type Tensor struct {
	Path  string      // blocks.3.attn.wq, or blocks.3.attn.wq/m for state
	DType dtype.DType // of its elements
	Axes  []string    // names
	Shape []int       // of the whole tensor
	Train bool        // a parameter that the optimizer updates
	State bool        // state of the optimizer
	Of    string      // of a state that is a copy of a parameter in more bits: its path
}

// Elems is the number of elements of the whole tensor.
func (t *Tensor) Elems() int { return product(t.Shape) }

// Bytes is the size of the whole tensor.
func (t *Tensor) Bytes() int { return t.Elems() * t.DType.Size() }

// Box says what one device holds of a tensor: [Lo, Hi) of the whole, row-major.
type Box struct {
	Rank   int
	Lo, Hi []int
}

// Slice is a box with its bytes.
type Slice struct {
	Box
	Bytes []byte
}

func tensorOf(path string, b *program.Buffer) Tensor {
	d, _ := dtype.Parse(b.DType) // the plan was validated
	t := Tensor{Path: path, DType: d, Axes: []string{}, Shape: []int{}, State: b.Space == program.Optimizer}
	for _, a := range b.Axes {
		t.Axes = append(t.Axes, a.Name)
		t.Shape = append(t.Shape, a.Global)
	}
	return t
}

// bindTensors collects the devices' parts of each tensor.
func (m *Machine) bindTensors() {
	for _, d := range m.ranks {
		for i := range d.prog.Tensors {
			t := &d.prog.Tensors[i]
			b := &d.prog.Buffers[t.Buffer]
			n, ok := m.byPath[t.Path]
			if !ok {
				n = len(m.tensors)
				m.byPath[t.Path] = n
				whole := tensorOf(t.Path, b)
				whole.Train, whole.Of = t.Train, t.Of
				m.tensors = append(m.tensors, whole)
				m.parts = append(m.parts, nil)
			}
			m.parts[n] = add(m.parts[n], m.part(d, t.Buffer))
		}
	}
}

// Tensors lists the parameters and states in the order of the plan. The list is
// not to be changed.
func (m *Machine) Tensors() []Tensor { return m.tensors }

// Tensor describes the tensor of that path.
func (m *Machine) Tensor(path string) (Tensor, bool) {
	i, ok := m.byPath[path]
	if !ok {
		return Tensor{}, false
	}
	return m.tensors[i], true
}

// Boxes is what each device of this process holds of a tensor, in order of rank;
// devices among which it is replicated hold the same box.
func (m *Machine) Boxes(path string) []Box {
	i, ok := m.byPath[path]
	if !ok {
		return nil
	}
	var out []Box
	for _, p := range m.parts[i] {
		if p.d.here() {
			out = append(out, p.of())
		}
	}
	return out
}

// WriteBox sets what one device of this process holds of a tensor. All copies must
// be the same before the next run.
func (m *Machine) WriteBox(path string, rank int, src []byte) error {
	if i, ok := m.byPath[path]; ok {
		for _, p := range m.parts[i] {
			if p.d.here() && p.rank == rank && p.mem.Bytes == int64(len(src)) {
				return p.d.copied(p.mem.Memory.CopyIn(p.mem.Offset, src))
			}
		}
	}
	return errorf(ReasonInput, nil, "rank %d holds no box of %d bytes of the tensor %s", rank, len(src), path)
}

// ReadBox copies what one device of this process holds of a tensor, from the element at a place of the whole on: as
// much as dst takes, row-major in the box.
func (m *Machine) ReadBox(path string, rank int, at []int64, dst []byte) error {
	if i, ok := m.byPath[path]; ok {
		for _, p := range m.parts[i] {
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
	return errorf(ReasonInput, nil, "rank %d holds no %d bytes of the tensor %s at %v", rank, len(dst), path, at)
}

// ReadBytes copies the whole tensor to dst: row-major, little-endian, in its
// dtype. Where several processes have the devices, each calls it, and it is the
// Root alone that gets the tensor; dst of the others may be nil.
func (m *Machine) ReadBytes(path string, dst []byte) error {
	if i, ok := m.byPath[path]; ok && !m.Root() {
		return m.collect(m.parts[i], nil)
	}
	i, err := m.findBytes(path, dst)
	if err != nil {
		return err
	}
	return m.collect(m.parts[i], dst)
}

// WriteBytes sets the whole tensor on every device of this process that holds a
// part of it.
func (m *Machine) WriteBytes(path string, src []byte) error {
	i, err := m.findBytes(path, src)
	if err != nil {
		return err
	}
	return m.scatter(i, src)
}

func (m *Machine) findBytes(path string, mem []byte) (int, error) {
	i, ok := m.byPath[path]
	if !ok {
		return 0, errorf(ReasonInput, nil, "the plan has no tensor %s", path)
	}
	if n := m.tensors[i].Bytes(); n != len(mem) {
		return 0, errorf(ReasonInput, nil, "the tensor %s has %d bytes, not %d", path, n, len(mem))
	}
	return i, nil
}

func (m *Machine) scatter(tensor int, whole []byte) error {
	for i := range m.parts[tensor] {
		if p := &m.parts[tensor][i]; p.d.here() {
			if err := p.set(whole); err != nil {
				return err
			}
		}
	}
	return nil
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
