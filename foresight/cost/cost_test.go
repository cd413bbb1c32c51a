package cost

import (
	"math/rand/v2"
	"testing"

	"ptc/foresight/machine"
	"ptc/internal/collective"
)

func given(v float64) machine.Sourced { return machine.Sourced{Value: v, Source: "test"} }

func each(v float64) map[string]machine.Sourced {
	return map[string]machine.Sourced{"simple": given(v)}
}

// round is a machine of round numbers: nodes of 8 with links of 10 GB/s, between them 1 GB/s for each device.
func round() *machine.Cluster {
	return &machine.Cluster{Sizes: []int{8, 4}, Machine: &machine.Machine{
		Name: "round", Device: machine.Device{
			Target: "cuda:sm_90a", Processors: 100, Peak: map[string]machine.Sourced{"bf16": given(100e12)}, Share: map[string]machine.Sourced{"bf16": given(0.5)},
			Vector: map[string]machine.Sourced{"f32": given(1e12)}, Bandwidth: given(1e12), MemoryShare: given(0.5), CacheRate: given(1e15),
			Launch: given(2e-6), Start: each(1e-6), Occupies: given(0),
		},
		Host: machine.Host{Devices: 8, Link: given(20e9), LinkShare: given(0.5), Disk: given(8e9)},
		Levels: []machine.Level{
			{Name: "node", Link: given(10e9), Share: each(1), Latency: each(1e-6), Oversubscription: given(1)},
			{Name: "fabric", Link: given(1e9), Share: each(1), Latency: each(10e-6), Oversubscription: given(1)},
		},
	}}
}

// TestExchanges: exchanges take what the closed forms of their algorithms say, to the picosecond.
func TestExchanges(t *testing.T) {
	const us = machine.PS(1_000_000)
	c := round()
	for _, x := range []struct {
		kind   string
		axis   machine.Axis
		bytes  int64
		by     string
		want   machine.PS
		reason string
	}{
		// Within a node a ring of 8 passes 7/8 of the tensor twice, in 14 steps.
		{collective.AllReduce, machine.Axis{Size: 8, Stride: 1}, 80_000_000, "ring simple", us + 14*us + 14_000*us, "2·7/8·80 MB at 10 GB/s"},
		{collective.ReduceScatter, machine.Axis{Size: 8, Stride: 1}, 80_000_000, "ring simple", us + 7*us + 7_000*us, "7/8·80 MB"},
		{collective.AllGather, machine.Axis{Size: 8, Stride: 1}, 80_000_000, "ring simple", us + 7*us + 7_000*us, "7/8·80 MB"},
		{collective.AllToAll, machine.Axis{Size: 8, Stride: 1}, 70_000_000, "direct simple", us + us + 7_000*us, "70 MB leave"},
		// Few bytes go by a tree, of 3 steps up and 3 down.
		{collective.AllReduce, machine.Axis{Size: 8, Stride: 1}, 8, "tree simple", us + 6*us + 1_600, "16 bytes"},
		// All 32 devices: each node's 8 devices share what leaves it.
		{collective.AllReduce, machine.Axis{Size: 32, Stride: 1}, 320_000_000, "ring simple", us + 2*(28*us+4*10*us-10*us) + 77_500*us, "2·31/32·320 MB over 8 links of 1 GB/s"},
		// One device of each node.
		{collective.ReduceScatter, machine.Axis{Size: 4, Stride: 8}, 4_000_000, "ring simple", us + 3*10*us + 3_000*us, "3/4·4 MB at 1 GB/s"},
	} {
		got := New(c, Software{}).Collective(x.kind, c.Spread(0, x.axis), x.bytes)
		if got.Time != x.want || got.By != x.by {
			t.Errorf("%s of %d bytes over %+v takes %d ps by %s, expected %d by %s (%s)", x.kind, x.bytes, x.axis, got.Time, got.By, x.want, x.by, x.reason)
		}
	}
	if got := New(c, Software{}).Message(0, 9, 1_000_000); got.Time != us+10*us+1_000*us {
		t.Errorf("a message between nodes takes %d ps", got.Time)
	}
	if got := New(c, Software{}).Message(3, 3, 1_000_000); got.Time != 0 {
		t.Errorf("a message to itself takes %d ps", got.Time)
	}
	for _, disk := range []bool{false, true} {
		want := 100 * us // 1 MB at 10 GB/s
		if disk {
			want = 1_000 * us // at an eighth of 8 GB/s
		}
		if got := New(c, Software{}).Copy(1_000_000, disk); got != want {
			t.Errorf("a copy takes %d ps, expected %d (disk: %v)", got, want, disk)
		}
	}
}

// TestOversubscription: where all devices of a node send, they share its uplinks; one alone has its whole link.
func TestOversubscription(t *testing.T) {
	c := round()
	c.Levels[1].Oversubscription = given(4)
	m := New(c, Software{})
	all := m.Collective(collective.ReduceScatter, c.Spread(0, machine.Axis{Size: 4, Stride: 8}), 4_000_000)
	if all.Use[1] != 12_000_000_000 {
		t.Errorf("eight groups: the link is busy for %d ps, expected 12 ms", all.Use[1])
	}
	if k := m.protocols[0].links[1]; k.rate(1, 8) != 1e9 || k.rate(2, 8) != 1e9 || k.rate(8, 8) != 0.25e9 {
		t.Errorf("rates of 1, 2 and 8 senders: %d, %d, %d", k.rate(1, 8), k.rate(2, 8), k.rate(8, 8))
	}
}

// TestSwitchesThatReduce: an all-reduce through a switch that adds up sends its operand once.
func TestSwitchesThatReduce(t *testing.T) {
	c := round()
	c.Levels[0].Reduces = true
	got := New(c, Software{}).Collective(collective.AllReduce, c.Spread(0, machine.Axis{Size: 8, Stride: 1}), 80_000_000)
	if got.Use[0] != 8_000_000_000 {
		t.Errorf("the link is busy for %d ps, expected 8 ms", got.Use[0])
	}
}

// TestKernels: kernels take what their tiles and waves, bytes and arithmetic say.
func TestKernels(t *testing.T) {
	m := New(round(), Software{})
	product := func(mm, n, k int64) Part {
		return Part{Class: "gemm", DType: "bf16", Flops: 2 * mm * n * k, Product: &Product{Batch: 1, M: mm, N: n, K: k}, Tile: &Tile{M: 100, N: 100, Split: 1}}
	}
	for _, x := range []struct {
		what  string
		parts []Part
		want  machine.PS
		bound Bound
	}{
		// 100 tiles of 100 × 100 × 1000 on 100 processors at 0.5 TFLOP/s, and 20 kB stored by each at 5 GB/s.
		{"one wave", []Part{product(1000, 1000, 1000)}, 40_000_000 + 4_000_000, Compute},
		{"one tile more", []Part{product(1001, 1000, 1000)}, 2 * 44_000_000, Compute},
		{"half a wave takes as long", []Part{product(500, 1000, 1000)}, 44_000_000, Compute},
		{"two parts share a wave", []Part{product(500, 1000, 1000), product(500, 1000, 1000)}, 44_000_000, Compute},
		{"a sweep", []Part{{Class: "map", Flops: 10, Bytes: 5_000_000}}, 10_000_000, Memory},
		{"arithmetic", []Part{{Class: "map", Flops: 10_000_000, Bytes: 1000}}, 10_000_000, Compute},
		{"nothing", []Part{{Class: "map", Flops: 1, Bytes: 4}}, 8, Launch},
	} {
		if got, bound := m.Kernel(x.parts); got != x.want || bound != x.bound {
			t.Errorf("%s: %d ps, limited by %s; expected %d, by %s", x.what, got, bound, x.want, x.bound)
		}
	}
	m.Kernels = map[string]machine.PS{"k": 77}
	if got, _ := m.Kernel([]Part{{Key: "k", Class: "map", Flops: 1e9}}); got != 77 {
		t.Errorf("a measured kernel takes %d ps", got)
	}
}

// TestParts reads a product and a sweep from their printed functions.
func TestParts(t *testing.T) {
	const product = `func @gemm_0 class=kernel kind=gemm
  arg %0 : bf16[batch=2048, embed=1024] in
  arg %1 : bf16[embed=1024, ffn=4096] in
  %2 : bf16[batch=2048, ffn=4096] = dot %0, %1 over=(embed)
  result %2 out
end
`
	parts, err := New(round(), Software{}).PartsOf("gemm_0", product, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := parts[0]
	if len(parts) != 1 || p.DType != "bf16" || *p.Product != (Product{1, 2048, 4096, 1024}) || p.Flops != 2*2048*4096*1024 {
		t.Errorf("read %+v, %+v", p, p.Product)
	}
	if *p.Tile != (Tile{128, 256, 1}) {
		t.Errorf("the tile is %+v", *p.Tile)
	}
	if _, err := New(round(), Software{}).PartsOf("k", "func @k class=kernel\n", nil); err == nil {
		t.Error("half a function is a kernel")
	}
}

// TestMonotone: more bytes, or a slower machine, never take less time.
func TestMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	kinds := collective.Kinds(func(s *collective.Spec) bool { return s.Exchanges() })
	for range 2000 {
		c := round()
		c.Levels[1].Oversubscription = given(float64(1 + r.IntN(4)))
		axis := machine.Axis{Size: 2 << r.IntN(4), Stride: 1 << r.IntN(2)}
		kind, bytes := kinds[r.IntN(len(kinds))], r.Int64N(1<<30)
		fast := New(c, Software{}).Collective(kind, c.Spread(0, axis), bytes).Time
		if more := New(c, Software{}).Collective(kind, c.Spread(0, axis), bytes+r.Int64N(1<<20)).Time; more < fast {
			t.Fatalf("%s over %+v: %d bytes take %d ps, more take %d", kind, axis, bytes, fast, more)
		}
		l := r.IntN(2)
		c.Levels[l].Link.Value *= 0.9
		if slow := New(c, Software{}).Collective(kind, c.Spread(0, axis), bytes).Time; slow < fast {
			t.Fatalf("%s over %+v: %d ps, with a slower link of level %d %d", kind, axis, fast, l, slow)
		}
	}
}

// TestHuge: sizes that leave 64 bits take the longest time there is, and never less than none.
func TestHuge(t *testing.T) {
	m := New(round(), Software{})
	if got := m.Sweep(1 << 62); got <= 0 {
		t.Errorf("%d ps", got)
	}
	if got := m.Collective(collective.AllReduce, m.Spread(0, machine.Axis{Size: 8, Stride: 1}), 1<<62); got.Time <= 0 {
		t.Errorf("%d ps", got.Time)
	}
}
