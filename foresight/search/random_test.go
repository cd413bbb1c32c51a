package search

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"ptc/foresight/certificate"
	"ptc/foresight/facts"
	"ptc/foresight/machine"
	"ptc/ir"
	"ptc/ir/auto"
)

// made are random costs: a table for each block, and layouts that take as much as their bounds say and something more.
type made struct {
	f    *finder // for the formulas of bounds
	seed uint64
	asks int
}

func (m *made) random(text string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(text))
	return rand.New(rand.NewPCG(m.seed, h.Sum64()))
}

func (m *made) best(_ []string, flops int64) machine.PS { return machine.PS(flops / 100) }

func (m *made) exchange(kind string, s machine.Spread, bytes int64) machine.PS {
	return machine.PS(bytes * int64(s.Size-1) / int64(s.Size) / 10)
}

func (m *made) between(from, to int, bytes int64) machine.PS {
	return machine.PS(max(from, to)) + machine.PS(bytes/1000)
}

func (m *made) block(at *Choice) (certificate.Table, error) {
	r := m.random(at.Path())
	if r.IntN(12) == 0 {
		return certificate.Table{Illegal: "E0406"}, nil
	}
	n := func(most int64) int64 { return 1 + r.Int64N(most) }
	return certificate.Table{Forward: n(2000), Backward: n(4000), Exchanges: n(3000), Ends: n(5000), Kept: n(400), Shared: n(300)}, nil
}

func (m *made) layout(c *Choice) (certificate.Leaf, error) {
	m.asks++
	r := m.random(c.Path())
	x := &candidate{Choice: c}
	for _, s := range m.f.sources(c) {
		if _, err := m.f.tableOf(s); err != nil {
			return certificate.Leaf{}, err
		}
		x.tables++
	}
	least := m.f.least(x)
	l := certificate.Leaf{By: certificate.Probe, Why: certificate.Exact}
	l.PS, l.Bytes = int64(least.step)+r.Int64N(1+int64(least.step)/4), least.bytes+r.Int64N(1+least.bytes/4)
	switch {
	case r.IntN(15) == 0:
		return certificate.Leaf{By: certificate.Probe, Why: certificate.Illegal, Code: "E0407"}, nil
	case l.Bytes > m.f.space.memory:
		return certificate.Leaf{By: certificate.Probe, Why: certificate.Over, Bytes: l.Bytes}, nil
	}
	return l, nil
}

// randomSpace is a small model on a small cluster.
func randomSpace(t *testing.T, r *rand.Rand) *Space {
	pick := func(n ...int) int { return n[r.IntN(len(n))] }
	heads, ffn, vocab, layers, rows := pick(2, 4, 6), pick(4, 8, 12), pick(6, 10, 16), pick(2, 3, 4, 6, 8), pick(4, 8, 12, 16)
	axes := func(list ...any) (out []ir.Axis) {
		for i := 0; i < len(list); i += 2 {
			out = append(out, ir.Axis{Name: list[i].(string), Size: list[i+1].(int)})
		}
		return out
	}
	x := &facts.Facts{Batch: "batch", Rows: rows, Sequence: "seq", Positions: pick(4, 8), Blocks: "blocks", Module: "Block", Instances: layers,
		Residual: "embed", Tensor: []string{"heads", "ffn", "vocab"}, Outer: []string{"vocab"}, DTypes: []string{"bf16"},
		Sizes: map[string]int{"heads": heads, "ffn": ffn, "vocab": vocab, "embed": 8},
		Flops: float64(100_000 * layers * rows), BlockFlops: int64(90_000 * rows),
		Params: []facts.Param{{Path: "wte", Axes: axes("vocab", vocab, "embed", 8), Bytes: 4, States: 8}, {Path: "blocks.{i}.w", Axes: axes("embed", 8, "ffn", ffn), Bytes: 4, States: 8, Block: true},
			{Path: "blocks.{i}.q", Axes: axes("embed", 8, "heads", heads), Bytes: 4, States: 8, Block: true}}}
	m, err := machine.Named("a100_80")
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.On([]string{"1x4", "2x2", "2x4", "1x8", "3x2"}[r.IntN(5)])
	if err != nil {
		t.Fatal(err)
	}
	l := &auto.Layout{Memory: int64(pick(3_000, 8_000, 30_000, 1<<30)), Minimize: []string{"step_time"}}
	switch r.IntN(5) {
	case 0:
		l.Minimize = []string{"memory", "step_time"}
	case 1:
		l.Minimize = []string{"devices", "step_time"}
		l.Allow = append(l.Allow, auto.Allowed{Word: "devices", Least: 1})
	case 2:
		l.Minimize = []string{"cost"}
		l.Allow = append(l.Allow, auto.Allowed{Word: "devices", Least: 2})
	}
	if r.IntN(2) == 0 {
		l.Allow = append(l.Allow, auto.Allowed{Word: "schedule", Values: []string{"1f1b", "interleaved", "zb_h1", "zb_v", "gpipe"}})
	}
	if r.IntN(3) == 0 {
		l.Allow = append(l.Allow, auto.Allowed{Word: "zero", Values: []string{"0", "1", "2", "3"}}, auto.Allowed{Word: "offload", Values: []string{"none", "optimizer", "activations"}})
	}
	if r.IntN(3) == 0 {
		l.Allow = append(l.Allow, auto.Allowed{Word: "recompute", Values: []string{"none", "full", "auto"}}, auto.Allowed{Word: "tp", Most: 2})
	}
	return &Space{Facts: x, Cluster: c, Auto: l}
}

// TestBruteForce: of 1,000 random spaces with random costs, what is found is the first of the best layouts of all, and the
// certificate's leaves cover the space, each with a reason that holds.
func TestBruteForce(t *testing.T) {
	fits, saved := 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := randomSpace(t, r)
		e := &made{seed: seed}
		s.prepare()
		all := &finder{space: s, slack: whole, tables: map[string]*certificate.Table{}, leaves: map[string]*certificate.Leaf{}, evaluator: e}
		e.f = all
		best, leaves := brute(t, all)
		asked := e.asks
		e.asks = 0
		found, cert, err := find(context.Background(), e, s, "best", nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		switch {
		case best == nil:
			if found.Best != nil || cert.Winner != -1 {
				t.Fatalf("seed %d: found %s where nothing fits", seed, found.Best.Path())
			}
			continue
		case found.Best == nil || found.Best.Path() != best.Path() || found.Step != best.step || found.Bytes != best.bytes:
			t.Fatalf("seed %d: found %v, want %s with %d ps and %d bytes", seed, found, best.Path(), best.step, best.bytes)
		case cert.Leaves[cert.Winner].At != best.Path() || found.Gap() != 0:
			t.Fatalf("seed %d: the certificate's winner is %s", seed, cert.Leaves[cert.Winner].At)
		}
		fits, saved = fits+1, saved+asked-e.asks
		covers(t, seed, cert, leaves, all, best)
	}
	if fits < 300 || saved < 1000 {
		t.Errorf("%d of 1,000 spaces have a layout, and searches left out %d evaluations: the test tries too little", fits, saved)
	}
}

// brute evaluates every layout of a space.
func brute(t *testing.T, f *finder) (best *candidate, leaves map[string]*candidate) {
	leaves = map[string]*candidate{}
	var walk func(c *Choice, order []int)
	walk = func(c *Choice, order []int) {
		if c.Depth < len(Dimensions) {
			for i, x := range f.space.branches(c) {
				walk(x, append(slices.Clone(order), i))
			}
			return
		}
		l, err := f.layout(c)
		if err != nil {
			t.Fatal(err)
		}
		x := &candidate{Choice: c, order: order, least: least{machine.PS(l.PS), l.Bytes}}
		leaves[c.Path()] = x
		if l.Why == certificate.Exact && (best == nil || f.compare(x, best) < 0) {
			best = x
		}
	}
	walk(&Choice{}, nil)
	return best, leaves
}

// covers checks that each layout of the space is below one leaf, which says the truth of it.
func covers(t *testing.T, seed uint64, c *certificate.Certificate, leaves map[string]*candidate, f *finder, best *candidate) {
	t.Helper()
	below := map[string]*certificate.Leaf{}
	for i := range c.Leaves {
		below[c.Leaves[i].At] = &c.Leaves[i]
	}
	for path, x := range leaves {
		var over []*certificate.Leaf
		for at := range prefixes(path) {
			if l := below[at]; l != nil {
				over = append(over, l)
			}
		}
		if len(over) != 1 {
			t.Fatalf("seed %d: %d leaves are above %s", seed, len(over), path)
		}
		switch l := over[0]; {
		case l.Why == certificate.Exact && (l.PS != int64(x.step) || l.Bytes != x.bytes), l.Why == certificate.Over && x.step > 0 && x.bytes <= c.Memory, l.Why == certificate.Bound && x.step > 0 && f.compare(x, best) < 0:
			t.Fatalf("seed %d: leaf %+v is above %s, which takes %d ps and %d bytes", seed, l, path, x.step, x.bytes)
		}
	}
}

// prefixes yields the paths of a path's branches.
func prefixes(path string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := range path {
			if path[i] == '/' && !yield(path[:i]) {
				return
			}
		}
		yield(path)
	}
}

// TestSlack: where a layout takes less than its bound, the search leaves more out, and still finds the best one.
func TestSlack(t *testing.T) {
	loose := 0
	for seed := range uint64(200) {
		s := randomSpace(t, rand.New(rand.NewPCG(seed, 2)))
		s.Auto.Minimize = []string{"step_time"}
		s.prepare()
		e := &made{seed: seed}
		less := &lower{e}
		all := &finder{space: s, slack: whole, tables: map[string]*certificate.Table{}, leaves: map[string]*certificate.Leaf{}, evaluator: less}
		e.f = &finder{space: s, slack: whole, tables: map[string]*certificate.Table{}, leaves: map[string]*certificate.Leaf{}, evaluator: e}
		best, _ := brute(t, all)
		found, cert, err := find(context.Background(), less, s, "best", nil)
		if err != nil {
			t.Fatal(err)
		}
		if best == nil {
			continue
		}
		if cert.Slack < whole {
			loose++
		}
		if int64(found.Step) > int64(best.step)*10/9+2 {
			t.Errorf("seed %d: found %s with %d ps; %s takes %d", seed, found.Best.Path(), found.Step, best.Path(), best.step)
		}
	}
	if loose == 0 {
		t.Error("no search met a bound that was too high")
	}
}

// lower takes up to a tenth from what layouts take.
type lower struct{ *made }

func (l *lower) layout(c *Choice) (certificate.Leaf, error) {
	x, err := l.made.layout(c)
	x.PS = x.PS * (90 + l.random("less "+c.Path()).Int64N(11)) / 100
	return x, err
}

// TestResume: a search that was interrupted and goes on gives the same bytes.
func TestResume(t *testing.T) {
	for seed := range uint64(50) {
		run := func(steps int, known *certificate.Certificate) (*certificate.Certificate, int) {
			s := randomSpace(t, rand.New(rand.NewPCG(seed, 3)))
			s.Known = known
			e := &made{seed: seed}
			s.prepare()
			e.f = &finder{space: s, slack: whole, tables: map[string]*certificate.Table{}, leaves: map[string]*certificate.Leaf{}, evaluator: e}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_, c, err := find(ctx, e, s, "best", func(Progress) {
				if steps--; steps == 0 {
					cancel()
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			return c, e.asks
		}
		entire, asked := run(0, nil)
		part, _ := run(20, nil)
		text, err := certificate.Decode(part.Encode())
		if err != nil {
			t.Fatal(err)
		}
		again, rest := run(0, text)
		if fmt.Sprint(entire) != fmt.Sprint(again) {
			t.Errorf("seed %d: the certificate differs after an interruption", seed)
		}
		if rest > asked {
			t.Errorf("seed %d: %d evaluations after an interruption, %d without", seed, rest, asked)
		}
	}
}
