package host

import (
	"slices"
	"testing"

	"ptc/runtime/program"
)

func TestAlone(t *testing.T) {
	plan := &program.Plan{Kernels: []program.Kernel{
		{Flops: 1000, Bytes: 4000},            // a scalar's worth
		{Flops: 100 << 20, Bytes: 3 << 20},    // some milliseconds of a product
		{Flops: 1 << 20, Bytes: 64 << 10},     // some microseconds
		{Flops: 16 << 20, Bytes: 256 << 20},   // more than caches hold
		{Flops: 256 << 10, Bytes: 1 << 20},    // in the cache of who wrote it
		{Flops: 1 << 40, Bytes: 1, Tasks: 12}, // forever
		{Flops: 128 << 10},
	}}
	const with = 100 // launched with the one before
	stop := &program.Comm{}
	prog := func(kernels ...int) *program.Program {
		p := &program.Program{}
		for _, k := range kernels {
			in := program.Instr{Kernel: k}
			if k < 0 {
				in = program.Instr{Comm: stop}
			}
			if k == with {
				in = program.Instr{Kernel: p.Instrs[len(p.Instrs)-1].Kernel, With: true}
			}
			p.Instrs = append(p.Instrs, in)
		}
		return p
	}
	for _, c := range []struct {
		kernels []int
		threads int
		want    []bool
	}{
		{[]int{0, 1, 0}, 2, []bool{true, false, true}},
		{[]int{0, 2, 0, 2}, 2, []bool{true, true, true, true}}, // some gain, less than waking
		{[]int{0, 2, 0, 2, 1}, 2, []bool{true, false, true, false, false}},
		{[]int{2, 2, -1, 1, 2, -1, 0}, 2, []bool{true, true, false, false, false, false, true}},
		{[]int{3, 4}, 2, []bool{false, true}},
		{[]int{1, 0, with, with, 4, with, with}, 2, []bool{false, true, true, true, false, false, false}}, // together more than a cache holds
		{[]int{1, 6, 6, with, with}, 2, []bool{false, true, false, false, false}},                         // three together are worth it
		{[]int{5}, 1, []bool{true}},
		{nil, 2, []bool{}},
	} {
		if got := alone(plan, prog(c.kernels...), c.threads); !slices.Equal(got, c.want) {
			t.Errorf("kernels %v, %d threads: %v, want %v", c.kernels, c.threads, got, c.want)
		}
	}
}
