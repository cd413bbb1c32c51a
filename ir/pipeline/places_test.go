package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPlaces: so many places are enough, and no fewer of a ring are, in random orders of turns.
func TestPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		kinds, microbatches := 1+r.IntN(4), 1+r.IntN(8)
		var turns []Turn
		for k := range kinds {
			for m := range microbatches {
				turns = append(turns, Turn{k, m})
			}
		}
		r.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		use := make([]Use, kinds)
		for k := range use {
			use[k] = Use(r.IntN(3))
		}
		n := Places(turns, microbatches, use)
		if !enough(turns, microbatches, use, n) || n > 1 && enough(turns, microbatches, use, n-1) {
			t.Fatalf("%d places for %v, in use %v", n, turns, use)
		}
	}
}

// enough reports whether no two microbatches that are in one place of a ring overlap.
func enough(turns []Turn, microbatches int, use []Use, ring int) bool {
	for i := range turns {
		var here []int // microbatches that have a place in turn i
		for m := range microbatches {
			first, last := -1, -1
			for k, x := range turns {
				if x.Microbatch != m || use[x.What] == Unused {
					continue
				}
				if last = k; first < 0 {
					first = k
					if use[x.What] == Before {
						first = max(0, k-1)
					}
				}
			}
			if first >= 0 && first <= i && i <= last {
				here = append(here, m%ring)
			}
		}
		slices.Sort(here)
		if len(slices.Compact(slices.Clone(here))) < len(here) {
			return false
		}
	}
	return true
}

// TestNeeds: of 1F1B each device needs one place fewer for activations than the one before it, and the first one covers all;
// a cache gives the same.
func TestNeeds(t *testing.T) {
	s := Shape{Devices: 5, Microbatches: 8, Chunks: 1}
	x, err := New("1f1b", s, Costs{})
	if err != nil {
		t.Fatal(err)
	}
	needs := x.Needs()
	for d := range needs {
		if got := needs[d].Places[len(needs[d].Places)-1]; got != s.Devices-d { // of forward and backward passes
			t.Errorf("device %d keeps %d microbatches, not %d", d, got, s.Devices-d)
		}
		if !needs[0].Covers(&needs[d]) || d > 0 && needs[d].Covers(&needs[d-1]) {
			t.Errorf("device %d needs %v, the first %v", d, needs[d].Places, needs[0].Places)
		}
	}
	var c Cache
	for range 2 {
		if got, err := c.Needs("1f1b", s); err != nil || fmt.Sprint(got) != fmt.Sprint(needs) {
			t.Errorf("cached: %v, %v", got, err)
		}
	}
	if _, err := c.New("2f2b", s); err == nil {
		t.Error("an unknown schedule")
	}
	one, _ := c.New("1f1b", s)
	if two, _ := c.New("1f1b", s); one != two {
		t.Error("a schedule is made twice")
	}
}
