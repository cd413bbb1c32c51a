package gpu_test

import (
	"strings"
	"testing"

	"ptc/backend/gpu"
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
