package exec

import (
	"slices"
	"unsafe"

	"ptc/internal/dtype"
	"ptc/runtime/program"
)

// What only tests ask of a machine.

// bytesOf is the memory of a slice of numbers.
func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// Step runs the program "step".
func (m *Machine) Step() error {
	p := m.Program("step")
	if p == nil {
		return errorf(ReasonPlan, nil, "the plan has no program `step`, so it cannot train")
	}
	return p.Run()
}

// View is the part of a field that one device reads, in the host's memory, from
// where a run gives it to the device.
type View struct {
	Box
	I32 []int32 // nil for a field of f32
	F32 []float32
}

// Data is the memory of a field for each device that reads it, to be filled
// before a run; nil for an unknown field. What is there stays.
func (p *Program) Data(field string) []View {
	i := slices.IndexFunc(p.fields, func(f Field) bool { return f.Name == field })
	if i < 0 {
		return nil
	}
	var out []View
	for _, f := range p.feeds[i] {
		v := View{Box: f.of()}
		if p.fields[i].DType == dtype.I32 {
			v.I32 = elements[int32](f.bytes)
		} else {
			v.F32 = elements[float32](f.bytes)
		}
		out = append(out, v)
	}
	return out
}

// Plan is what the machine runs.
func (m *Machine) Plan() *program.Plan { return m.plan }

// Threads is the number of threads, the caller's included.
func (m *Machine) Threads() int { return m.threads }

func (m *Machine) find(path string, elems int) (int, error) {
	i, ok := m.byPath[path]
	if !ok {
		return 0, errorf(ReasonInput, nil, "the plan has no tensor %s", path)
	}
	if n := m.tensors[i].Elems(); n != elems {
		return 0, errorf(ReasonInput, nil, "the tensor %s has %d elements, not %d", path, n, elems)
	}
	return i, nil
}

// Read gives the whole tensor as dtype.F32, rounded to nearest even where its dtype
// holds more. It is for a process that has all devices.
func (m *Machine) Read(path string, dst []float32) error {
	i, err := m.find(path, len(dst))
	if err != nil {
		return err
	}
	t := &m.tensors[i]
	if t.DType == dtype.F32 {
		return m.collect(m.parts[i], bytesOf(dst))
	}
	raw := make([]byte, t.Bytes())
	if err := m.collect(m.parts[i], raw); err != nil {
		return err
	}
	return Convert(bytesOf(dst), dtype.F32, raw, t.DType)
}

// Write sets the whole tensor, rounding to nearest even to its dtype. Integers
// and booleans must be given as such: see [Convert].
func (m *Machine) Write(path string, src []float32) error {
	i, err := m.find(path, len(src))
	if err != nil {
		return err
	}
	t := &m.tensors[i]
	if t.DType == dtype.F32 {
		return m.scatter(i, bytesOf(src))
	}
	raw := make([]byte, t.Bytes())
	if err := Convert(raw, t.DType, bytesOf(src), dtype.F32); err != nil {
		return errorf(ReasonInput, err, "the tensor %s cannot be set", path)
	}
	return m.scatter(i, raw)
}
