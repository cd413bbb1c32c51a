package certify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ptc/foresight/certificate"
	"ptc/foresight/facts"
	"ptc/foresight/machine"
	"ptc/foresight/search"
	"ptc/ir"
	"ptc/ir/auto"
	"ptc/runtime/program"
)

// nobody is a compiler that refuses every layout.
type nobody struct{}

func (nobody) Plan(string) (*program.Plan, string, error) { return nil, "E0406", nil }

// randomSpace are facts of no model in particular, a machine, and an auto layout.
func randomSpace(t *testing.T, r *rand.Rand) *search.Space {
	pick := func(n ...int) int { return n[r.IntN(len(n))] }
	some := func(chance int, a auto.Allowed) (out []auto.Allowed) {
		if r.IntN(chance) == 0 {
			out = append(out, a)
		}
		return out
	}
	param := func(path string, axes ...any) facts.Param {
		p := facts.Param{Path: path, Bytes: 4, States: int64(pick(4, 8)), Block: strings.HasPrefix(path, "blocks")}
		for i := 0; i < len(axes); i += 2 {
			p.Axes = append(p.Axes, ir.Axis{Name: axes[i].(string), Size: axes[i+1].(int)})
		}
		return p
	}
	heads, ffn, vocab, experts, rows := pick(2, 6, 8), pick(8, 12, 64), pick(10, 16), pick(2, 3, 4, 8), pick(4, 12, 16, 64)
	x := &facts.Facts{Batch: "batch", Rows: rows, Sequence: "seq", Positions: pick(8, 4096, 16384, 12288), Blocks: "blocks", Module: "Block", Instances: pick(1, 2, 3, 7, 8, 12),
		Residual: "embed", Tensor: []string{"ffn", "heads", "vocab"}, Outer: []string{"vocab"}, DTypes: []string{"bf16"},
		Sizes: map[string]int{"heads": heads, "ffn": ffn, "vocab": vocab, "embed": 8, "experts": experts}, Flops: 1e15, BlockFlops: 1e13,
		Params: []facts.Param{param("wte", "vocab", vocab, "embed", 8), param("blocks.{i}.w", "embed", 8, "ffn", ffn), param("blocks.{i}.q", "embed", 8, "heads", heads)}}
	switch r.IntN(4) {
	case 0:
		x.Experts = "experts"
		x.Params = append(x.Params, param("blocks.{i}.e", "experts", experts, "embed", 8, "ffn", ffn))
	case 1:
		x.Sequence, x.Positions = "", 0
	case 2:
		if r.IntN(3) == 0 {
			x.Blocks, x.Module, x.Instances = "", "", 0
		}
	}
	m, err := machine.Named("a100_80")
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.On([]string{"1x1", "1x4", "2x4", "3x2", "4x8"}[r.IntN(5)])
	if err != nil {
		t.Fatal(err)
	}
	l := &auto.Layout{Name: "best", Memory: int64(pick(300, 1000, 3000, 30_000, 1<<40)), Minimize: []string{[]string{"step_time", "memory", "cost", "devices"}[r.IntN(4)]}}
	l.Allow = slices.Concat(some(3, auto.Allowed{Word: "devices", Least: 2}), some(3, auto.Allowed{Word: "tp", Most: pick(1, 4, 16)}), some(4, auto.Allowed{Word: "pp", Least: pick(1, 2)}),
		some(4, auto.Allowed{Word: "cp", Numbers: []int{1, 2, 3}}), some(4, auto.Allowed{Word: "ep", Least: pick(1, 2)}), some(4, auto.Allowed{Word: "dp", Most: 4}), some(3, auto.Allowed{Word: "rows", Most: pick(2, 64)}),
		some(3, values("recompute", "auto", "none")), some(3, values("zero", "0", "2", "3")), some(3, values("offload", "optimizer", "activations", "none")),
		some(3, values("schedule", "zb_v", "gpipe", "interleaved", "zb_h1")), some(4, auto.Allowed{Word: "chunks", Most: 3}), some(4, values("stages", "even")), some(4, values("sequence", "on")),
		some(4, auto.Allowed{Word: "tensor", Sets: [][]string{{"heads"}, {"ffn", "vocab"}}}),
		some(4, auto.Allowed{Word: "placement", Sets: [][]string{{"dp", "pp", "tp"}, {"tp", "ep", "dp", "cp", "pp"}, {"pp", "tp", "ep", "dp", "cp"}}}))
	for _, k := range []auto.Kept{{Word: "shard", Text: "shard batch over dp", Axes: []string{"batch"}, Mesh: []string{"dp"}}, {Word: "shard", Text: "shard heads over tp", Axes: []string{"heads"}, Mesh: []string{"tp"}},
		{Word: "precision", Text: "precision {\n  compute = bf16\n}"}, {Word: "zero", Text: "zero 1 over dp", Mesh: []string{"dp"}}, {Word: "recompute", Text: "recompute Block"},
		{Word: "offload", Text: "offload optimizer to host"}, {Word: "accumulate", Text: "accumulate = 2"}} {
		if r.IntN(7) == 0 {
			l.Keep = append(l.Keep, k)
		}
	}
	return &search.Space{Facts: x, Cluster: c, Auto: l}
}

// TestSpace: verifier and search have the same space, with the same layouts in the same order, whose texts differ in spaces alone.
func TestSpace(t *testing.T) {
	layouts := 0
	for seed := range uint64(300) {
		s := randomSpace(t, rand.New(rand.NewPCG(seed, 5)))
		k := newChecker(&certificate.Certificate{}, &Given{Facts: s.Facts, Cluster: s.Cluster, Auto: s.Auto}, newKnown(), nil)
		var own []*part
		var walk func(p *part)
		walk = func(p *part) {
			if len(p.words) == levels {
				own = append(own, p)
				return
			}
			for _, x := range k.below(p) {
				walk(x)
			}
		}
		walk(&part{})
		n := 0
		for path, text := range search.All(nobody{}, s, "best") {
			if n == len(own) {
				t.Fatalf("seed %d: the verifier has %d layouts; the search goes on with %s", seed, n, path)
			}
			p := own[n]
			k.parts, k.c.Leaves = []*part{p}, []certificate.Leaf{{At: path, By: certificate.Facts}}
			if got := k.layout(0); p.path() != path || strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(text), " ") {
				t.Fatalf("seed %d: layout %d is %s for the verifier:\n%s\nand %s for the search:\n%s", seed, n, p.path(), got, path, text)
			}
			n++
		}
		if n < len(own) {
			t.Fatalf("seed %d: the search has %d layouts; the verifier goes on with %s", seed, n, own[n].path())
		}
		layouts += n
	}
	if layouts < 10_000 {
		t.Errorf("%d layouts: the test tries too little", layouts)
	}
	t.Log(layouts)
}

// TestNothing: where the compiler refuses all layouts, a certificate says so, or that they take too much memory.
func TestNothing(t *testing.T) {
	over := 0
	for seed := range uint64(200) {
		s := randomSpace(t, rand.New(rand.NewPCG(seed, 6)))
		_, c, err := search.Find(context.Background(), nobody{}, s, "best", nil)
		if err != nil {
			t.Fatal(err)
		}
		g := &Given{Facts: s.Facts, Cluster: s.Cluster, Auto: s.Auto, Probe: func(string) (*program.Plan, string, error) { return nil, "E0406", errors.New("it is refused") }}
		v, err := Verify(c, g, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if v.Winner != nil || v.Compiled > 0 {
			t.Errorf("seed %d: %+v", seed, v)
		}
		over += v.Leaves[certificate.Over]
	}
	if over < 300 {
		t.Errorf("%d parts of spaces take too much memory: the test tries too little", over)
	}
}

// TestInterrupted: the certificate of a search that was interrupted proves nothing.
func TestInterrupted(t *testing.T) {
	s := randomSpace(t, rand.New(rand.NewPCG(1, 6)))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, c, err := search.Find(ctx, nobody{}, s, "best", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Verify(c, &Given{Facts: s.Facts, Cluster: s.Cluster, Auto: s.Auto}, nil)
	var f *Fault
	if !errors.As(err, &f) || f.Check != Winner || !strings.Contains(fmt.Sprint(err), "does not say that no layout of this part fits") {
		t.Errorf("the error is %v", err)
	}
}
