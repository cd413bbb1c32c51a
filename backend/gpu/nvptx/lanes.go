package nvptx

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

// laneBits is how many bits the number of a lane has.
const laneBits = 5

// lanes are the threads of a block.
type lanes struct {
	*entry
	party int // threads that wait for each other; 0 is all
}

// places are the special registers.
var places = map[thread.Place]string{thread.Thread: "%tid.x", thread.Lane: "%laneid", thread.Block: "%ctaid.x", thread.Rank: "%cluster_ctarank", thread.Cluster: "%clusterid.x"}

func (b *lanes) Special(p thread.Place) *thread.Value {
	if p == thread.Warp {
		return b.LShr(b.Special(thread.Thread), b.whole(laneBits))
	}
	return b.value(kernel.I32, b.pure(ptx.B32, "mov.u32", ptx.Sym(places[p])))
}

func (b *lanes) Sync() {
	if b.party > 0 {
		b.op("bar.sync", ptx.Imm(1), ptx.Imm(int64(b.party)))
		return
	}
	b.op("bar.sync", ptx.Imm(0))
}

func (b *lanes) Among(threads int, body func()) {
	before := b.party
	b.party = threads
	body()
	b.party = before
}

func (b *lanes) Exchange(v *thread.Value, mask int64) *thread.Value {
	if class(v.Type.Elem) != ptx.B32 {
		b.Fail(fmt.Errorf("lanes exchange 32 bits, not %s", v.Type))
		return v
	}
	to := ptx.R(b.reg(ptx.B32))
	b.op("shfl.sync.bfly.b32", to, b.inReg(v), ptx.Imm(mask), ptx.Imm(1<<laneBits-1), ptx.Imm(-1))
	return b.value(v.Type.Elem, to)
}
