package lower

import (
	"fmt"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

// Kernel is a launch: an entry, and how it is started.
type Kernel struct {
	Entry  *ptx.Entry
	Blocks int64        // of the grid
	Shared int          // bytes of dynamic shared memory
	Maps   []assign.Map // arguments behind the buffers
	// Programs are what it was lowered from, one for each section.
	Programs []*tile.Program
}

// Feature is something that only some devices have.
type Feature int

// FP8: floats of eight bits are converted and multiplied by instructions (sm_89 and later).
const FP8 Feature = 1

// builder begins an entry for a device with these features.
func builder(name string, warps int, has []Feature) *thread.Builder {
	b := thread.New(name, 32*warps)
	for _, f := range has {
		if f == FP8 {
			b.FP8()
		}
	}
	return b
}

// Kernels lowers p for blocks of so many warps, a power of two: a kernel for each phase, to
// be run one after the other, with the buffers of p as arguments, in their order.
func Kernels(p *tile.Program, warps int, has ...Feature) ([]Kernel, error) {
	var out []Kernel
	for i, ph := range p.Phases {
		name := p.Name
		if len(p.Phases) > 1 {
			name = fmt.Sprintf("%s_%d", p.Name, i)
		}
		k, err := phase(name, p, ph, warps, has)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// phase lowers a kernel that has nothing but a phase: its tasks are a block of threads each, or some that take tasks in
// turn, or several for a task.
func phase(name string, p *tile.Program, ph *tile.Phase, warps int, has []Feature) (Kernel, error) {
	b := builder(name, warps, has)
	args, of := make([]argument, len(p.Buffers)), map[*tile.Buffer][]int{}
	for i, buf := range p.Buffers {
		of[buf] = []int{i}
		args[i].Pointer = b.Param(fmt.Sprintf("b%d", i), elementwise.Elem(buf.DType))
	}
	var maps assign.Maps
	decided, err := assign.Of(p, ph, layout.Threads{Lanes: b.Lanes(), Warps: warps}, of, &maps, false)
	if err != nil {
		return Kernel{}, err
	}
	t := begin(b, decided, args, params(b, &maps))
	grid := assign.Tasks(ph)
	switch {
	case decided.Special != nil:
		grid = (&special{pipeline: pipelined(t, decided.Special)}).run()
	case decided.Cluster != nil:
		grid = (&clustered{t, decided.Cluster}).run()
	default:
		t.locate(decided, b.Special(thread.Block))
		t.block(ph.Body)
	}
	return finish(b, grid, &maps)
}

// params declares the arguments that maps are.
func params(b *thread.Builder, maps *assign.Maps) []thread.Map {
	out := make([]thread.Map, len(maps.All))
	for i := range out {
		out[i] = b.ParamMap(fmt.Sprintf("m%d", i))
	}
	return out
}

// finish is the kernel that b has made, for so many blocks.
func finish(b *thread.Builder, blocks int64, maps *assign.Maps) (Kernel, error) {
	e, shared, err := b.Finish()
	if err != nil {
		return Kernel{}, err
	}
	if blocks >= 1<<31 {
		return Kernel{}, fmt.Errorf("kernel %s: %d tasks; a grid has fewer than 2³¹", e.Name, blocks)
	}
	return Kernel{Entry: e, Blocks: blocks, Shared: shared, Maps: maps.All}, nil
}
