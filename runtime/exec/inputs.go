package exec

import (
	"math"
	"slices"
	"unsafe"

	"ptc/internal/dtype"
	"ptc/runtime/program"
)

// inputs are what a program is fed of data.
type inputs struct {
	program string
	fields  []Field
	feeds   [][]fed // of fields
}

// Field is one input of a program that is data: a whole tensor.
type Field struct {
	Name  string
	DType dtype.DType // I32 or F32
	Axes  []string
	Shape []int
}

// fed is a device's box of a field, and the bytes of its port.
type fed struct {
	box
	bytes []byte
}

// Fields lists what the program is fed, in the order of the plan.
func (n *inputs) Fields() []Field { return n.fields }

// Feed gives each device its part of a whole field: its elements row-major,
// little-endian. It does not allocate.
func (n *inputs) Feed(field string, whole []byte) error {
	feeds, err := n.of(field)
	if err != nil {
		return err
	}
	if want := feeds[0].wholeBytes(); len(whole) != want {
		return errorf(ReasonInput, nil, "the field %s has %d bytes, but program %s reads %d", field, len(whole), n.program, want)
	}
	for j := range feeds {
		feeds[j].pick(feeds[j].bytes, 0, whole)
	}
	return nil
}

// FeedPart gives the one device of this process its part of a field: the box that
// its layout gives it. It does not allocate.
func (n *inputs) FeedPart(field string, box []byte) error {
	feeds, err := n.of(field)
	if err != nil {
		return err
	}
	if len(feeds) != 1 || len(box) != len(feeds[0].bytes) {
		return errorf(ReasonInput, nil, "%d bytes are not the size of the part of field %s that %d devices read", len(box), field, len(feeds))
	}
	copy(feeds[0].bytes, box)
	return nil
}

// of is what the devices are fed of a field.
func (n *inputs) of(field string) ([]fed, error) {
	for i := range n.fields {
		if n.fields[i].Name == field {
			return n.feeds[i], nil
		}
	}
	return nil, errorf(ReasonInput, nil, "program %s has no field %s", n.program, field)
}

// bind adds the port of a device of this process.
func (n *inputs) bind(plan *program.Plan, d *logical, port *program.Port, mem []byte) {
	b := &d.prog.Buffers[port.Buffer]
	i := slices.IndexFunc(n.fields, func(f Field) bool { return f.Name == port.Path })
	if i < 0 {
		i = len(n.fields)
		t := tensorOf(port.Path, b)
		n.fields = append(n.fields, Field{Name: port.Path, DType: t.DType, Axes: t.Axes, Shape: t.Shape})
		n.feeds = append(n.feeds, nil)
	}
	n.feeds[i] = append(n.feeds[i], fed{boxOf(plan, d, b), mem})
}

// setPort gives a port what the plan's settings come to. The plan was checked: there is
// nothing that cannot be.
func setPort(plan *program.Plan, d *logical, port *program.Port, mem []byte) {
	of := d.prog.Buffers[port.Buffer].DType
	v, err := plan.Setting(port, of)
	if err != nil {
		v = math.NaN() // which ends the run at its first step
	}
	switch of {
	case dtype.I32.String():
		elements[int32](mem)[0] = int32(v)
	case dtype.F64.String():
		elements[float64](mem)[0] = v
	default:
		elements[float32](mem)[0] = float32(v)
	}
}

// counters are the ports of all programs on all devices that the machine sets.
type counters struct{ steps, seeds []*int32 }

// elements is memory as elements; ports are aligned for any.
func elements[T any](mem []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/int(unsafe.Sizeof(zero)))
}
