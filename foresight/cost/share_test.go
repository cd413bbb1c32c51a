package cost

import (
	"testing"

	"ptc/foresight/machine"
	"ptc/internal/collective"
	"ptc/ir/fusion"
)

// processor is a host of two processors that its devices share: products at 1 TFLOP/s, other arithmetic at 10 GFLOP/s, memory at
// 10 GB/s and a cache of 1 MB at 100 GB/s; a processor moves 1 GB/s between devices.
func processor() *machine.Cluster {
	return &machine.Cluster{Sizes: []int{8}, Machine: &machine.Machine{
		Name: "processor", Device: machine.Device{
			Target: "cpu:x86-64-v4", Processors: 2, Serial: true,
			Peak: map[string]machine.Sourced{"f32": given(2e12)}, Share: map[string]machine.Sourced{"f32": given(0.5)},
			Attention: map[string]machine.Sourced{"f32": given(0.1)}, Vector: map[string]machine.Sourced{"f32": given(10e9)},
			Bandwidth: given(10e9), MemoryShare: given(1), Cache: given(1e6), CacheRate: given(100e9),
			Start: each(1e-6), Occupies: given(2),
		},
		Host:   machine.Host{Devices: 8, Shared: true, Link: given(1e9), LinkShare: given(1)},
		Levels: []machine.Level{{Name: "node", Memory: true, Link: given(1e9), Share: each(1), Latency: each(1e-6), Oversubscription: given(1)}},
	}}
}

// TestSerial: the work of a kernel follows one another: products, other arithmetic, bytes from the cache and from memory.
func TestSerial(t *testing.T) {
	const us = machine.PS(1_000_000)
	m := New(processor(), Software{})
	for _, x := range []struct {
		what string
		part Part
		want machine.PS
	}{
		{"a product with an epilogue", Part{Class: "gemm", DType: "f32", Product: &Product{}, Flops: 11e6, Multiplies: 10e6, Bytes: 100_000}, 10*us + 100*us + us},
		{"a sweep within the cache", Part{Class: "map", Flops: 10_000, Bytes: 1_000_000}, us + 10*us},
		{"a sweep beyond it", Part{Class: "map", Flops: 10_000, Bytes: 3_000_000}, us + 10*us + 200*us},
		{"attention", Part{Class: fusion.Attend, DType: "f32", Flops: 1e6, Multiplies: 1e6}, 10 * us},
		{"attention of another dtype", Part{Class: fusion.Attend, DType: "f64", Flops: 3e4, Multiplies: 3e4}, 4 * us},
	} {
		if got, _ := m.Kernel([]Part{x.part}); got != x.want {
			t.Errorf("%s takes %d ps, expected %d", x.what, got, x.want)
		}
	}
}

// TestSharing: devices divide the processors of their host, and a kernel of one task never had but one.
func TestSharing(t *testing.T) {
	m := New(processor(), Software{})
	for _, x := range []struct {
		devices     int
		tasks, want int64 // the time of what takes 100 on the host
		threads     int64
	}{
		{1, 8, 100, 2}, {2, 8, 200, 1}, {8, 8, 200, 1}, {2, 1, 100, 1}, {2, 0, 200, 1},
	} {
		s := m.Among(x.devices)
		if got := s.Part(100, x.tasks); int64(got) != x.want || s.Threads != x.threads || s.Capacity != 2 {
			t.Errorf("%d devices, %d tasks: %d on %d threads of %d, expected %d on %d", x.devices, x.tasks, got, s.Threads, s.Capacity, x.want, x.threads)
		}
	}
	s := m.Among(8)
	if c, w := s.Crowd(1); c != w {
		t.Errorf("one of eight devices computes, and wants %d of %d processors", w, c)
	}
	if c, w := s.Crowd(8); c != 2 || w != 8 {
		t.Errorf("eight devices compute, and want %d of %d processors", w, c)
	}
	if c := m.Among(20).Capacity; c != 6 {
		t.Errorf("20 devices on hosts of 8 have %d processors, expected those of three", c)
	}
	apart := New(round(), Software{}).Among(8)
	if c, w := apart.Crowd(8); apart.Part(100, 1) != 100 || c != w {
		t.Errorf("devices with processors of their own share them: %+v", apart.Sharing)
	}
}

// TestSharedMemory: an exchange through shared memory takes what its devices read and write, all of them at the same time.
func TestSharedMemory(t *testing.T) {
	const us = machine.PS(1_000_000)
	for _, x := range []struct {
		devices int
		kind    string
		want    machine.PS
	}{
		{2, collective.AllReduce, us + 2*us + 2_000*us},       // 1 MB read and 1 MB written, by a processor each
		{8, collective.AllReduce, us + 8*us + 4*2_000*us},     // by a quarter of one
		{2, collective.ReduceScatter, us + 2*us + 1_500*us},   // half of the result
		{4, collective.AllGather, us + 4*us + 2*2_000*us},     // the result
		{8, collective.ReduceScatter, us + 8*us + 4*1_125*us}, // an eighth
	} {
		c := processor()
		got := New(c, Software{}).Among(x.devices).Collective(x.kind, c.Spread(0, machine.Axis{Size: x.devices, Stride: 1}), 1_000_000)
		if got.Time != x.want {
			t.Errorf("%s among %d: %d ps, expected %d", x.kind, x.devices, got.Time, x.want)
		}
	}
	if got := New(processor(), Software{}).Among(2).Message(0, 1, 1_000_000); got.Time != us+us+2_000*us {
		t.Errorf("a message takes %d ps", got.Time)
	}
}
