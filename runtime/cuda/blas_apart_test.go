package cuda

import (
	"testing"

	"ptc/runtime/cuda/blaslt"
	"ptc/runtime/program"
)

// TestApart: the library computes nothing whose result lies in the place of what it reads, but for what is added,
// if that lies as the result does.
func TestApart(t *testing.T) {
	const size = 4 * 16 // bytes of each argument, of 4 by 4
	m := func(arg int) program.Matrices { return program.Matrices{Arg: arg, DType: "f32", Row: 4} }
	add, bias := m(2), m(3)
	k := &program.Kernel{Products: []program.Product{
		{Batch: 1, M: 4, N: 4, K: 4, Left: m(0), Right: m(1), Out: m(4), Add: &add, Bias: &bias},
		{Batch: 1, M: 4, N: 4, K: 4, Left: m(0), Right: m(1), Out: m(5)},
	}}
	for i := range 6 {
		k.Args = append(k.Args, program.Arg{Bytes: size, Write: i > 3})
	}
	for _, c := range []struct {
		name    string
		buffers [6]uint64 // of 64 bytes
		row     int64     // of what is added
		want    bool
	}{
		{"all apart", [6]uint64{0, 1, 2, 3, 4, 5}, 4, true},
		{"factors are one", [6]uint64{0, 0, 2, 3, 4, 5}, 4, true},
		{"over the left", [6]uint64{4, 1, 2, 3, 4, 5}, 4, false},
		{"over the right", [6]uint64{0, 5, 2, 3, 4, 5}, 4, false},
		{"over what is added", [6]uint64{0, 1, 4, 3, 4, 5}, 4, true},
		{"over what is added, otherwise", [6]uint64{0, 1, 4, 3, 4, 5}, 5, false},
		{"over what another adds", [6]uint64{0, 1, 5, 3, 4, 5}, 4, false},
		{"over the bias", [6]uint64{0, 1, 2, 4, 4, 5}, 4, false},
		{"results are one", [6]uint64{0, 1, 2, 3, 5, 5}, 4, false},
	} {
		add.Row = c.row
		l := &launch{kernel: k}
		for _, n := range c.buffers {
			l.buffers = append(l.buffers, 1<<20+size*n)
		}
		l.at = []blaslt.Addresses{{Add: l.address(&add), Out: l.address(&k.Products[0].Out)}, {Out: l.address(&k.Products[1].Out)}}
		if got := l.apart(); got != c.want {
			t.Errorf("%s: found %v", c.name, got)
		}
	}
	l := &launch{kernel: k, buffers: []uint64{0, 64, 128 + 32, 192 + 64, 128, 320}} // shifted by half
	l.at = []blaslt.Addresses{{Add: l.buffers[2], Out: l.buffers[4]}, {Out: l.buffers[5]}}
	if l.apart() {
		t.Error("a result is over a part of what is added")
	}
}
