package machine

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestOn: sizes as a command has them, outermost first.
func TestOn(t *testing.T) {
	for _, c := range []struct {
		machine, levels string
		want            []int  // innermost first
		mistake         string // part of it
	}{
		{"a100_80", "384x8", []int{8, 384}, ""},
		{"a100_80", "", []int{1, 1}, ""},
		{"a100_80", "4", []int{4, 1}, ""},
		{"a100_80", "3x2", []int{2, 3}, ""},
		{"h100", "4x3125x8", []int{8, 3125, 4}, ""},
		{"h100", "128x8", []int{8, 128, 1}, ""},
		{"gb200", "8x72", []int{72, 8}, ""},
		{"tpu_v5p", "2x8960", []int{8960, 2}, ""},
		{"tpu_v5p", "8961", nil, "at most 8960"},
		{"a100_80", "16x16", nil, "level `node` of `a100_80` has 8 ranks, which 16 does not divide"},
		{"a100_80", "16x3", nil, "a number that divides 8"},
		{"a100_80", "2x2x8", nil, "`a100_80` has 2 levels, and 3 sizes were given; expected at most the sizes of `fabric`, `node`, in this order"},
		{"a100_80", "0x8", nil, "`0x8` is not a list of sizes"},
		{"a100_80", "-1x8", nil, "`-1x8` is not a list of sizes"},
		{"a100_80", "+4", nil, "is not a list of sizes"},
		{"a100_80", "4x", nil, "is not a list of sizes"},
		{"a100_80", "x", nil, "is not a list of sizes"},
		{"a100_80", "99999999999999999999", nil, "is not a list of sizes"},
		{"a100_80", "9223372036854775807x8", nil, "too many devices"},
		{"a100_80", "4194304x8", nil, "too many devices"},
		{"a100_80", strings.Repeat("1x", 1000) + "1", nil, "1001 sizes"},
	} {
		m, err := Named(c.machine)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.On(c.levels)
		switch {
		case c.mistake != "":
			if err == nil || !strings.Contains(err.Error(), c.mistake) || !strings.Contains(err.Error(), "E0810") {
				t.Errorf("%s:%s: %v, want %q", c.machine, c.levels, err, c.mistake)
			}
		case err != nil || !slices.Equal(got.Sizes, c.want):
			t.Errorf("%s:%s: %v (%v), want %v", c.machine, c.levels, got, err, c.want)
		}
	}
}

func TestSplit(t *testing.T) {
	for spec, want := range map[string][2]string{
		"h100": {"h100", ""}, "h100:16x8": {"h100", "16x8"}, "my.ptm": {"my.ptm", ""}, "dir/my.ptm:4": {"dir/my.ptm", "4"},
		"c:my.ptm": {"c:my.ptm", ""}, "c:my.ptm:4": {"c:my.ptm", "4"}, "h100:": {"h100", ""},
	} {
		if name, levels := Split(spec); name != want[0] || levels != want[1] {
			t.Errorf("%s is %q with %q", spec, name, levels)
		}
	}
}

// mesh are sizes of axes, outermost first, as axes of ranks.
func mesh(sizes []int) []Axis {
	out := make([]Axis, len(sizes))
	stride := 1
	for i := len(sizes) - 1; i >= 0; i-- {
		out[i] = Axis{sizes[i], stride}
		stride *= sizes[i]
	}
	return out
}

// groups gives each rank the number of its group: the ranks that differ from it along the chosen axes alone.
func groups(ranks int, axes []Axis, chosen []bool) []int {
	out := make([]int, ranks)
	for r := range out {
		for i, a := range axes {
			if !chosen[i] {
				out[r] += r / a.Stride % a.Size * a.Stride
			}
		}
	}
	return out
}

// brute is [Cluster.Spread] rank by rank.
func brute(c *Cluster, rank int, group []int) Spread {
	s := Spread{Outer: -1}
	for r := range group {
		if group[r] == group[rank] {
			s.Size++
			s.Outer = max(s.Outer, c.Level(r, rank))
		}
	}
	for l := range c.Sizes {
		in := map[int]map[int]int{} // unit → group → ranks
		all := map[int]int{}        // group → ranks
		for r, g := range group {
			u := c.Unit(r, l)
			if in[u] == nil {
				in[u] = map[int]int{}
			}
			in[u][g]++
			all[g]++
		}
		members, units, sharing := 0, 0, 0
		for _, held := range in {
			if held[group[rank]] == 0 {
				continue
			}
			units++
			members = max(members, held[group[rank]])
			crossing := 0
			for g, n := range held {
				if n < all[g] {
					crossing++
				}
			}
			sharing = max(sharing, crossing)
		}
		s.Members, s.Units, s.Sharing = append(s.Members, members), append(s.Units, units), append(s.Sharing, sharing)
	}
	return s
}

// factors are random sizes that multiply to n.
func factors(r *rand.Rand, n, count int) []int {
	out := make([]int, count)
	for i := range out {
		divisors := []int{}
		for d := 1; d <= n; d++ {
			if n%d == 0 {
				divisors = append(divisors, d)
			}
		}
		out[i] = divisors[r.IntN(len(divisors))]
		n /= out[i]
	}
	out[r.IntN(count)] *= n
	return out
}

// TestSpread: of random clusters and meshes of the same ranks, every group lies on the levels as counting says. Half
// of the sizes are powers of two, for which nothing is counted; of the others, axes and units cut one another.
func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	cut := 0
	for round := range 400 {
		ranks := 1 << r.IntN(9)
		if round%2 == 1 {
			ranks = []int{6, 12, 24, 30, 36, 48, 60, 72, 96, 120, 144, 180, 210, 240}[r.IntN(14)]
		}
		c := &Cluster{Sizes: factors(r, ranks, 1+r.IntN(4))}
		axes := mesh(factors(r, ranks, 1+r.IntN(4)))
		if c.Devices() != ranks {
			t.Fatalf("%v are %d devices, want %d", c.Sizes, c.Devices(), ranks)
		}
		chosen := make([]bool, len(axes))
		var over []Axis
		for i, a := range axes {
			if chosen[i] = r.IntN(2) == 1; chosen[i] {
				over = append(over, a)
			}
		}
		group := groups(ranks, axes, chosen)
		for range 8 {
			rank := r.IntN(ranks)
			got, want := c.Spread(rank, over...), brute(c, rank, group)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("levels %v, mesh %v, over %v, rank %d: %+v, want %+v", c.Sizes, axes, over, rank, got, want)
			}
		}
		for l := range c.Sizes {
			if _, _, _, ok := even(over, len(group), c.Span(l)); !ok {
				cut++
			}
		}
	}
	if cut < 20 {
		t.Errorf("%d spreads were counted: the sizes do not cut one another", cut)
	}
}

// TestSpreadOfLargeClusters: closed forms do not go through 100,000 ranks.
func TestSpreadOfLargeClusters(t *testing.T) {
	m, err := Named("h100")
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.On("4x3125x8")
	if err != nil {
		t.Fatal(err)
	}
	dp := Axis{1250, 80}
	if got, want := fmt.Sprint(c.Spread(0, dp)), "{1250 2 [1 313 1250] [1250 4 1] [8 80 0]}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	tp := Axis{8, 1}
	if got, want := fmt.Sprint(c.Spread(12345, tp)), "{8 0 [8 8 8] [1 1 1] [0 0 0]}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
