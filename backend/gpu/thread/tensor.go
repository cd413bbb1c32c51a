package thread

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/kernel"
)

// mapBytes is the size of a tensor map, and mapAlign what its address is a multiple of.
const (
	mapBytes = 128
	mapAlign = 64
)

// Map is an argument that says how tiles of a tensor are copied.
type Map struct {
	name   string
	others []choice
}

// choice is another map where a condition holds.
type choice struct {
	cond *Value
	name string
}

// ParamMap declares the next argument: a tensor map.
func (b *Builder) ParamMap(name string) Map {
	b.entry.Params = append(b.entry.Params, ptx.Param{Name: name, Bytes: mapBytes, Align: mapAlign})
	return Map{name: name}
}

// Or is m, or n where cond holds.
func (m Map) Or(cond *Value, n Map) Map {
	return Map{m.name, append(append([]choice(nil), m.others...), choice{cond, n.name})}
}

// mapAddress is the generic address of m.
func (b *Builder) mapAddress(m Map) ptx.Operand {
	of := func(name string) ptx.Operand {
		return b.pure(ptx.B64, "cvta.param.u64", b.pure(ptx.B64, "mov.b64", ptx.Sym(name)))
	}
	at := of(m.name)
	for _, o := range m.others {
		at = b.pure(ptx.B64, "selp.b64", of(o.name), at, b.operand(o.cond))
	}
	return at
}

// CopyTensor starts the copy of the tile at a position, i32 values, the contiguous dimension first, by
// the threads for which only holds. Its bytes are counted by a barrier; what is outside of the
// tensor is zero.
func (b *Builder) CopyTensor(to Shared, m Map, at []*Value, barrier Shared, only *Value) {
	if len(at) < 1 || len(at) > 5 {
		b.fail(fmt.Errorf("a tile of %d dimensions", len(at)))
		return
	}
	from := ptx.Operand{Kind: ptx.IsTensor, Reg: b.mapAddress(m).Reg}
	for _, x := range at {
		from.Vec = append(from.Vec, b.inReg(x))
	}
	b.guarded(only, fmt.Sprintf("cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes", len(at)),
		ptx.At(to.at.Reg, to.plus), from, ptx.At(barrier.at.Reg, barrier.plus))
}

// NewBarriers declares n barriers in shared memory.
func (b *Builder) NewBarriers(n int) Shared { return b.NewShared(kernel.I64, n, 8) }

// InitBarrier makes a barrier of so many arrivals, by the threads for which only holds, which see to it that
// copies know it ([Builder.FenceBarriers]).
func (b *Builder) InitBarrier(s Shared, arrivals int, only *Value) {
	b.guarded(only, "mbarrier.init.shared::cta.b64", ptx.At(s.at.Reg, s.plus), ptx.Imm(int64(arrivals)))
}

// Arrive arrives at a barrier, by the threads for which only holds.
func (b *Builder) Arrive(s Shared, only *Value) {
	b.guarded(only, "mbarrier.arrive.shared::cta.b64", ptx.Sym("_"), ptx.At(s.at.Reg, s.plus))
}

// FenceBarriers is between the making of barriers and copies that count their bytes there.
func (b *Builder) FenceBarriers() { b.op("fence.mbarrier_init.release.cluster") }

// EndBarrier has the memory of a barrier free for other things.
func (b *Builder) EndBarrier(s Shared, only *Value) {
	b.guarded(only, "mbarrier.inval.shared::cta.b64", ptx.At(s.at.Reg, s.plus))
}

// Expect arrives at a barrier, whose phase is complete when so many bytes are there.
func (b *Builder) Expect(s Shared, bytes int, only *Value) {
	b.guarded(only, "mbarrier.arrive.expect_tx.shared::cta.b64", ptx.Sym("_"), ptx.At(s.at.Reg, s.plus), ptx.Imm(int64(bytes)))
}

// AwaitBarrier waits until the phase of a barrier is complete whose number has the given parity, an i32.
func (b *Builder) AwaitBarrier(s Shared, parity *Value) {
	again := b.label()
	done := ptx.R(b.reg(ptx.Pred))
	at := b.inReg(parity)
	b.place(again)
	b.op("mbarrier.try_wait.parity.shared::cta.b64", done, ptx.At(s.at.Reg, s.plus), at)
	b.entry.Body = append(b.entry.Body, ptx.Stmt{Guard: done.Reg, Not: true, Op: "bra", Args: []ptx.Operand{ptx.Sym(again)}})
}
