package passes

import (
	"testing"

	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/op"
)

// Shards of the gradients that microbatches add up to are where those were of blocks that
// are through: a block has no room of its own for them.
func TestShardsInPlacesOfGradients(t *testing.T) {
	s := irtest.Sizes{Layers: 12, Batch: 8, Seq: 8, Heads: 4, Head: 4, FFN: 64, Vocab: 16}
	m := lowered(t, s, mesh("dp", 2, "pp", 2), ir.Terms{shard("dp", "batch"), pipelined("1f1b", 4), zero(1, "dp")}, Options{}, nil)
	found := false
	for _, f := range m.Funcs {
		var grads, step int64
		for _, o := range f.Ops {
			if o.Run == nil || o.Task == nil || !o.Task.Once || !op.Has(o, op.Reduces) || !op.Has(o, op.Scatters) {
				continue
			}
			for _, v := range o.Args {
				grads += int64(v.Type.Bytes()+63) / 64 * 64
			}
			for _, x := range o.Spread {
				step = max(step, x.Step)
			}
		}
		if grads > 0 && step > grads*5/4 {
			t.Errorf("@%s: blocks have %d bytes each, of which %d are gradients", f.Name, step, grads)
		}
		found = found || grads > 0
	}
	if !found {
		t.Error("no gradients of blocks are scattered")
	}
}
