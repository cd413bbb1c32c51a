package lower

import (
	"fmt"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/tile/schedule"
	"ptc/ir/fusion"
)

// gemmOf is a product of sizes, of which forms says what is transposed as bench/gemm does.
func gemmOf(t *testing.T, m, n, k int, form string) *fusion.Kernel {
	t.Helper()
	left, right := fmt.Sprintf("m=%d, k=%d", m, k), fmt.Sprintf("k=%d, n=%d", k, n)
	if form[0] == 'T' {
		left = fmt.Sprintf("k=%d, m=%d", k, m)
	}
	if form[1] == 'T' {
		right = fmt.Sprintf("n=%d, k=%d", n, k)
	}
	f := parse(t, fmt.Sprintf("func @k class=kernel kind=gemm\n  arg %%0 : f32[%s] in\n  arg %%1 : f32[%s] in\n  %%2 : f32[m=%d, n=%d] = dot %%0, %%1 out=(m, n) over=(k)\n  result %%2 out\nend\n", left, right, m, n))
	out, err := fusion.Analyze(f)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestNumberOfParts: few results of long sums are in parts, others in one; what is given
// counts more than the estimates.
func TestNumberOfParts(t *testing.T) {
	m := kernel.Machine{VectorBits: 512, Registers: 32, FMA: true, Masked: true, L1: 32 << 10, L2: 1 << 20}
	for _, c := range []struct {
		m, n, k int
		form    string
		parts   bool
	}{
		{64, 64, 4096, "NN", true}, {64, 64, 4096, "TN", true}, {32, 32, 8192, "TN", true},
		{64, 64, 4093, "TN", false}, // has no equal parts
		{64, 64, 64, "NN", false}, {64, 64, 256, "TN", false}, {512, 512, 512, "NN", false}, {1024, 1024, 1024, "TN", false},
		{1024, 768, 3072, "NT", false}, {768, 3072, 1024, "TN", false}, {1024, 768, 50256, "NN", false}, {1, 768, 3072, "NT", false}, {8, 768, 3072, "NN", false},
	} {
		k := gemmOf(t, c.m, c.n, c.k, c.form)
		n := Parts(k, m, nil)
		if (n > 1) != c.parts || int64(c.k)%n != 0 {
			t.Errorf("%dx%dx%d %s: found %d parts", c.m, c.n, c.k, c.form, n)
		}
		given := schedule.NewTable("")
		given.Set(fusion.Key(k.F), schedule.Schedule{Split: 3 - min(n, 2)}, "")
		if got := Parts(k, m, given); got != 3-min(n, 2) {
			t.Errorf("%dx%dx%d %s: found %d parts where %d are given", c.m, c.n, c.k, c.form, got, 3-min(n, 2))
		}
	}
}

// TestChoicesOfParts: products that might gain from parts have such schedules to measure,
// and those that are parts of another one do not.
func TestChoicesOfParts(t *testing.T) {
	k := gemmOf(t, 128, 128, 4096, "TN")
	splits := func(k *fusion.Kernel) (n int) {
		list, err := Choices(k, machines[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			if s.Split > 1 {
				n++
			}
		}
		return n
	}
	if n := splits(k); n != 2 {
		t.Errorf("found %d schedules in parts; expected 2", n)
	}
	p, err := fusion.InParts(k.F, func(*fusion.Kernel) int64 { return 2 })
	if err != nil {
		t.Fatal(err)
	}
	p.Products.Name = "parts"
	products, err := fusion.Analyze(p.Products)
	if err != nil {
		t.Fatal(err)
	}
	if n := splits(products); n != 0 {
		t.Errorf("found %d schedules that cut parts in parts; expected none", n)
	}
}
