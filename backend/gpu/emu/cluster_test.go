package emu

import "testing"

// TestCluster: blocks load for each other, and say to each other what is full and what is empty.
func TestCluster(t *testing.T) {
	const steps, grid = 5, 4
	run := func(text string, o Options) error {
		d := &Device{Options: o}
		in, _ := floats(d, steps*256, func(i int) float32 { return float32(i % 37) })
		y, out := floats(d, grid*128, func(int) float32 { return -1 })
		b, err := (&TensorMap{Type: Float32, Rank: 2, Address: in, Sizes: [5]uint64{32, 8 * steps}, Strides: [4]uint64{128}, Box: [5]uint32{32, 4}, Steps: [5]uint32{1, 1}}).Encode()
		if err != nil {
			return err
		}
		if err := launch(d, text, Launch{Grid: grid, Shared: 2080, Args: []Arg{{Bytes: b}, Word(y), Word(steps)}}); err != nil {
			return err
		}
		return differ(out, grid*128, func(i int) float32 {
			sum := 0
			for j := range 2 * steps {
				sum += (j*128 + i%128) % 37
			}
			return float32(sum)
		})
	}
	const arrive, wait = "barrier.cluster.arrive.release.aligned;", "barrier.cluster.wait.acquire.aligned;"
	hunt(t, source(t, "cluster"), run, []mutant{
		{old: arrive, all: true}, {old: wait, all: true}, {old: arrive, nth: 2, all: true}, {old: wait, nth: 2, all: true},
		{old: arrive + "\n  " + wait, all: true}, {old: arrive + "\n  " + wait, nth: 2, all: true},
		{old: "cluster.arrive.release", new: "cluster.arrive.relaxed", all: true},
		{old: "fence.mbarrier_init.release.cluster;", all: true}, {old: "mov.b16 %h0, 3;", new: "mov.b16 %h0, 1;", all: true},
		{old: "mov.b16 %h0, 3;", new: "mov.b16 %h0, 7;", all: true}, {old: "[%r9+2048], 1024", new: "[%r9+2048], 512", all: true},
		{old: "[%r0+2056], 2", new: "[%r0+2056], 1", all: true}, {old: "[%r0+2056], 2", new: "[%r0+2056], 3", all: true},
		{old: "setp.lt.u32 %p3, %r13, 2;", new: "setp.lt.u32 %p3, %r13, 1;", all: true}, {old: "setp.lt.u32 %p3, %r13, 2;", new: "setp.lt.u32 %p3, %r13, 3;", all: true},
		{old: "@%p3 mapa.shared::cluster.u32 %r15, %r15, %r13;", all: true}, {old: "bar.warp.sync -1;", nth: 2, all: true},
		{old: "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r9+2056], %r8;", new: "setp.eq.u32 %p2, %r8, %r8;", all: true},
		{old: "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9+2048], %r8;", new: "setp.eq.u32 %p2, %r8, %r8;", all: true},
		{old: "@!%p2 bra EMPTY;"}, {old: "@!%p2 bra FULL;"}, {old: "add.u32 %r15, %r9, 2056;", new: "add.u32 %r15, %r9, 2060;", all: true},
		{old: ".reqnctapercluster 2, 1, 1", new: ".reqnctapercluster 3, 1, 1", all: true},
	})
}

// TestOtherMemory: a block reads the memory of another one.
func TestOtherMemory(t *testing.T) {
	run := func(text string, o Options) error {
		d := &Device{Options: o}
		y, out := d.Alloc(256)
		if err := launch(d, text, Launch{Grid: 2, Args: []Arg{Word(y)}}); err != nil {
			return err
		}
		for i := range 64 {
			if got, want := int(load(out[4*i:4*i+4])), (1-i/32)*100+i%32; got != want {
				t.Fatalf("%d: got %d, want %d", i, got, want)
			}
		}
		return nil
	}
	const meet = "barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;"
	hunt(t, source(t, "other"), run, []mutant{
		{old: meet, all: true}, {old: meet, nth: 2, all: true}, {old: "shared::cluster.b32 %r6", new: "shared.b32 %r6", all: true},
		{old: "xor.b32 %r4, %r1, 1;", new: "add.u32 %r4, %r1, 1;", all: true},
	})
}
