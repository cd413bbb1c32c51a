package lower

import (
	"fmt"
	"math/rand"
	"testing"

	"ptc/backend/gpu/emu"
)

// specials are products of specialized warps whose operands tensor maps copy.
func specials(r *rand.Rand, n int) []problem {
	pick := func(of ...int) int { return of[r.Intn(len(of))] }
	var out []problem
	for i := range n {
		o := orders[i%len(orders)]
		p := problem{m: pick(64, 128, 136, 200), n: pick(64, 72, 128), k: pick(64, 136, 264), left: o[0], right: o[1], dtype: []string{"bf16", "f16"}[r.Intn(2)],
			batch: pick(0, 0, 2), after: pick(0, 1) == 1, warps: pick(4, 8)}
		p.out = []string{"f32", p.dtype}[pick(0, 1)]
		raster := ""
		if pick(0, 1) == 1 {
			raster = "raster=groups group=2 "
		}
		p.cut = fmt.Sprintf("rows=%d cols=%d over=%d grid=-1 %sdot=wgmma(64x64x16) left=task right=task stages=%d producers=1 persistent=%d", pick(64, 128), pick(32, 64),
			pick(16, 32, 64), raster, pick(3, 4, 5), pick(0, 1, 2, 3))
		p.options = emu.Options{Seed: uint64(pick(0, i+1)), Late: pick(0, 1) == 1}
		out = append(out, p)
	}
	return out
}

// TestSpecialized: tails along every axis, batches, rasters, fewer and more blocks than tasks, copies and products that
// end late or at any time.
func TestSpecialized(t *testing.T) {
	for _, p := range specials(rand.New(rand.NewSource(3)), 40) {
		x := p.launch(t)
		if x.count("mbarrier.arrive.shared::cta") == 0 {
			t.Errorf("%s: warps are not specialized", p)
		}
		if _, err := x.run(); err != nil {
			t.Fatalf("%s: %v\n%s", p, err, p.text())
		}
	}
}

// TestClusters: blocks of a cluster share tasks, with matrix instructions of warpgroups and of warps, and without.
func TestClusters(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	pick := func(of ...int) int { return of[r.Intn(len(of))] }
	for i := range 40 {
		o := orders[i%len(orders)]
		p := problem{m: pick(64, 100), n: pick(24, 64, 72), k: pick(128, 200, 300), left: o[0], right: o[1], batch: pick(0, 0, 2),
			before: pick(0, 1) == 1, after: pick(0, 1) == 1, dtype: []string{"bf16", "f16", "f32"}[r.Intn(3)], warps: pick(4, 8)}
		p.out = []string{"f32", p.dtype}[pick(0, 1)]
		dot := []string{" dot=wgmma(64x64x16)", " dot=mma(16x8x16)", ""}[pick(0, 0, 1, 2)]
		p.cut = fmt.Sprintf("rows=64 cols=%d over=16 grid=-1%s left=%s right=task stages=%d cluster=%d", pick(16, 32, 64), dot, []string{"none", "task"}[pick(0, 1)], pick(1, 2, 3, 4), pick(2, 4, 8))
		p.options = emu.Options{Seed: uint64(pick(0, i+1)), Late: pick(0, 1) == 1}
		x := p.launch(t)
		if x.count("barrier.cluster") == 0 {
			t.Errorf("%s: there is no cluster", p)
		}
		if _, err := x.run(); err != nil {
			t.Fatalf("%s: %v\n%s", p, err, p.text())
		}
	}
}
