package data

import (
	"slices"
	"testing"

	"ptc/internal/philox"
)

// The known-answer vectors that the authors of Philox publish with Random123.
func TestPhiloxKnownAnswers(t *testing.T) {
	const all = 0xffffffff
	for _, c := range []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{all, all, all, all}, [2]uint32{all, all}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := philox.Block(c.ctr, c.key); got != c.want {
			t.Errorf("philox.Block(%x, %x) = %x, want %x", c.ctr, c.key, got, c.want)
		}
	}
}

func TestPermutationIsAPermutation(t *testing.T) {
	sizes := []int64{1000, 1023, 1024, 1025, 4097, 65536}
	for n := int64(1); n <= 200; n++ {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		for _, epoch := range []int64{0, 1, 1 << 40} {
			p := newPermutation(n, newStream(uint64(n)*7919, streamTrain))
			seen := make([]bool, n)
			for i := range n {
				v := p.at(epoch, i)
				if v < 0 || v >= n || seen[v] {
					t.Fatalf("n=%d epoch=%d: element %d is %d, outside or a repeat", n, epoch, i, v)
				}
				seen[v] = true
			}
		}
	}
}

// A shuffle that leaves much in place, or that repeats between epochs or seeds,
// is a permutation too: so look at what it moves.
func TestPermutationShuffles(t *testing.T) {
	const n = 5000
	order := func(seed uint64, epoch int64) []int64 {
		p := newPermutation(n, newStream(seed, streamTrain))
		out := make([]int64, n)
		for i := range out {
			out[i] = p.at(epoch, int64(i))
		}
		return out
	}
	identity := make([]int64, n)
	for i := range identity {
		identity[i] = int64(i)
	}
	a := order(1, 0)
	for name, b := range map[string][]int64{
		"identity": identity, "next epoch": order(1, 1), "other seed": order(2, 0),
	} {
		same, ascending := 0, 0
		for i := range a {
			if a[i] == b[i] {
				same++
			}
			if i > 0 && a[i] == a[i-1]+1 {
				ascending++
			}
		}
		// Two random permutations agree in one place on average.
		if same > 10 || ascending > 10 {
			t.Errorf("against %s: %d of %d in the same place, %d neighbours kept", name, same, n, ascending)
		}
	}
	if !slices.Equal(a, order(1, 0)) {
		t.Error("the same seed and epoch gave another order")
	}
}

func TestPermutationOfAHugeDomainStaysInside(t *testing.T) {
	const n = 1<<61 + 12345
	p := newPermutation(n, newStream(3, streamTrain))
	seen := map[int64]bool{}
	for i := int64(0); i < 1000; i++ {
		v := p.at(0, n-1-i)
		if v < 0 || v >= n || seen[v] {
			t.Fatalf("element %d is %d", i, v)
		}
		seen[v] = true
	}
}
