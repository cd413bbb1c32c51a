package lower

import (
	"math/rand"
	"strings"
	"testing"

	"ptc/backend/gpu/choose"
	"ptc/backend/gpu/emu"
	"ptc/ir"
	"ptc/ir/fusion"
)

// pitched is f with rows of arguments and results that are padded, to multiples of 16 bytes or by any number of
// elements; nil where it is no kernel then.
func pitched(f *ir.Func, r *rand.Rand) *fusion.Kernel {
	f = f.Clone()
	pads := map[int]int{} // alike where elements are: one result may be over an argument
	pad := func(v *ir.Value) {
		t := &v.Type
		if t.Rank() < 2 {
			return
		}
		row := t.Axes[t.Rank()-1].Size
		if _, known := pads[row]; !known {
			pads[row] = r.Intn(3) * r.Intn(5)
		}
		if t.Pad = pads[row]; t.Pad == 0 {
			each := 16 / t.DType.Size()
			t.Pad = (row+each-1)/each*each - row
		}
	}
	for _, a := range f.Args {
		if a.Path != fusion.Coordinates {
			pad(a.Value)
		}
	}
	for _, x := range f.Results {
		pad(x.Value)
	}
	k, err := fusion.Analyze(f)
	if err != nil {
		return nil
	}
	return k
}

// TestPaddedRows: kernels of all classes whose arguments and results have padding, which is not a number,
// give what they give without.
func TestPaddedRows(t *testing.T) {
	m := kernels(t)
	count := map[fusion.Class]int{}
	for i, f := range m.Funcs {
		whole, err := fusion.Analyze(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range whole.Apart() {
			if wide(k.F) {
				continue
			}
			p := pitched(k.F, rand.New(rand.NewSource(int64(i))))
			if p == nil || p.Class != k.Class {
				continue
			}
			count[k.Class]++
			check(t, p, int64(i))
			if t.Failed() {
				t.Fatal(f.Name)
			}
		}
	}
	for _, class := range classes {
		if count[class] < 2 {
			t.Errorf("%d kernels of class %s", count[class], class)
		}
	}
}

// TestPaddedProducts: products along rows and columns of odd length, which are padded: copies are of 16 bytes, or by
// tensor maps, and nothing is loaded two bytes at a time.
func TestPaddedProducts(t *testing.T) {
	const mma = "rows=64 cols=64 over=32 grid=-1 dot=mma(16x8x16) left=task right=task stages=3"
	const group = "rows=64 cols=64 over=64 grid=-1 dot=wgmma(64x64x16) left=task right=task stages=3"
	for i, c := range []struct {
		problem
		instruction string
	}{
		{problem{m: 64, n: 80, k: 77, left: "mk", right: "kn", dtype: "bf16", out: "f32", cut: mma, warps: 4}, "cp.async.cg"},     // the gradient of activations
		{problem{m: 77, n: 80, k: 96, left: "km", right: "kn", dtype: "bf16", out: "f32", cut: mma, warps: 4}, "cp.async.cg"},     // that of a table
		{problem{m: 64, n: 77, k: 96, left: "mk", right: "nk", dtype: "bf16", out: "bf16", cut: mma, warps: 4}, "cp.async.cg"},    // logits
		{problem{m: 64, n: 77, k: 77, left: "mk", right: "nk", dtype: "f16", out: "f16", cut: mma, warps: 4, after: true}, "cp."}, // all of them
		{problem{m: 65, n: 77, k: 45, left: "mk", right: "kn", dtype: "f32", out: "f32", cut: plainCut, warps: 8, after: true}, "cp.async"},
		{problem{m: 64, n: 80, k: 77, left: "mk", right: "kn", dtype: "bf16", out: "f32", cut: group, warps: 4}, "cp.async.bulk.tensor"},
		{problem{m: 77, n: 80, k: 96, left: "km", right: "kn", dtype: "bf16", out: "f32", cut: group, warps: 4}, "cp.async.bulk.tensor"},
		{problem{m: 64, n: 77, k: 96, left: "mk", right: "nk", dtype: "bf16", out: "bf16", cut: group, warps: 4}, "cp.async.bulk.tensor"},
		{problem{m: 130, n: 77, k: 133, left: "mk", right: "kn", dtype: "bf16", out: "bf16", after: true, on: choose.GPU{Groups: true, Tensor: true, Shared: 227 << 10, Processors: 132}}, "cp.async"},
	} {
		for seed := range uint64(3) {
			p := c.problem
			p.pitch, p.options = true, emu.Options{Seed: seed, Late: seed == 1}
			x := p.launch(t)
			if x.count(c.instruction) == 0 {
				t.Errorf("%d: %s: there is no %s", i, p, c.instruction)
			}
			for _, narrow := range []string{"ld.global.b16", "st.global.b16"} {
				if n := x.count(narrow); n > 0 {
					t.Errorf("%d: %s: %d of %s", i, p, n, narrow)
				}
			}
			if _, err := x.run(); err != nil {
				t.Errorf("%d: %s: %v\n%s", i, p, err, p.text())
			}
		}
	}
}

// TestPaddedSpecialized: specialized warps copy rows of odd length, and store such.
func TestPaddedSpecialized(t *testing.T) {
	for i, p := range specials(rand.New(rand.NewSource(9)), 12) {
		p.m, p.n, p.k, p.pitch = p.m-i%2, p.n-1, p.k-3, true
		x := p.launch(t)
		if x.count("mbarrier.arrive.shared::cta") == 0 {
			t.Errorf("%s: warps are not specialized", p)
		}
		if _, err := x.run(); err != nil {
			t.Fatalf("%s: %v\n%s", p, err, ir.PrintFunc(x.f))
		}
	}
}

// TestPaddedProductsOfAllSizes: as TestProductsOfAllSizes, with rows padded to 16 bytes.
func TestPaddedProductsOfAllSizes(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	pick := func(of ...int) int { return of[r.Intn(len(of))] }
	padded := 0
	for i := range 80 {
		o := orders[r.Intn(len(orders))]
		p := problem{left: o[0], right: o[1], pitch: true,
			m: pick(5, 16, 17, 33, 64, 71), n: pick(5, 9, 24, 43, 66), k: pick(7, 17, 36, 51, 65),
			batch: pick(0, 0, 2), before: pick(0, 1) == 1, after: pick(0, 1) == 1,
			dtype: []string{"bf16", "f16", "f32"}[r.Intn(3)], warps: pick(1, 2, 4, 8)}
		p.anyCut(pick, i)
		x := p.launch(t)
		if strings.Contains(ir.PrintFunc(x.f), "+") {
			padded++
		}
		if _, err := x.run(); err != nil {
			t.Fatalf("%s: %v\n%s", p, err, ir.PrintFunc(x.f))
		}
	}
	if padded < 60 {
		t.Errorf("%d products with padding", padded)
	}
}
