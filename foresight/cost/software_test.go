package cost

import (
	"math"
	"testing"

	"ptc/foresight/machine"
	"ptc/internal/collective"
	"ptc/ir/fusion"
)

// TestSoftware: shares of other software slow down what they name, and nothing else.
func TestSoftware(t *testing.T) {
	c := round()
	sweep := []Part{{Class: fusion.Map, Bytes: 1_000_000}}
	product := func(n int64) []Part {
		return []Part{{DType: "bf16", Flops: 2 * 1024 * 1024 * n, Bytes: 1, Product: &Product{Batch: 1, M: 1024, N: n, K: 1024}, Tile: &Tile{M: 128, N: 128, Split: 1}}}
	}
	best := New(c, Software{})
	half := New(c, Software{Sweeps: 0.5})
	if a, b := kernel(best, sweep), kernel(half, sweep); b != 2*a || a != 2_000_000 {
		t.Errorf("a sweep takes %d ps, and %d at half the rate; expected 2 us and 4 us", a, b)
	}
	if a, b := kernel(best, product(1024)), kernel(half, product(1024)); a != b {
		t.Errorf("a product takes %d ps, and %d where sweeps are slow", a, b)
	}
	if at := half.AtOnce(4_000_000); at != 2_000_000 {
		t.Errorf("a sweep of 4 us takes %d ps for many tensors at once", at)
	}
	odd := New(c, Software{Unaligned: 0.25})
	if a, b := kernel(best, product(1024)), kernel(odd, product(1024)); a != b {
		t.Errorf("an aligned product takes %d ps, and %d where unaligned ones are slow", a, b)
	}
	if a, b := kernel(best, product(1025)), kernel(odd, product(1025)); b < 3*a {
		t.Errorf("a product of 1,025 columns takes %d ps, and %d at a quarter of the rate", a, b)
	}
}

// TestHost: a host that launches each kernel takes its own time for each, for backward passes another one.
func TestHost(t *testing.T) {
	m := New(round(), Software{HostLaunch: true, HostKernel: 50e-6, HostBackward: 20e-6})
	if f, b := m.Host(false), m.Host(true); f != 50_000_000 || b != 20_000_000 {
		t.Errorf("the host takes %d and %d ps; expected 50 and 20 us", f, b)
	}
	if m = New(round(), Software{HostKernel: 50e-6}); m.Host(false) != 0 {
		t.Error("a host that launches nothing takes time")
	}
}

func kernel(m *Model, parts []Part) int64 {
	t, _ := m.Kernel(parts)
	return int64(t)
}

// TestLibrary compares products of a library on an A100 with those of cuBLAS: NVIDIA, "CUDA 11 Features Revealed" (2020), figure 6.
// The rate is that of the largest ones there, without the last wave, stores and start.
func TestLibrary(t *testing.T) {
	a, err := machine.Named("a100_80")
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Sized(8)
	if err != nil {
		t.Fatal(err)
	}
	const sustained = 297e12
	m := New(c, Software{Library: true, ProductStart: 8e-6, Products: sustained / (a.Device.Peak["bf16"].Value * a.Device.Share["bf16"].Value)})
	for _, x := range []struct {
		n    int64
		want float64 // TFLOP/s
	}{{1024, 90}, {1280, 152}, {1536, 150}, {2048, 195}, {2304, 245}, {3072, 235}, {4096, 259}, {4608, 275}, {8192, 291}} {
		p := Part{DType: "bf16", Flops: 2 * x.n * x.n * x.n, Bytes: 6 * x.n * x.n, Product: &Product{Batch: 1, M: x.n, N: x.n, K: x.n}, Tile: &Tile{M: 64, N: 64, Split: 1}}
		took, _ := m.Kernel([]Part{p})
		if got := float64(p.Flops) / (took + m.Launch()).Seconds() / 1e12; math.Abs(got/x.want-1) > 0.05 {
			t.Errorf("a product of %d is computed at %.0f TFLOP/s; cuBLAS reaches %.0f", x.n, got, x.want)
		}
	}
}

// TestSplitSums: a library shares the sums of a small result among processors where that is quicker.
func TestSplitSums(t *testing.T) {
	m := New(round(), Software{Library: true})
	long := []Part{{DType: "bf16", Product: &Product{Batch: 1, M: 256, N: 256, K: 1 << 20}, Tile: &Tile{M: 128, N: 128, Split: 1}}}
	own := New(round(), Software{})
	if a, b := kernel(m, long), kernel(own, long); a > b/4 {
		t.Errorf("a product of four tiles takes %d ps with shared sums, %d without; expected an eighth, and to add them up", a, b)
	}
}

// TestPart: parts of an exchange take as long as all of it, but for a picosecond each.
func TestPart(t *testing.T) {
	c := round()
	all := New(c, Software{}).Collective(collective.AllReduce, c.Spread(0, machine.Axis{Size: 8, Stride: 1}), 10_000_000)
	var time, latency machine.PS
	for _, n := range []int64{1_000_000, 2_500_000, 6_500_000} {
		x := all.Part(n, 10_000_000)
		time, latency = time+x.Time, latency+x.Latency
	}
	if time < all.Time || time > all.Time+3 || latency < all.Latency || latency > all.Latency+3 {
		t.Errorf("parts take %d ps, %d of them latency; the whole takes %d and %d", time, latency, all.Time, all.Latency)
	}
}
