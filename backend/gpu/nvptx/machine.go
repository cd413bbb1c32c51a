package nvptx

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

// Machine makes entries for GPUs that have what it says.
type Machine struct {
	FP8 bool // instructions that convert and multiply floats of eight bits ("PTX ISA", cvt and mma), as sm_89 and later have
}

// Lanes is how many threads a warp has.
func (Machine) Lanes() int { return 1 << laneBits }

// Begin begins an entry: see [thread.Machine].
func (m Machine) Begin(name string, threads int) (*thread.Builder, func() (*ptx.Entry, int, error)) {
	e := &entry{out: &ptx.Entry{Name: name}, of: map[*thread.Value]ptx.Operand{}, known: []map[string]ptx.Reg{{}}}
	a := &arithmetic{entry: e, fp8: m.FP8}
	c := &control{a}
	e.Builder = kernel.Stream(a.stmt, c.branch)
	mem := &memory{arithmetic: a}
	mat := &matrices{mem}
	b := &thread.Builder{Builder: e.Builder, Control: c, Lanes: &lanes{entry: e}, Memory: mem, Copies: &copies{mem}, Barriers: &barriers{mem},
		Matrices: mat, Groups: &groups{mat}, Clusters: &clusters{mem}, Launch: thread.Launch{Threads: threads}}
	return b, func() (*ptx.Entry, int, error) { return mem.end(b.Launch) }
}

// end ends the entry.
func (b *memory) end(l thread.Launch) (*ptx.Entry, int, error) {
	b.op("ret")
	if err := b.Err(); err != nil {
		b.Fail(err)
	}
	if b.err != nil {
		return nil, 0, fmt.Errorf("kernel %s: %w", b.out.Name, b.err)
	}
	shared := max(b.shared, b.overlaid)
	b.out.Threads, b.out.Blocks, b.out.Cluster, b.out.Dynamic = l.Threads, l.Resident, l.Cluster, shared > 0
	return b.out, shared, nil
}
