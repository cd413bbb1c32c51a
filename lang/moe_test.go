package lang

import (
	"fmt"
	"math"
	"sort"
	"testing"

	"ptc/ir"
	array "ptc/ir/tensor"
)

// mixture is a mixture of experts with its input, and what loops over tokens,
// written from the formulas of the papers, make of it.
type mixture struct {
	batch, seq, embed, experts, ffn int
	k                               int
	capacity                        float64
	x, router, w1, b1, w2, b2       *array.Tensor
}

func newMixture(seed int64, k int, capacity float64) *mixture {
	m := &mixture{batch: 3, seq: 10, embed: 6, experts: 4, ffn: 5, k: k, capacity: capacity}
	m.x = noise(seed, "batch", m.batch, "seq", m.seq, "embed", m.embed)
	for i := 0; i < len(m.x.Data); i += m.embed {
		m.x.Data[i] += 2 // what tokens have in common makes experts unequally liked
	}
	m.router = noise(seed+1, "embed", m.embed, "gate", m.experts)
	m.w1 = noise(seed+2, "experts", m.experts, "embed", m.embed, "ffn", m.ffn)
	m.b1 = noise(seed+3, "experts", m.experts, "ffn", m.ffn)
	m.w2 = noise(seed+4, "experts", m.experts, "ffn", m.ffn, "embed", m.embed)
	m.b2 = noise(seed+5, "experts", m.experts, "embed", m.embed)
	return m
}

// run evaluates one of the results of the module: 0 is y, 1 the auxiliary loss.
func (m *mixture) run(t *testing.T, result int, args string) *array.Tensor {
	t.Helper()
	src := fmt.Sprintf("config { batch = %d  seq = %d  embed = %d  experts = %d  ffn = %d }\nmodel M { moe : nn.MoE(k = %d, capacity = %g, act = relu%s) }",
		m.batch, m.seq, m.embed, m.experts, m.ffn, m.k, m.capacity, args)
	return compute(t, src, fmt.Sprintf("M.moe(x)[%d]", result), 1, input{"x", m.x}, input{"moe.router", m.router}, input{"moe.w1", m.w1},
		input{"moe.b1", m.b1}, input{"moe.w2", m.w2}, input{"moe.b2", m.b2})
}

// logits are the router's for one token, and their softmax.
func (m *mixture) logits(b, s int) (l, p []float64) {
	sum := 0.0
	for e := range m.experts {
		v := 0.0
		for d := range m.embed {
			v += m.x.Data[(b*m.seq+s)*m.embed+d] * m.router.Data[d*m.experts+e]
		}
		l, p = append(l, v), append(p, math.Exp(v))
		sum += math.Exp(v)
	}
	for e := range p {
		p[e] /= sum
	}
	return l, p
}

// best are the k experts with the largest probabilities, the first of equals
// first.
func (m *mixture) best(p []float64) []int {
	order := make([]int, len(p))
	for e := range order {
		order[e] = e
	}
	sort.SliceStable(order, func(i, j int) bool { return p[order[i]] > p[order[j]] })
	return order[:m.k]
}

// expert is what expert e makes of a token.
func (m *mixture) expert(e, b, s int) []float64 {
	y := append([]float64(nil), m.b2.Data[e*m.embed:(e+1)*m.embed]...)
	for f := range m.ffn {
		h := m.b1.Data[e*m.ffn+f]
		for d := range m.embed {
			h += m.x.Data[(b*m.seq+s)*m.embed+d] * m.w1.Data[(e*m.embed+d)*m.ffn+f]
		}
		for d := range y {
			y[d] += math.Max(h, 0) * m.w2.Data[(e*m.ffn+f)*m.embed+d]
		}
	}
	return y
}

// want is the reference: y, the balancing loss, the z-loss, and how many
// choices were dropped.
func (m *mixture) want() (y *array.Tensor, balance, z float64, dropped int) {
	y = array.New(m.x.Type)
	room := math.Max(1, math.Ceil(float64(m.seq*m.k)/float64(m.experts)*m.capacity-1e-9))
	for b := range m.batch {
		used := make([]float64, m.experts)
		mean := make([]float64, m.experts)
		for s := range m.seq {
			l, p := m.logits(b, s)
			lse, total := 0.0, 0.0
			for e := range p {
				lse += math.Exp(l[e])
				mean[e] += p[e] / float64(m.seq)
			}
			z += math.Pow(math.Log(lse), 2) / float64(m.batch*m.seq)
			chosen := m.best(p)
			for _, e := range chosen {
				total += p[e]
			}
			if m.k == 1 {
				total = 1
			}
			for _, e := range chosen {
				if used[e]++; used[e] > room {
					dropped++
					continue
				}
				for d, v := range m.expert(e, b, s) {
					y.Data[(b*m.seq+s)*m.embed+d] += v * p[e] / total
				}
			}
		}
		for e := range used {
			share := used[e] / float64(m.k*m.seq)
			balance += float64(m.experts) * share * mean[e] / float64(m.batch)
		}
	}
	return y, balance, z, dropped
}

func TestMoE(t *testing.T) {
	for _, c := range []struct {
		k        int
		capacity float64
		drops    bool
	}{
		{1, 1.25, true}, {2, 1.25, true}, {3, 1, true}, {2, 0.5, true},
		{2, 1e-12, true}, // one slot of each expert
		{1, 4, false},    // room for all tokens at one expert
		{2, 1000, false}, // more room than there are tokens
		{4, 1, false},    // every expert sees every token
	} {
		m := newMixture(30, c.k, c.capacity)
		y, balance, z, dropped := m.want()
		if (dropped > 0) != c.drops {
			t.Fatalf("k = %d, capacity = %g: the reference drops %d", c.k, c.capacity, dropped)
		}
		what := fmt.Sprintf("k = %d, capacity = %g: ", c.k, c.capacity)
		near(t, what+"y", m.run(t, 0, ""), func(at map[string]int) float64 { return elem(y, at) })
		for args, loss := range map[string]float64{
			"":                        0.01*balance + 0.001*z,
			", balance = 1.0, z = 0":  balance,
			", balance = 0, z = 0.25": z / 4,
		} {
			near(t, what+"auxiliary loss"+args, m.run(t, 1, args), func(map[string]int) float64 { return loss })
		}
	}
}

// A router that likes all experts equally gives every token to the first ones:
// ties are broken by number, and the tokens beyond the capacity are dropped.
func TestMoETies(t *testing.T) {
	m := newMixture(40, 2, 1)
	clear(m.router.Data)
	y, balance, _, dropped := m.want()
	if dropped != m.batch*2*(m.seq-5) || math.Abs(balance-1) > 1e-12 {
		t.Fatalf("the reference drops %d with a balancing loss of %g", dropped, balance)
	}
	got := m.run(t, 0, "")
	near(t, "y", got, func(at map[string]int) float64 { return elem(y, at) })
	near(t, "y of a dropped token", got, func(at map[string]int) float64 {
		if at["seq"] >= 5 {
			return 0
		}
		return elem(y, at)
	})
	// Two of four equal: the tie is for the second place alone.
	for d := range m.embed {
		r := m.router.Data[d*4 : d*4+4]
		r[2] = 0.3 * float64(d-2)
		r[1], r[3] = 0.1, 0.1
	}
	y, _, _, _ = m.want()
	near(t, "y with ties for the second place", m.run(t, 0, ""), func(at map[string]int) float64 { return elem(y, at) })
}

// What a token gets does not depend on the tokens after it, though they take
// slots.
func TestMoEIsCausal(t *testing.T) {
	m := newMixture(50, 2, 0.75)
	before := m.run(t, 0, "")
	const changed = 6
	m.x = m.x.Clone()
	each(m.x.Type, func(i int, at map[string]int) {
		if at["seq"] >= changed {
			m.x.Data[i] = -m.x.Data[i]
		}
	})
	after, differ := m.run(t, 0, ""), 0
	each(after.Type, func(i int, at map[string]int) {
		same := after.Data[i] == elem(before, at)
		switch {
		case at["seq"] >= changed && !same:
			differ++
		case at["seq"] < changed && !same:
			t.Fatalf("the token at %v depends on those after it", at)
		}
	})
	if differ == 0 {
		t.Error("the change has no effect")
	}
}

// The axes are those that the caller names.
func TestMoEAxes(t *testing.T) {
	m := newMixture(60, 2, 1.25)
	y, _, _, _ := m.want()
	rename := func(x *array.Tensor, pairs ...string) *array.Tensor {
		r := x.Clone()
		for i := range r.Type.Axes {
			for j := 0; j < len(pairs); j += 2 {
				if r.Type.Axes[i].Name == pairs[j] {
					r.Type.Axes[i].Name = pairs[j+1]
				}
			}
		}
		return r
	}
	src := `config { rows = 3  time = 10  width = 6  parts = 4  inner = 5 }
model M { moe : nn.MoE(act = relu, experts = parts, groups = rows, tokens = time, from = width, hidden = inner) }`
	all := []string{"batch", "rows", "seq", "time", "embed", "width", "experts", "parts", "ffn", "inner"}
	got := compute(t, src, "M.moe(x)[0]", 1, input{"x", rename(m.x, all...)}, input{"moe.router", rename(m.router, all...)},
		input{"moe.w1", rename(m.w1, all...)}, input{"moe.b1", rename(m.b1, all...)}, input{"moe.w2", rename(m.w2, all...)}, input{"moe.b2", rename(m.b2, all...)})
	y = rename(y, all...)
	near(t, "y", got, func(at map[string]int) float64 { return elem(y, at) })
}

func TestCumsum(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 7, 8, 12, 16, 30, 64, 96} {
		x := noise(int64(n), "a", 2, "n", n, "b", 3)
		near(t, fmt.Sprintf("cumsum of %d", n), compute(t, "", "cumsum(x, over = n)", 1, input{"x", x}), func(at map[string]int) (s float64) {
			for i := 0; i <= at["n"]; i++ {
				s += elem(x, at, "n", i)
			}
			return s
		})
	}
	i := arr(ir.I32, "n", 6)(3, -1, 4, 1, -5, 9)
	near(t, "cumsum of integers", compute(t, "", "cumsum(x, over = n)", 1, input{"x", i}), func(at map[string]int) float64 {
		return []float64{3, 2, 6, 7, 2, 11}[at["n"]]
	})
}

// scatter puts what a gather from the same positions takes back.
func TestScatter(t *testing.T) {
	x, at := noise(70, "batch", 2, "seq", 4, "embed", 3), arr(ir.I32, "batch", 2, "seq", 4)(0, 2, 2, -1, 5, 1, 0, 4)
	got := compute(t, "", "scatter(x, at, over = seq, into = cell, size = 5)", 1, input{"x", x}, input{"at", at})
	if want := []string{"cell", "batch", "embed"}; fmt.Sprint(got.Type.Names()) != fmt.Sprint(want) {
		t.Errorf("the axes are %v, want %v", got.Type.Names(), want)
	}
	sum := func(c map[string]int, same int) (s float64) {
		for i := range 4 {
			if int(at.Data[c["batch"]*4+i]) == c["cell"] {
				s += elem(x, c, "seq", i) * float64(same)
			}
		}
		return s
	}
	near(t, "scatter", got, func(c map[string]int) float64 { return sum(c, 1) })
	// An axis that x lacks adds x for each position along it.
	both := arr(ir.I32, "choice", 2, "batch", 2, "seq", 4)(append(append([]float64(nil), at.Data...), at.Data...)...)
	two := compute(t, "", "scatter(x, at, over = (choice, seq), into = cell, size = 5)", 1, input{"x", x}, input{"at", both})
	near(t, "scatter along two axes", two, func(c map[string]int) float64 { return sum(c, 2) })
}
