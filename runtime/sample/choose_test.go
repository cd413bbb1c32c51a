package sample

import (
	"math"
	"math/rand"
	"testing"
)

// draws counts what is chosen at n positions.
func draws(c Choice, logits []float64, n int) []float64 {
	s, count := newStream(c.Seed, []int32{1, 2}, 0), make([]float64, len(logits))
	var room []candidate
	for t := range n {
		count[c.choose(logits, s, t, &room)]++
	}
	for i := range count {
		count[i] /= float64(n)
	}
	return count
}

// Tokens are drawn as often as the softmax says, among those that are kept.
func TestChoose(t *testing.T) {
	const n = 40000
	logits := []float64{math.Log(0.1), math.Log(0.4), math.Log(0.2), math.Inf(-1), math.Log(0.3)}
	for name, c := range map[string]struct {
		Choice
		want []float64
	}{
		"greedy":      {Choice{}, []float64{0, 1, 0, 0, 0}},
		"temperature": {Choice{Temperature: 1}, []float64{0.1, 0.4, 0.2, 0, 0.3}},
		"cold":        {Choice{Temperature: 0.5}, []float64{1. / 30, 16. / 30, 4. / 30, 0, 9. / 30}},
		"top-k":       {Choice{Temperature: 1, TopK: 2}, []float64{0, 4. / 7, 0, 0, 3. / 7}},
		"top-p":       {Choice{Temperature: 1, TopP: 0.75}, []float64{0, 4. / 9, 2. / 9, 0, 3. / 9}},
		"top-p least": {Choice{Temperature: 1, TopP: 0.01}, []float64{0, 1, 0, 0, 0}},
		"both":        {Choice{Temperature: 1, TopK: 3, TopP: 0.7}, []float64{0, 4. / 7, 0, 0, 3. / 7}},
		"more than all": {Choice{Temperature: 1, TopK: 99, TopP: 1},
			[]float64{0.1, 0.4, 0.2, 0, 0.3}},
	} {
		t.Run(name, func(t *testing.T) {
			c.Seed = 5
			for i, got := range draws(c.Choice, logits, n) {
				// Five standard deviations of a share of n draws.
				if d := math.Abs(got - c.want[i]); d > 5*math.Sqrt(c.want[i]*(1-c.want[i])/n) {
					t.Errorf("token %d has the share %v, not %v", i, got, c.want[i])
				}
			}
		})
	}
}

// Of equal logits the first is the largest.
func TestLargest(t *testing.T) {
	for _, c := range []struct {
		logits []float64
		want   int32
	}{{[]float64{1, 3, 3, 2}, 1}, {[]float64{math.Inf(-1), math.Inf(-1)}, 0}, {[]float64{-2, -1}, 1}} {
		if got := largest(c.logits); got != c.want {
			t.Errorf("%v has its largest at %d, not %d", c.logits, got, c.want)
		}
	}
}

// Streams differ by seed, prompt, copy and position, and are the same again.
func TestStreams(t *testing.T) {
	seen := map[float64]bool{}
	for seed := range uint64(3) {
		for _, prompt := range [][]int32{{1}, {2}, {1, 2}, {2, 1}} {
			for copies := range 2 {
				s := newStream(seed<<32|seed, prompt, copies)
				for at := range 5 {
					u := s.uniform(at)
					if u < 0 || u >= 1 || seen[u] {
						t.Errorf("seed %d, prompt %v, copy %d, position %d: %v", seed, prompt, copies, at, u)
					}
					seen[u] = true
					if newStream(seed<<32|seed, prompt, copies).uniform(at) != u {
						t.Error("not the same again")
					}
				}
			}
		}
	}
}

// Numbers are uniform: their mean and variance are those of [0, 1).
func TestUniform(t *testing.T) {
	const n = 20000
	sum, squares := 0.0, 0.0
	s := newStream(rand.New(rand.NewSource(1)).Uint64(), []int32{7}, 0)
	for at := range n {
		u := s.uniform(at)
		sum, squares = sum+u, squares+u*u
	}
	if mean, square := sum/n, squares/n; math.Abs(mean-0.5) > 5*math.Sqrt(1./12/n) || math.Abs(square-1./3) > 5*math.Sqrt(4./45/n) {
		t.Errorf("mean %v, mean square %v", mean, square)
	}
}
