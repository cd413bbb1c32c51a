package cost

import (
	"testing"

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

// TestHost: a host that launches each kernel takes its own time for each, for backward passes another one, and waits for others.
func TestHost(t *testing.T) {
	m := New(round(), Software{HostLaunch: true, HostKernel: 50e-6, HostBackward: 20e-6, HostMember: 1e-6})
	if f, b, x := m.Host(false), m.Host(true), m.Meeting(4); f != 50_000_000 || b != 20_000_000 || x != 6_000_000 {
		t.Errorf("the host takes %d, %d and %d ps; expected 50, 20 and 6 us", f, b, x)
	}
	if m = New(round(), Software{HostKernel: 50e-6, HostMember: 1e-6}); m.Host(false) != 0 || m.Meeting(4) != 0 {
		t.Error("a host that launches nothing takes time")
	}
}

func kernel(m *Model, parts []Part) int64 {
	t, _ := m.Kernel(parts)
	return int64(t)
}
