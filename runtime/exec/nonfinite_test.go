package exec

import (
	"encoding/binary"
	"testing"

	"ptc/runtime/program"
)

func TestCountNonFinite(t *testing.T) {
	for dtype, bits := range map[string][3]uint64{ // NaN, infinite, finite
		"f64": {0x7ff8 << 48, 0xfff0 << 48, 0x7fef << 48}, "f32": {0xffc00001, 0x7f800000, 0x7f7fffff},
		"f16": {0x7c01, 0xfc00, 0x7bff}, "bf16": {0xff81, 0x7f80, 0x7f7f}, "i32": {0x7fc00000, 0x7f800000, 0},
	} {
		var mem []byte
		for i, b := range bits {
			for range i + 1 { // one NaN, two infinite
				mem = append(mem, binary.LittleEndian.AppendUint64(nil, b)[:program.DTypeSize(dtype)]...)
			}
		}
		nan, inf := countNonFinite(dtype, mem)
		if want := dtype != "i32"; (nan == 1 && inf == 2) != want || !want && nan+inf != 0 {
			t.Errorf("%s: %d NaN, %d infinite", dtype, nan, inf)
		}
	}
}

// TestFirstIsTheCause: of what is not finite, the first that the loss comes from,
// also where memory is used again.
func TestFirstIsTheCause(t *testing.T) {
	buffers := make([]program.Buffer, 4)
	for i := range buffers {
		buffers[i] = program.Buffer{Offset: int64(64 * i), Bytes: 64, DType: "f32", Axes: []program.Axis{{Name: "a", Size: 16, Global: 16}}}
	}
	d := &logical{prog: &program.Device{Buffers: buffers, Ports: []program.Port{{Program: "step", Role: program.RoleLoss, Buffer: 3}}}}
	s := newSearch(d, &Program{name: "step"})
	node := func(buffer, instr int, reads ...int) int {
		s.put(buffer, 64, len(s.nodes))
		s.nodes, s.from = append(s.nodes, NonFinite{Instr: instr}), append(s.from, reads)
		return len(s.nodes) - 1
	}
	node(0, 0)          // masked scores, which nothing that is not finite reads
	cause := node(1, 1) // the cause
	next := node(2, 2, cause)
	s.put(1, 64, -1) // something finite in the cause's place
	node(0, 4)       // infinite again, and again for nothing
	if n := s.first(); n != nil {
		t.Errorf("before the loss is computed, the cause is %+v", n)
	}
	node(3, 5, next)
	if n := s.first(); n == nil || n.Instr != 1 {
		t.Errorf("the cause is %+v", n)
	}
	s.put(3, 32, -1) // half of it is overwritten
	runs := 0
	s.bytes("").Each(0, 256, func(int64, int64, int) bool { runs++; return true })
	if n := s.first(); n == nil || n.Instr != 1 || runs != 3 {
		t.Errorf("the cause is %+v, of %d runs", n, runs)
	}
	s.put(3, 64, -1)
	if n := s.first(); n != nil {
		t.Errorf("with a finite loss, the cause is %+v", n)
	}
}

// TestPaddingIsNoNumber: what pads rows may be anything, and the last row is looked at.
func TestPaddingIsNoNumber(t *testing.T) {
	nan := binary.LittleEndian.AppendUint32(nil, 0x7fc00000)
	b := program.Buffer{Bytes: 48, DType: "f32", Axes: []program.Axis{{Name: "a", Size: 2, Global: 2}, {Name: "b", Size: 4, Global: 4}}, Pad: 2}
	s := newSearch(&logical{prog: &program.Device{Buffers: []program.Buffer{b}}}, &Program{name: "step"})
	mem := make([]byte, b.Size())
	for _, at := range []int{4, 5, 10, 11} {
		copy(mem[4*at:], nan)
	}
	if s.note(0, mem, NonFinite{}, nil); len(s.nodes) != 0 {
		t.Errorf("found %+v", s.nodes)
	}
	copy(mem[4*9:], nan) // the last element
	if s.note(0, mem, NonFinite{}, nil); len(s.nodes) != 1 || s.nodes[0].NaN != 1 || s.nodes[0].Of != 8 {
		t.Errorf("found %+v; expected one NaN of 8", s.nodes)
	}
}
