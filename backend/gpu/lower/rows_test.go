package lower

import (
	"strings"
	"testing"

	"ptc/backend/gpu/choose"
	"ptc/backend/gpu/nvptx"
	"ptc/backend/nest"
	"ptc/ir"
	"ptc/ir/fusion"
)

// rows are statistics of rows, and what is made of them.
const rows = `ptir 1 fused "rows"
func @row_0 class=kernel kind=row
  arg %0 : bf16[batch=3, seq=16, embed=768] in
  %1 : f32[batch=3, seq=16, embed=768] = cast %0 to=f32
  %2 : f32[batch=3, seq=16] = reduce_sum %1 over=(embed)
  %3 : f32[] = const dtype=f32 value=768.0
  %4 : f32[batch=3, seq=16] = div %2, %3
  %5 : f32[batch=3, seq=16, embed=768] = sub %1, %4
  %6 : f32[batch=3, seq=16, embed=768] = mul %5, %5
  %7 : f32[batch=3, seq=16] = reduce_max %6 over=(embed)
  result %7 out
  result %5 out
end
`

// TestRowsOfWarps: threads need not wait for each other where a warp holds a row.
func TestRowsOfWarps(t *testing.T) {
	m, errs := ir.Parse("rows.ptir", []byte(rows))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	k, err := fusion.Analyze(m.Funcs[0])
	if err != nil {
		t.Fatal(err)
	}
	check(t, k, 1)
	s := choose.Schedule(k, choose.GPU{})
	p, err := nest.Program("k", k, s)
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := Kernels(nvptx.Machine{}, p, int(s.Warps))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range kernels[0].Entry.Body {
		if strings.HasPrefix(x.Op, "bar.sync") || strings.HasPrefix(x.Op, "ld.shared") {
			t.Fatalf("threads wait, with %s:\n%s", s, p)
		}
	}
	if kernels[0].Blocks != 6 || kernels[0].Entry.Threads != 256 {
		t.Errorf("%d blocks of %d threads", kernels[0].Blocks, kernels[0].Entry.Threads)
	}
}
