package lower

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/backend/gpu/choose"
	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/nvptx"
	"ptc/backend/gpu/ptx"
	"ptc/backend/nest"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
)

// specials are products of specialized warps whose operands tensor maps copy.
func specials(r *rand.Rand, n int) []problem {
	pick := func(of ...int) int { return of[r.Intn(len(of))] }
	var out []problem
	for i := range n {
		o := orders[i%len(orders)]
		p := problem{m: pick(64, 128, 136, 200), n: pick(64, 72, 128), k: pick(64, 136, 264), left: o[0], right: o[1], dtype: []string{"bf16", "f16"}[r.Intn(2)],
			batch: pick(0, 0, 2), after: pick(0, 1) == 1, warps: pick(4, 8)}
		p.out = []string{"f32", p.dtype}[pick(0, 1)]
		raster := ""
		if pick(0, 1) == 1 {
			raster = "raster=groups group=2 "
		}
		p.cut = fmt.Sprintf("rows=%d cols=%d over=%d grid=-1 %sdot=wgmma(64x64x16) left=task right=task stages=%d producers=1 persistent=%d", pick(64, 128), pick(32, 64),
			pick(16, 32, 64), raster, pick(3, 4, 5), pick(0, 1, 2, 3))
		p.options = emu.Options{Seed: uint64(pick(0, i+1)), Late: pick(0, 1) == 1}
		out = append(out, p)
	}
	return out
}

// TestSpecialized: tails along every axis, batches, rasters, fewer and more blocks than tasks, copies and products that
// end late or at any time.
func TestSpecialized(t *testing.T) {
	for _, p := range specials(rand.New(rand.NewSource(3)), 24) {
		x := p.launch(t)
		if x.count("mbarrier.arrive.shared::cta") == 0 {
			t.Errorf("%s: warps are not specialized", p)
		}
		if _, err := x.run(); err != nil {
			t.Fatalf("%s: %v\n%s", p, err, p.text())
		}
	}
}

// TestClusters: blocks of a cluster share tasks, with matrix instructions of warpgroups and of warps, and without.
func TestClusters(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	pick := func(of ...int) int { return of[r.Intn(len(of))] }
	for i := range 24 {
		o := orders[i%len(orders)]
		p := problem{m: pick(64, 100), n: pick(24, 64, 72), k: pick(128, 200, 300), left: o[0], right: o[1], batch: pick(0, 0, 2),
			before: pick(0, 1) == 1, after: pick(0, 1) == 1, dtype: []string{"bf16", "f16", "f32"}[r.Intn(3)], warps: pick(4, 8)}
		p.out = []string{"f32", p.dtype}[pick(0, 1)]
		dot := []string{" dot=wgmma(64x64x16)", " dot=mma(16x8x16)", ""}[pick(0, 0, 1, 2)]
		p.cut = fmt.Sprintf("rows=64 cols=%d over=16 grid=-1%s left=%s right=task stages=%d cluster=%d", pick(16, 32, 64), dot, []string{"none", "task"}[pick(0, 1)], pick(1, 2, 3, 4), pick(2, 4, 8))
		p.options = emu.Options{Seed: uint64(pick(0, i+1)), Late: pick(0, 1) == 1}
		x := p.launch(t)
		if x.count("barrier.cluster") == 0 {
			t.Errorf("%s: there is no cluster", p)
		}
		if _, err := x.run(); err != nil {
			t.Fatalf("%s: %v\n%s", p, err, p.text())
		}
	}
}

// mutate runs an entry with another body, from some seeds, until something is found wrong.
func (x *launch) mutate(change func(e *ptx.Entry)) bool {
	cut := *x.kernels[0].Entry
	cut.Body = slices.Clone(cut.Body)
	change(&cut)
	for seed := uint64(0); seed < 8; seed++ {
		x.options = emu.Options{Check: true, Steps: 1 << 20, Seed: seed, Late: seed%2 == 0}
		if _, err := x.execute([]*ptx.Entry{&cut}, -1, -1); err != nil {
			return true
		}
	}
	return false
}

// without has an instruction that does nothing in the place of number i.
func without(i int) func(e *ptx.Entry) {
	return func(e *ptx.Entry) { e.Body = slices.Delete(e.Body, i, i+1) }
}

// with has another operand n of instruction i.
func with(i, n int, o ptx.Operand) func(e *ptx.Entry) {
	return func(e *ptx.Entry) {
		e.Body[i].Args = slices.Clone(e.Body[i].Args)
		e.Body[i].Args[n] = o
	}
}

// TestSpecialMutants: without any of the instructions that order specialized warps, or with a wrong count, parity or
// number of registers, a product is not accepted.
func TestSpecialMutants(t *testing.T) {
	p := problem{m: 128, n: 64, k: 160, left: "mk", right: "kn", dtype: "bf16", out: "bf16", warps: 4,
		cut: "rows=64 cols=32 over=32 grid=-1 dot=wgmma(64x32x16) left=task right=task stages=3 producers=1 persistent=2"}
	x := p.launch(t)
	if x.mutate(func(*ptx.Entry) {}) {
		t.Fatal("nothing is changed, and it fails")
	}
	found := map[string]int{}
	e := x.kernels[0].Entry
	for i, s := range e.Body {
		name := strings.Join(strings.Split(s.Op, ".")[:min(2, strings.Count(s.Op, ".")+1)], ".")
		try := func(what string, change func(e *ptx.Entry)) {
			found[name]++
			if !x.mutate(change) {
				t.Errorf("%s at %d: %s, and nothing is wrong", s.String(), i, what)
			}
		}
		number := func(n int, plus ...int64) {
			for _, d := range plus {
				try(fmt.Sprint(d, " more"), with(i, n, ptx.Imm(s.Args[n].Imm+d)))
			}
		}
		switch name {
		case "mbarrier.init":
			try("it is missing", without(i))
			number(1, 1)
			if s.Args[1].Imm > 1 {
				number(1, -1)
			}
		case "mbarrier.try_wait":
			try("it is missing", without(i))
			for parity := range int64(2) {
				try(fmt.Sprint("parity ", parity), with(i, 2, ptx.Imm(parity)))
			}
		case "mbarrier.arrive":
			try("it is missing", without(i))
			if len(s.Args) > 2 {
				number(2, -16, 16)
			}
		case "setmaxnreg.dec":
			try("it is missing", without(i))
			number(0, 8)
		case "setmaxnreg.inc":
			number(0, 8)
		case "wgmma.wait_group":
			number(0, 1)
		case "cp.async", "wgmma.fence", "wgmma.commit_group", "fence.mbarrier_init":
			try("it is missing", without(i))
		case "bar.sync":
			try("it is missing", without(i))
			if len(s.Args) > 1 {
				try("it is of all threads", with(i, 1, ptx.Imm(int64(e.Threads))))
			}
		}
	}
	if len(found) < 9 {
		t.Error(found)
	}
}

// TestClusterMutants: without any of the meetings of a cluster, with one that releases nothing, or with another rank, sums
// are not accepted.
func TestClusterMutants(t *testing.T) {
	p := problem{m: 64, n: 16, k: 160, left: "mk", right: "kn", dtype: "bf16", out: "f32", warps: 4,
		cut: "rows=64 cols=16 over=16 grid=-1 dot=wgmma(64x16x16) left=task right=task stages=3 cluster=4"}
	x := p.launch(t)
	if x.mutate(func(*ptx.Entry) {}) {
		t.Fatal("nothing is changed, and it fails")
	}
	meetings, ranks := 0, 0
	e := x.kernels[0].Entry
	for i, s := range e.Body {
		try := func(what string, change func(e *ptx.Entry)) {
			if !x.mutate(change) {
				t.Errorf("%s at %d: %s, and nothing is wrong", s.String(), i, what)
			}
		}
		switch {
		case strings.HasPrefix(s.Op, "barrier.cluster.arrive"):
			meetings++
			try("it is missing", without(i))
			try("so is its wait", func(e *ptx.Entry) { e.Body = slices.Delete(e.Body, i, i+2) })
			try("it releases nothing", func(e *ptx.Entry) { e.Body[i].Op = "barrier.cluster.arrive.relaxed.aligned" })
		case strings.HasPrefix(s.Op, "barrier.cluster.wait"):
			try("it is missing", without(i))
		case strings.HasPrefix(s.Op, "mapa"):
			ranks++
			try("it is missing", without(i))
		}
	}
	for _, n := range []int{2, 8} {
		if !x.mutate(func(e *ptx.Entry) { e.Cluster = n }) {
			t.Errorf("a cluster of %d blocks in the place of 4, and nothing is wrong", n)
		}
	}
	if meetings != 2 || ranks != 3 {
		t.Errorf("%d meetings and %d ranks", meetings, ranks)
	}
}

// TestClusterOrder: the sums of a cluster are added in one order, whatever the order of its blocks.
func TestClusterOrder(t *testing.T) {
	p := problem{m: 64, n: 16, k: 300, left: "mk", right: "nk", dtype: "bf16", out: "f32", warps: 4,
		cut: "rows=64 cols=16 over=16 grid=-1 dot=wgmma(64x16x16) left=task right=task stages=3 cluster=8"}
	x := p.launch(t)
	var first [][]byte
	for seed := range uint64(4) {
		x.options = emu.Options{Check: true, Steps: 1 << 20, Seed: seed, Late: seed%2 == 1}
		outs, _, err := x.results([]*ptx.Entry{x.kernels[0].Entry}, -1, -1)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = outs
		}
		if d := cmp.Diff(first, outs); d != "" {
			t.Errorf("seed %d gives other bits:\n%s", seed, d)
		}
	}
}

// TestClusterColumns: sums and maxima over columns by the blocks of a cluster, as choose.Schedule has them where columns are
// few.
func TestClusterColumns(t *testing.T) {
	r := rand.New(rand.NewSource(6))
	for i, size := range [][3]int{{600, 1, 40}, {1030, 1, 8}, {8192, 1, 3}, {64, 16, 40}, {2048, 1, 100}} {
		m, errs := ir.Parse("k.ptir", []byte(fmt.Sprintf(`ptir 1 fused ""
func @k class=kernel kind=column
  arg %%0 : f32[a=%[1]d, b=%[2]d, c=%[3]d] in
  arg %%1 : f32[a=%[1]d, b=%[2]d] in
  %%2 : f32[a=%[1]d, b=%[2]d, c=%[3]d] = mul %%0, %%1
  %%3 : f32[c=%[3]d] = reduce_sum %%2 over=(a, b)
  %%4 : f32[c=%[3]d] = reduce_max %%0 over=(a, b)
  %%5 : f32[c=%[3]d] = mul %%3, %%4
  result %%5 out
  result %%4 out
end
`, size[0], size[1], size[2])))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		f := m.Funcs[0]
		k, err := fusion.Analyze(f)
		if err != nil {
			t.Fatal(err)
		}
		s := choose.Schedule(k, choose.GPU{Clusters: true, Processors: 132})
		p, err := nest.Program("k", k, s)
		if err != nil {
			t.Fatal(err)
		}
		x := &launch{f: f, k: k, args: irtest.Arguments(f, int64(i)), options: emu.Options{Check: true, Steps: 1 << 22, Seed: r.Uint64()}}
		if x.want, err = eval.Func(m, f, x.args, eval.Options{}); err != nil {
			t.Fatal(err)
		}
		if x.kernels, err = Kernels(nvptx.Machine{}, p, int(s.Warps)); err != nil {
			t.Fatal(err)
		}
		if c := x.kernels[0].Entry.Cluster; c < 2 || int64(c) != s.Cluster {
			t.Errorf("%v, %s: clusters of %d blocks", size, s, c)
		}
		if _, err := x.run(); err != nil {
			t.Errorf("%v, %s: %v", size, s, err)
		}
	}
}
