package nvptx

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

// copies run by themselves.
type copies struct{ *memory }

func (b *copies) CopyAsync(to thread.Shared, from thread.Pointer, a thread.Access, only *thread.Value) {
	bytes := int64(max(1, a.N) * from.Elem.Bytes())
	name := "cp.async.ca.shared.global"
	switch {
	case bytes == 16: // past the first cache, which has no use for it
		name = "cp.async.cg.shared.global.L2::128B"
	case bytes != 4 && bytes != 8 || to.Elem != from.Elem:
		b.Fail(fmt.Errorf("a copy of %d bytes of %s to %s", bytes, from.Elem, to.Elem))
		return
	}
	args := []ptx.Operand{b.local(to), b.global(from), ptx.Imm(bytes)}
	have := ptx.Imm(bytes)
	if a.Have != nil {
		have = b.product(kernel.I32, b.operand(a.Have), ptx.Imm(int64(from.Elem.Bytes())))
	}
	switch {
	case a.If != nil:
		args = append(args, b.pure(ptx.B32, "selp.b32", have, ptx.Imm(0), b.operand(a.If)))
	case a.Have != nil:
		args = append(args, have)
	}
	b.guarded(only, name, args...)
}

func (b *copies) Commit() { b.op("cp.async.commit_group") }

func (b *copies) Await(n int) { b.op("cp.async.wait_group", ptx.Imm(int64(n))) }

// mapBytes is the size of a tensor map, and mapAlign what its address is a multiple of.
const (
	mapBytes = 128
	mapAlign = 64
)

// barriers are those in shared memory, and copies of tensors.
type barriers struct{ *memory }

func (b *barriers) ParamMap(name string) thread.Map {
	b.out.Params = append(b.out.Params, ptx.Param{Name: name, Bytes: mapBytes, Align: mapAlign})
	return thread.Map{Name: name}
}

// mapAddress is the generic address of m.
func (b *barriers) mapAddress(m thread.Map) ptx.Operand {
	of := func(name string) ptx.Operand {
		return b.pure(ptx.B64, "cvta.param.u64", b.pure(ptx.B64, "mov.b64", ptx.Sym(name)))
	}
	at := of(m.Name)
	for _, o := range m.Others {
		at = b.pure(ptx.B64, "selp.b64", of(o.Name), at, b.operand(o.Cond))
	}
	return at
}

func (b *barriers) CopyTensor(to thread.Shared, m thread.Map, at []*thread.Value, barrier thread.Shared, only *thread.Value) {
	if len(at) < 1 || len(at) > 5 {
		b.Fail(fmt.Errorf("a tile of %d dimensions", len(at)))
		return
	}
	from := ptx.Operand{Kind: ptx.IsTensor, Reg: b.mapAddress(m).Reg}
	for _, x := range at {
		from.Vec = append(from.Vec, b.inReg(x))
	}
	b.guarded(only, fmt.Sprintf("cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes", len(at)),
		b.local(to), from, b.local(barrier))
}

func (b *barriers) InitBarrier(s thread.Shared, arrivals int, only *thread.Value) {
	b.guarded(only, "mbarrier.init.shared::cta.b64", b.local(s), ptx.Imm(int64(arrivals)))
}

func (b *barriers) Arrive(s thread.Shared, only *thread.Value) {
	b.guarded(only, "mbarrier.arrive.shared::cta.b64", ptx.Sym("_"), b.local(s))
}

func (b *barriers) FenceBarriers() { b.op("fence.mbarrier_init.release.cluster") }

func (b *barriers) EndBarrier(s thread.Shared, only *thread.Value) {
	b.guarded(only, "mbarrier.inval.shared::cta.b64", b.local(s))
}

func (b *barriers) Expect(s thread.Shared, bytes int, only *thread.Value) {
	b.guarded(only, "mbarrier.arrive.expect_tx.shared::cta.b64", ptx.Sym("_"), b.local(s), ptx.Imm(int64(bytes)))
}

func (b *barriers) AwaitBarrier(s thread.Shared, parity *thread.Value) {
	again := b.label()
	done := ptx.R(b.reg(ptx.Pred))
	at := b.inReg(parity)
	b.place(again)
	b.op("mbarrier.try_wait.parity.shared::cta.b64", done, b.local(s), at)
	b.out.Body = append(b.out.Body, ptx.Stmt{Guard: done.Reg, Not: true, Op: "bra", Args: []ptx.Operand{ptx.Sym(again)}})
}

// clusters are blocks that reach each other's shared memory.
type clusters struct{ *memory }

func (b *clusters) SyncCluster() {
	b.op("barrier.cluster.arrive.release.aligned")
	b.op("barrier.cluster.wait.acquire.aligned")
}

func (b *clusters) In(s thread.Shared, rank *thread.Value) thread.Shared {
	s.Base = b.value(kernel.I32, b.pure(ptx.B32, "mapa.shared::cluster.u32", b.operand(s.Base), b.inReg(rank)))
	return s
}

func (b *clusters) LoadCluster(s thread.Shared, a thread.Access) []*thread.Value {
	return b.load("ld.shared::cluster", s.Elem, b.local(s), a)
}
