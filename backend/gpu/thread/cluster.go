package thread

import "ptc/backend/gpu/ptx"

// SyncCluster waits until all threads of the cluster are here; each sees then what the others wrote.
func (b *Builder) SyncCluster() {
	b.op("barrier.cluster.arrive.release.aligned")
	b.op("barrier.cluster.wait.acquire.aligned")
}

// In is s in the block of the cluster that has a rank, an i32, from where [Builder.LoadCluster] reads.
func (b *Builder) In(s Shared, rank *Value) Shared {
	s.at = b.pure(ptx.B32, "mapa.shared::cluster.u32", s.at, b.inReg(rank))
	return s
}

// LoadCluster reads from shared memory of a block of the cluster.
func (b *Builder) LoadCluster(s Shared, a Access) []*Value {
	return b.load("ld.shared::cluster", s.Elem, ptx.At(s.at.Reg, s.plus), a)
}
