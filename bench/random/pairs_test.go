package random

import (
	"regexp"
	"testing"
)

// features are what a case may have, by what its source then says.
var features = []struct {
	name string
	says *regexp.Regexp
}{
	{"bf16", regexp.MustCompile(`compute = bf16`)},
	{"f16", regexp.MustCompile(`compute = f16`)},
	{"products of eight bits", regexp.MustCompile(`products = f8`)},
	{"narrow parameters", regexp.MustCompile(`params = (bf16|f16)`)},
	{"narrow reductions", regexp.MustCompile(`reduce = bf16`)},
	{"dropout", regexp.MustCompile(`(?i)dropout`)},
	{"recompute", regexp.MustCompile(`recompute `)},
	{"accumulate", regexp.MustCompile(`accumulate = `)},
	{"zero", regexp.MustCompile(`zero [123]`)},
	{"a pipeline", regexp.MustCompile(`pipeline `)},
	{"a split backward phase", regexp.MustCompile(`schedule = (zb|interleaved_zb|dualpipe)`)},
	{"a sharded sequence", regexp.MustCompile(`shard [^\n]*\bseq\b`)},
	{"a ring", regexp.MustCompile(`attention = ring`)},
	{"experts", regexp.MustCompile(`nn\.MoE`)},
	{"offload", regexp.MustCompile(`offload `)},
}

// TestEveryPairOfFeatures: among as many cases as the long run has, each two features that do
// not exclude one another occur together.
func TestEveryPairOfFeatures(t *testing.T) {
	const cases = 3000
	exclude := map[[2]int]bool{}
	at := map[string]int{}
	for i, f := range features {
		at[f.name] = i
	}
	for _, x := range [][2]string{{"bf16", "f16"}} {
		exclude[[2]int{at[x[0]], at[x[1]]}] = true
	}
	pairs := map[[2]int]int{}
	for i := range cases {
		text := New(uint64(i) + 1<<35).Smooth().Narrow().Source()
		var has []int
		for k, f := range features {
			if f.says.MatchString(text) {
				has = append(has, k)
			}
		}
		for a, x := range has {
			for _, y := range has[a:] {
				pairs[[2]int{x, y}]++
			}
		}
	}
	for x := range features {
		for y := x; y < len(features); y++ {
			if n := pairs[[2]int{x, y}]; n < 10 && !exclude[[2]int{x, y}] {
				t.Errorf("%d of %d cases have %s with %s", n, cases, features[x].name, features[y].name)
			}
		}
	}
}
