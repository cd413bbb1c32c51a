package lower

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/choose"
	"ptc/backend/gpu/emu"
	"ptc/ir"
)

// withMaps is the arguments of a kernel with its tensor maps.
func withMaps(words []emu.Arg, maps []assign.Map) ([]emu.Arg, error) {
	out := slices.Clone(words)
	for _, m := range maps {
		x := emu.TensorMap{Type: map[ir.DType]emu.TensorType{ir.BF16: emu.BFloat16, ir.F16: emu.Float16, ir.F8E4M3: emu.Uint8, ir.F8E5M2: emu.Uint8}[m.DType], Rank: len(m.Sizes),
			Address: words[m.Arg].Word + uint64(m.Offset), Steps: [5]uint32{1, 1, 1, 1, 1},
			Swizzle: map[int]emu.Swizzle{32: emu.Swizzle32, 64: emu.Swizzle64, 128: emu.Swizzle128}[m.Swizzle]}
		for i := range m.Sizes {
			x.Sizes[i], x.Box[i] = uint64(m.Sizes[i]), uint32(m.Box[i])
		}
		for i, s := range m.Strides {
			x.Strides[i] = uint64(s)
		}
		b, err := x.Encode()
		if err != nil {
			return nil, err
		}
		out = append(out, emu.Arg{Bytes: b})
	}
	return out, nil
}

// TestNarrowProducts: fewer columns, or steps, than a matrix instruction has, by matrix instructions.
func TestNarrowProducts(t *testing.T) {
	for i, o := range orders {
		for _, p := range []problem{
			{m: 70, n: 4, k: 48, dtype: "bf16", out: "f32", before: true},
			{m: 64, n: 5, k: 40, dtype: "f16", out: "f16", after: true},
			{m: 33, n: 24, k: 4, dtype: "bf16", out: "bf16", batch: 2},
			{m: 64, n: 64, k: 7, dtype: "bf16", out: "f32", after: true},
		} {
			p.left, p.right = o[0], o[1]
			p.options = emu.Options{Seed: uint64(i), Late: i%2 == 0}
			x := p.launch(t)
			if x.count("mma.sync") == 0 {
				t.Errorf("%s: there is no matrix instruction", p)
			}
			if _, err := x.run(); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
	}
}

// TestNarrowGroups: fewer columns, or steps, than a matrix instruction of a warpgroup has, as a router's products
// have, by such instructions.
func TestNarrowGroups(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	pick := func(of ...int) int { return of[r.Intn(len(of))] }
	for i := range 24 {
		o := orders[i%len(orders)]
		p := problem{m: pick(64, 70, 128, 200), n: pick(4, 5, 7, 8, 12), k: pick(40, 48, 70, 128), left: o[0], right: o[1], dtype: []string{"bf16", "f16"}[i/4%2],
			batch: pick(0, 2), before: pick(0, 1) == 1, after: pick(0, 1) == 1, on: choose.GPU{Groups: true}}
		if i%3 == 0 {
			p.n, p.k = pick(8, 24, 64, 70), pick(4, 5, 8, 15)
		}
		p.out = []string{"f32", p.dtype}[pick(0, 1)]
		p.options = emu.Options{Seed: uint64(i), Late: i%2 == 0}
		x := p.launch(t)
		if x.count("wgmma.mma_async") == 0 {
			t.Errorf("%s: there is no matrix instruction of a warpgroup", p)
		}
		if _, err := x.run(); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// TestRaster: blocks in groups of rows, of which the last has fewer, each once.
func TestRaster(t *testing.T) {
	for _, group := range []int{1, 2, 3, 7} {
		for _, batch := range []int{0, 2} {
			p := problem{m: 75, n: 50, k: 16, batch: batch, left: "mk", right: "kn", dtype: "bf16", out: "f32", warps: 1,
				cut: fmt.Sprintf("rows=16 cols=16 over=16 grid=-1 raster=groups group=%d dot=mma(16x8x16) left=task right=task stages=2", group)}
			x := p.launch(t)
			if _, err := x.run(); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		}
	}
}
