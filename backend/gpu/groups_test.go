package gpu_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptc/backend/gpu"
	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/target"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
)

const product = `ptir 1 fused ""

func @k class=kernel kind=gemm
  arg %0 : bf16[m=128, k=64] in
  arg %1 : bf16[k=64, n=128] in
  %2 : f32[m=128, n=128] = dot %0, %1 over=(k) to=f32
  result %2 out
end
`

// TestGroups: the target with matrix instructions of warpgroups has them and tensor maps, others have
// neither, and a schedule that asks for them there is an error.
func TestGroups(t *testing.T) {
	m, errs := ir.Parse("k.ptir", []byte(product))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	f := m.Funcs[0]
	given := schedule.NewTable("cuda")
	s, err := schedule.Parse("rows=64 cols=64 over=64 grid=-1 dot=wgmma(64x64x16) left=task right=task stages=3 warps=4")
	if err != nil {
		t.Fatal(err)
	}
	k, err := fusion.Analyze(f)
	if err != nil {
		t.Fatal(err)
	}
	given.Set(fusion.Key(k.F), s, "")
	for _, name := range target.Names() {
		to, err := target.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		chosen, err := gpu.Kernel(f, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		groups := 0
		for _, x := range chosen.Entry.Body {
			if strings.HasPrefix(x.Op, "wgmma.mma_async") {
				groups++
			}
		}
		if has := to.Has(target.WGMMA); has != (groups > 0) || has != (len(chosen.Maps) == 2) {
			t.Errorf("%s: %d products of warpgroups, %d tensor maps", name, groups, len(chosen.Maps))
		}
		_, err = gpu.Kernel(f, to, given)
		if to.Has(target.WGMMA) != (err == nil) || err != nil && !strings.Contains(err.Error(), to.Arch+" has no such matrix instructions") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestForms: large products have specialized warps and blocks that stay, those with few tasks clusters, where the target
// has what that takes, and others neither.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		m, n, k                  int
		target                   string
		threads, blocks, cluster int
		specialized              bool
	}{
		{m: 8192, n: 8192, k: 4096, target: hopper, threads: 384, blocks: 132, specialized: true},
		{m: 8192, n: 8192, k: 4096, target: "cuda:sm_80", threads: 256, blocks: 64 * 32},
		{m: 2048, n: 2048, k: 4096, target: hopper, threads: 256, blocks: 256},
		{m: 256, n: 256, k: 4096, target: hopper, threads: 128, blocks: 16 * 8, cluster: 8},
		{m: 256, n: 256, k: 256, target: hopper, threads: 128, blocks: 16},
		{m: 256, n: 256, k: 4096, target: "cuda:sm_80", threads: 128, blocks: 16},
	} {
		text := strings.NewReplacer("m=128", fmt.Sprint("m=", c.m), "n=128", fmt.Sprint("n=", c.n), "k=64", fmt.Sprint("k=", c.k)).Replace(product)
		m, errs := ir.Parse("k.ptir", []byte(text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		to, err := target.Resolve(c.target)
		if err != nil {
			t.Fatal(err)
		}
		k, err := gpu.Kernel(m.Funcs[0], to, nil)
		if err != nil {
			t.Fatal(err)
		}
		registers := slices.ContainsFunc(k.Entry.Body, func(s ptx.Stmt) bool { return strings.HasPrefix(s.Op, "setmaxnreg") })
		if k.Entry.Threads != c.threads || k.Blocks != int64(c.blocks) || k.Entry.Cluster != c.cluster || registers != c.specialized || k.Shared > to.Shared {
			t.Errorf("%d × %d × %d on %s: %d threads, %d blocks in clusters of %d, registers move %v, %d bytes of shared memory",
				c.m, c.n, c.k, c.target, k.Entry.Threads, k.Blocks, k.Entry.Cluster, registers, k.Shared)
		}
	}
}

// TestRefused: schedules that a target or the lowering has no code for.
func TestRefused(t *testing.T) {
	m, errs := ir.Parse("k.ptir", []byte(product))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, c := range []struct{ target, cut, want string }{
		{"cuda:sm_80", "rows=64 cols=64 over=16 grid=-1 left=task right=task cluster=2 warps=4", "sm_80 has no clusters"},
		{hopper, "rows=64 cols=64 over=16 grid=-1 left=task right=task cluster=3 warps=4", "expected 2, 4 or 8"},
		{hopper, "rows=64 cols=64 over=16 grid=-1 left=task right=task cluster=16 warps=4", "expected 2, 4 or 8"},
		{hopper, "rows=64 cols=64 over=16 grid=-1 dot=wgmma(64x64x16) left=task right=task stages=3 producers=2 warps=4", "expected one at most"},
	} {
		to, err := target.Resolve(c.target)
		if err != nil {
			t.Fatal(err)
		}
		s, err := schedule.Parse(c.cut)
		if err != nil {
			t.Fatal(err)
		}
		k, err := fusion.Analyze(m.Funcs[0])
		if err != nil {
			t.Fatal(err)
		}
		given := schedule.NewTable(c.target)
		given.Set(fusion.Key(k.F), s, "")
		if _, err := gpu.Kernel(m.Funcs[0], to, given); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected %q", c.cut, err, c.want)
		}
	}
}
