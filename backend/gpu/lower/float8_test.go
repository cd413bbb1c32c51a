package lower

import (
	"math/rand"
	"testing"

	"ptc/backend/gpu/choose"
	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/nvptx"
)

// TestFloat8Products: products of floats of eight bits, of both kinds, in every order of axes, with tails, batches and
// operands that are computed: by instructions of warps and of warpgroups, and where a device has none, as bf16.
func TestFloat8Products(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	pick := func(of ...int) int { return of[r.Intn(len(of))] }
	types := []string{"f8e4m3", "f8e5m2"}
	tensors := 0
	for i := range 36 {
		o := orders[i%len(orders)]
		p := problem{m: pick(64, 70, 128), n: pick(16, 24, 64, 70), k: pick(32, 48, 70, 128), left: o[0], right: o[1],
			dtype: types[i/4%2], other: types[i/8%2], out: []string{"f32", "bf16"}[i%2], batch: pick(0, 0, 2), before: pick(0, 1, 1) == 1, after: pick(0, 1) == 1}
		want, none := "mma.sync.aligned.m16n8k32", "cvt.f32.bf16"
		switch i % 3 {
		case 0:
			p.on, p.machine = choose.GPU{FP8: true}, nvptx.Machine{FP8: true}
		case 1:
			p.on, p.machine = choose.GPU{FP8: true, Groups: true, Tensor: i%2 == 0, Clusters: i%4 < 2, Processors: 132}, nvptx.Machine{FP8: true}
			want = "wgmma.mma_async"
		case 2:
			want, none = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16", "cvt.rn.satfinite"
		}
		p.options = emu.Options{Seed: uint64(i), Late: i%2 == 0}
		x := p.launch(t)
		if x.count(want) == 0 || x.count(none) > 0 {
			t.Errorf("%s: there is no %s", p, want)
		}
		tensors += len(x.kernels[0].Maps)
		if _, err := x.run(); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	if tensors == 0 {
		t.Error("no operand is copied by a tensor map")
	}
}
