package nvptx

import (
	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

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
