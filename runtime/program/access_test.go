package program

import (
	"math/rand"
	"testing"

	"ptc/internal/rolled"
)

// TestConflict compares the sweep with all pairs.
func TestConflict(t *testing.T) {
	found := 0
	for seed := int64(1); seed <= 2000; seed++ {
		r := rand.New(rand.NewSource(seed))
		var u accesses
		for range 1 + r.Intn(8) {
			lo := r.Int63n(40)
			n := r.Intn(6)
			u = append(u, access{lo, lo + 1 + r.Int63n(6), n, rolled.Issue{Op: n}, r.Intn(3) == 0})
		}
		want := false
		for i, x := range u {
			for _, y := range u[:i] {
				want = want || x.order != y.order && (x.writes || y.writes) && x.lo < y.hi && y.lo < x.hi
			}
		}
		if got := u.conflict() != nil; got != want {
			t.Fatalf("seed %d: %v: %v", seed, u, got)
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
