package program

import (
	"math/rand"
	"testing"

	"ptc/internal/rolled"
)

// TestConflict compares accesses with all pairs of instructions.
func TestConflict(t *testing.T) {
	type access struct {
		span
		writes bool
	}
	found := 0
	for seed := int64(1); seed <= 2000; seed++ {
		r := rand.New(rand.NewSource(seed))
		var u accesses
		var before []access
		want, got := false, false
		for n := range 1 + r.Intn(4) {
			var mine []access
			var reads, writes []span
			for range 1 + r.Intn(2) {
				lo := r.Int63n(40)
				x := access{span{"", lo, lo + 1 + r.Int63n(6)}, r.Intn(3) == 0}
				if mine = append(mine, x); x.writes {
					writes = append(writes, x.span)
				} else {
					reads = append(reads, x.span)
				}
				for _, y := range before {
					want = want || (x.writes || y.writes) && x.meets(y.span)
				}
			}
			before = append(before, mine...)
			got = got || u.add(rolled.Issue{Op: n}, reads, writes) != nil
		}
		if got != want {
			t.Fatalf("seed %d: %v: %v", seed, before, got)
		}
		if want {
			found++
		}
	}
	if found < 200 || found > 1800 {
		t.Errorf("%d conflicts in 2000 cases", found)
	}
}

// TestManyFreeInstructions: any number of instructions may follow one another
// without a wait, as the updates of a thousand parameters do; and one among them that
// has to wait is still found.
func TestManyFreeInstructions(t *testing.T) {
	const n = 50_000
	p := &Plan{
		Code:    []Code{{Kind: "ir"}},
		Kernels: []Kernel{{Name: "update", Symbol: "update", Args: []Arg{{Bytes: 4}, {Bytes: 4, Write: true}}}},
		Devices: []Device{{Arena: 2 * n * Align, Progs: []Program{{Name: "step"}}}},
	}
	d := &p.Devices[0]
	for i := range 2 * n {
		d.Buffers = append(d.Buffers, Buffer{Offset: int64(i) * Align, Bytes: 4, DType: "f32"})
	}
	for i := range n {
		d.Progs[0].Instrs = append(d.Progs[0].Instrs, Instr{Bufs: []int{i, n + (i+n/3)%n}, NoWait: i > 0})
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	d.Progs[0].Instrs[n-1].Bufs = []int{n + n/2, n - 1}
	if err := p.Validate(); err == nil {
		t.Error("an instruction that reads what another writes need not wait")
	}
}
