package nvptx

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
)

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
