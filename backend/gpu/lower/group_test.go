package lower

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/nvptx"
	"ptc/backend/gpu/ptx"
	"ptc/backend/nest"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
)

// TestGroupProducts: whole blocks by matrix instructions of warpgroups, for operands that are contiguous
// along either axis, in spans of all lengths.
func TestGroupProducts(t *testing.T) {
	for _, dtype := range []string{"bf16", "f16"} {
		for i, o := range orders {
			for _, c := range []struct {
				rows, cols, over, stages, warps int
			}{{64, 64, 64, 4, 4}, {128, 64, 32, 3, 8}, {64, 128, 16, 2, 8}, {128, 32, 64, 1, 4}, {128, 128, 128, 3, 8}, {64, 256, 64, 3, 4}} {
				if dtype == "f16" && c.over != 64 {
					continue
				}
				p := problem{m: c.rows, n: 2 * c.cols, k: 3 * c.over, left: o[0], right: o[1], dtype: dtype, out: dtype, warps: c.warps,
					cut: fmt.Sprintf("rows=%d cols=%d over=%d grid=-1 dot=wgmma(64x64x16) left=task right=task stages=%d", c.rows, c.cols, c.over, c.stages)}
				p.options = emu.Options{Seed: uint64(i + c.over), Late: i%2 == 0}
				x := p.launch(t)
				for _, name := range []string{"wgmma.mma_async", "cp.async.bulk.tensor.2d"} {
					if x.count(name) == 0 {
						t.Errorf("%s: there is no %s", p, name)
					}
				}
				if _, err := x.run(); err != nil {
					t.Errorf("%s: %v", p, err)
				}
			}
		}
	}
}

// TestGroupProductsOfAllSizes: tails along every axis, batches, operands that are computed, work behind the
// product, and copies and products that end late or at any time.
func TestGroupProductsOfAllSizes(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	pick := func(of ...int) int { return of[r.Intn(len(of))] }
	groups := 0
	for i := range 60 {
		o := orders[r.Intn(len(orders))]
		p := problem{left: o[0], right: o[1],
			m: pick(64, 72, 130), n: pick(8, 24, 64, 66, 130), k: pick(16, 36, 64, 130, 200),
			batch: pick(0, 0, 2), before: pick(0, 1) == 1, after: pick(0, 1) == 1,
			dtype: []string{"bf16", "f16"}[r.Intn(2)], warps: pick(4, 8)}
		p.out = []string{"f32", p.dtype}[pick(0, 1)]
		p.cut = fmt.Sprintf("rows=%d cols=%d over=%d grid=-1 dot=wgmma(64x64x16) left=%s right=%s stages=%d", pick(64, 72, 128), pick(8, 16, 32, 64, 128),
			pick(16, 20, 32, 64, 80), []string{"none", "task"}[pick(0, 1)], []string{"none", "task"}[pick(0, 1)], pick(1, 2, 3, 4))
		p.options = emu.Options{Seed: uint64(pick(0, i+1)), Late: pick(0, 1) == 1}
		x := p.launch(t)
		if x.count("wgmma.mma") > 0 {
			groups++
		}
		if _, err := x.run(); err != nil {
			t.Fatalf("%s: %v\n%s", p, err, p.text())
		}
	}
	if groups < 30 {
		t.Errorf("%d products by matrix instructions of warpgroups", groups)
	}
}

// ordering are the instructions that order what runs by itself.
var ordering = []string{"mbarrier.init.shared::cta.b64", "mbarrier.inval.shared::cta.b64", "fence.mbarrier_init.release.cluster", "mbarrier.arrive.expect_tx.shared::cta.b64",
	"mbarrier.try_wait.parity.shared::cta.b64", "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes", "bar.sync", "cp.async.commit_group", "cp.async.wait_group", "fence.proxy.async.shared::cta",
	"wgmma.fence.sync.aligned", "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned"}

// TestEveryFenceIsNeeded takes out each of the instructions that order a product of warpgroups, one by
// one, and waits for one group less: the emulator finds each.
func TestEveryFenceIsNeeded(t *testing.T) {
	found := map[string]int{}
	for _, p := range []problem{
		{m: 64, n: 16, k: 320, left: "mk", right: "kn", dtype: "bf16", out: "f32", cut: "rows=64 cols=16 over=32 grid=-1 dot=wgmma(64x16x16) left=task right=task stages=4", warps: 4},
		{m: 128, n: 16, k: 320, left: "mk", right: "nk", dtype: "bf16", out: "bf16", before: true, cut: "rows=128 cols=16 over=32 grid=-1 dot=wgmma(64x16x16) left=task right=task stages=3", warps: 8},
		{m: 64, n: 20, k: 320, left: "mk", right: "kn", dtype: "bf16", out: "f32", cut: "rows=64 cols=20 over=64 grid=-1 dot=wgmma(64x16x16) left=task right=task stages=4", warps: 4},
		{m: 128, n: 32, k: 160, batch: 2, left: "mk", right: "nk", dtype: "bf16", out: "bf16", cut: "rows=128 cols=32 over=32 grid=0 dot=wgmma(64x16x16) left=task right=task stages=3", warps: 8},
		{m: 64, n: 16, k: 160, left: "mk", right: "nk", dtype: "bf16", out: "bf16", cut: "rows=64 cols=16 over=32 grid=-1 dot=wgmma(64x16x16) left=task right=task stages=2", warps: 4},
	} {
		x := p.launch(t)
		e := x.kernels[0].Entry
		try := func(what string, body []ptx.Stmt) {
			cut := *e
			cut.Body = body
			for seed := uint64(0); seed < 8; seed++ {
				x.options = emu.Options{Check: true, Steps: 1 << 22, Seed: seed, Late: seed%2 == 0}
				if _, err := x.execute([]*ptx.Entry{&cut}, -1, -1); err != nil {
					return
				}
			}
			t.Errorf("%s: %s, and nothing is wrong", p, what)
		}
		for i, s := range e.Body {
			// A loop in another one has a barrier before it and one behind it, of which one does.
			if !slices.Contains(ordering, s.Op) || s.Op == "bar.sync" && p.batch > 0 {
				continue
			}
			try(fmt.Sprintf("without %s at %d", s.String(), i), slices.Delete(slices.Clone(e.Body), i, i+1))
			found[s.Op]++
			if strings.Contains(s.Op, "expect_tx") {
				for _, more := range []int64{-16, 16} {
					body := slices.Clone(e.Body)
					body[i].Args = slices.Clone(s.Args)
					body[i].Args[2].Imm += more
					try(fmt.Sprintf("%d bytes more at %d", more, i), body)
				}
			}
			if len(s.Args) == 1 && strings.Contains(s.Op, "wait_group") {
				body := slices.Clone(e.Body)
				body[i].Args = []ptx.Operand{ptx.Imm(s.Args[0].Imm + 1)}
				try(fmt.Sprintf("%s of one group more at %d", s.Op, i), body)
			}
		}
	}
	if len(found) != len(ordering) {
		t.Error(found)
	}
}

// TestFoldFences takes out each of the instructions that order an attention by matrix instructions of warpgroups, one by
// one: in one of the runs the emulator finds each.
func TestFoldFences(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred launches")
	}
	a := irtest.Attention{Batch: 1, Heads: 1, Group: 1, Rows: 64, Keys: 192, Cols: 16, Values: 16, BF16: true}
	f := attention(t, a.Forward())
	args := irtest.Arguments(f, 1)
	want, err := eval.Func(&ir.Module{Funcs: []*ir.Func{f}}, f, args, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := fusion.Analyze(f)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := nest.Fold("k", k, schedule.Schedule{Rows: 64, Over: 64, Left: schedule.PerTask, Right: schedule.PerTask, Stages: 2,
		Dot: schedule.Dot{Kind: schedule.WGMMA, M: 64, N: 64, K: 16}})
	if err != nil {
		t.Fatal(err)
	}
	joined, err := Join(nvptx.Machine{}, "k", len(f.Args)+len(f.Results), []Section{{Program: parts[0].Program, Args: parts[0].Args}}, 4)
	if err != nil {
		t.Fatal(err)
	}
	x := &launch{f: f, k: k, kernels: []Kernel[*ptx.Entry]{joined}, args: args, want: want}
	e := joined.Entry
	fails := func(body []ptx.Stmt) bool {
		cut := *e
		cut.Body = body
		for seed := uint64(0); seed < 8; seed++ {
			x.options = emu.Options{Check: true, Steps: 1 << 22, Seed: seed, Late: seed%2 == 0}
			if _, err := x.execute([]*ptx.Entry{&cut}, -1, -1); err != nil {
				return true
			}
		}
		return false
	}
	if fails(e.Body) {
		t.Fatal("nothing is taken out, and it fails")
	}
	// Behind what is stored before the loop come two fences, of which one does.
	const fence = "fence.proxy.async.shared::cta"
	if !fails(slices.DeleteFunc(slices.Clone(e.Body), func(s ptx.Stmt) bool { return s.Op == fence })) {
		t.Error("without fences of proxies nothing is wrong")
	}
	for i, s := range e.Body {
		if !slices.Contains(ordering, s.Op) || s.Op == "bar.sync" || s.Op == fence {
			continue
		}
		if !fails(slices.Delete(slices.Clone(e.Body), i, i+1)) {
			t.Errorf("without %s at %d nothing is wrong", s.String(), i)
		}
	}
}
