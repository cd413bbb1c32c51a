package lower

import (
	"fmt"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

// Kernel is a launch: an entry E of a machine, and how it is started.
type Kernel[E any] struct {
	Entry  E
	Blocks int64        // of the grid
	Shared int          // bytes of dynamic shared memory
	Maps   []assign.Map // arguments behind the buffers
	// Programs are what it was lowered from, one for each section.
	Programs []*tile.Program
}

// Kernels lowers p for blocks of so many warps, a power of two: a kernel for each phase, to
// be run one after the other, with the buffers of p as arguments, in their order.
func Kernels[E any](m thread.Machine[E], p *tile.Program, warps int) ([]Kernel[E], error) {
	var out []Kernel[E]
	for i, ph := range p.Phases {
		name := p.Name
		if len(p.Phases) > 1 {
			name = fmt.Sprintf("%s_%d", p.Name, i)
		}
		k, err := phase(m, name, p, ph, warps)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// phase lowers a kernel that has nothing but a phase: its tasks are a block of threads each, or some that take tasks in
// turn, or several for a task.
func phase[E any](m thread.Machine[E], name string, p *tile.Program, ph *tile.Phase, warps int) (out Kernel[E], err error) {
	threads := layout.Threads{Lanes: m.Lanes(), Warps: warps}
	b, end := m.Begin(name, threads.Lanes*warps)
	args, of := make([]argument, len(p.Buffers)), map[*tile.Buffer][]int{}
	for i, buf := range p.Buffers {
		of[buf] = []int{i}
		args[i].Pointer = b.Param(fmt.Sprintf("b%d", i), elementwise.Elem(buf.DType))
	}
	var maps assign.Maps
	decided, err := assign.Of(p, ph, threads, of, &maps, false)
	if err != nil {
		return out, err
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
	return finish(name, end, grid, &maps)
}

// params declares the arguments that maps are.
func params(b *thread.Builder, maps *assign.Maps) []thread.Map {
	out := make([]thread.Map, len(maps.All))
	for i := range out {
		out[i] = b.ParamMap(fmt.Sprintf("m%d", i))
	}
	return out
}

// finish is the kernel of so many blocks whose entry end ends.
func finish[E any](name string, end func() (E, int, error), blocks int64, maps *assign.Maps) (out Kernel[E], err error) {
	out = Kernel[E]{Blocks: blocks, Maps: maps.All}
	if out.Entry, out.Shared, err = end(); err == nil && blocks >= 1<<31 {
		err = fmt.Errorf("kernel %s: %d tasks; a grid has fewer than 2³¹", name, blocks)
	}
	return out, err
}
