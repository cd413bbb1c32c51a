package search

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ptc/foresight/certificate"
)

// TestFront: the front of random layouts is what a comparison of each with each leaves, in time, memory, devices and money.
func TestFront(t *testing.T) {
	const price = 0.001
	r := rand.New(rand.NewPCG(3, 1))
	for n := range 300 {
		c := &certificate.Certificate{}
		devices := []string{"8", "16", "64"}[:1+n%3]
		var all []Point
		for range 1 + r.IntN(12) {
			l := certificate.Leaf{At: devices[r.IntN(len(devices))] + "/dp1 pp1 cp1 ep1 tp1", Why: certificate.Exact, PS: 1 + r.Int64N(6), Bytes: 1 + r.Int64N(6)}
			c.Leaves = append(c.Leaves, l, certificate.Leaf{At: "8", Why: certificate.Bound, Bound: 1})
			size := map[string]int{"8": 8, "16": 16, "64": 64}[l.At[:len(l.At)-len("/dp1 pp1 cp1 ep1 tp1")]]
			all = append(all, Point{l.At, l.PS, l.Bytes, size, price * float64(size) * float64(l.PS) / 1e12})
		}
		got := Front(c, price)
		for _, p := range all {
			beaten := false
			for _, q := range all {
				good := q.PS <= p.PS && q.Bytes <= p.Bytes && q.Devices <= p.Devices && q.USD <= p.USD
				beaten = beaten || good && q != p
			}
			has := 0
			for _, q := range got {
				if p == q {
					has++
				}
			}
			if beaten && has > 0 || !beaten && has != 1 {
				t.Fatalf("%v of %v is %d times on the front %v", p, all, has, got)
			}
		}
		for i := range got[1:] {
			if got[i].PS > got[i+1].PS {
				t.Fatalf("the front is not sorted: %v", got)
			}
		}
	}
}

// TestLacks: a layout of a space is in it, and one with another word in its path is not, for the dimension of that word.
func TestLacks(t *testing.T) {
	for n := range 100 {
		r := rand.New(rand.NewPCG(uint64(n), 5))
		s := randomSpace(t, r)
		s.prepare()
		at := &Choice{}
		for at.Depth < len(Dimensions) {
			all := s.branches(at)
			if len(all) == 0 {
				break // no layout has these choices
			}
			at = all[r.IntN(len(all))]
		}
		if at.Depth < len(Dimensions) {
			continue
		}
		if d := Lacks(s, at.Path()); d != "" {
			t.Errorf("%s is not in its space, for %s", at.Path(), d)
		}
		words := strings.Split(at.Path(), "/")
		for i := range words {
			other := slices.Clone(words)
			other[i] += "0"
			if d := Lacks(s, strings.Join(other, "/")); d != Dimensions[i] {
				t.Errorf("%s with another %s: the space lacks %q", at.Path(), Dimensions[i], d)
			}
			if d := Lacks(s, strings.Join(words[:i], "/")); i > 0 && d != Dimensions[i] {
				t.Errorf("%s without its %s: the space lacks %q", at.Path(), Dimensions[i], d)
			}
		}
	}
}
