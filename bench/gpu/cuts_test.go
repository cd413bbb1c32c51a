package gpu

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptc/backend"
	"ptc/backend/gpu/ptx"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/runtime/program"
)

// cut is a product, and a schedule that only larger ones get by themselves.
type cut struct {
	schedule    string
	has         string // an instruction that tells that it was taken
	m, n, k     int
	left, right string // the orders of the operands' axes
	long        bool
}

// cuts have warps of their own for copies, with the registers they come with and with others, and clusters. Copies
// go beyond the ends of rows, columns and sums.
var cuts = []cut{
	{"rows=64 cols=64 over=32 grid=-1 dot=wgmma(64x64x16) left=task right=task stages=3 producers=1 persistent=3 warps=4",
		"mbarrier.arrive.shared::cta", 136, 200, 264, "m, k", "k, n", false},
	{"rows=64 cols=64 over=64 grid=-1 dot=wgmma(64x64x16) left=task right=task stages=4 producers=1 persistent=2 warps=4",
		"mbarrier.arrive.shared::cta", 200, 72, 136, "k, m", "n, k", false},
	{"rows=128 cols=128 over=64 raster=groups group=2 grid=-1 dot=wgmma(64x128x16) left=task right=task stages=4 producers=1 persistent=5 warps=8",
		"setmaxnreg.inc", 520, 392, 200, "m, k", "n, k", false},
	{"rows=64 cols=64 over=16 grid=-1 dot=wgmma(64x64x16) left=task right=task stages=4 cluster=4 warps=4",
		"barrier.cluster.arrive", 128, 72, 520, "k, m", "k, n", false},
	{"rows=64 cols=32 over=32 grid=-1 dot=wgmma(64x32x16) left=task right=task stages=3 cluster=8 warps=4",
		"barrier.cluster.arrive", 64, 64, 1032, "m, k", "k, n", false},
	{"rows=128 cols=256 over=64 raster=groups group=8 grid=-1 dot=wgmma(64x256x16) left=task right=task stages=4 producers=1 persistent=132 warps=8",
		"setmaxnreg.inc", 2056, 1544, 264, "m, k", "k, n", true},
	{"rows=128 cols=256 over=64 raster=groups group=8 grid=-1 dot=wgmma(64x256x16) left=task right=task stages=4 producers=1 persistent=132 warps=8",
		"setmaxnreg.inc", 1544, 2056, 264, "k, m", "n, k", true},
}

// TestCuts: products by these schedules give what the evaluator gives.
func TestCuts(t *testing.T) {
	for n, c := range cuts {
		if c.long && !*real && !*every {
			continue
		}
		t.Run(fmt.Sprintf("%d %d×%d×%d", n, c.m, c.n, c.k), func(t *testing.T) {
			p := c.plan(t)
			if !has(t, p, &p.Kernels[0], c.has) {
				t.Errorf("there is no %s in its code", c.has)
			}
			for seed := range int64(2) {
				driver(t, uint64(seed))
				launch(t, p, &p.Kernels[0], seed)
			}
		})
	}
}

// plan has one kernel: a product that is rounded to bf16.
func (c *cut) plan(t *testing.T) *program.Plan {
	t.Helper()
	axes := func(names string) string {
		return strings.NewReplacer("m", fmt.Sprint("m=", c.m), "n", fmt.Sprint("n=", c.n), "k", fmt.Sprint("k=", c.k)).Replace(names)
	}
	out := axes("m, n")
	m, errs := ir.Parse("product", []byte(fmt.Sprintf(`ptir 1 fused ""

func @product class=kernel kind=gemm
  arg %%0 : bf16[%s] in
  arg %%1 : bf16[%s] in
  %%2 : f32[%s] = dot %%0, %%1 over=(k) to=f32
  %%3 : bf16[%s] = cast %%2 to=bf16
  result %%3 out
end
`, axes(c.left), axes(c.right), out, out)))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	to, err := backend.Resolve(hopper)
	must(t, err)
	s, err := schedule.Parse(c.schedule)
	must(t, err)
	table := schedule.NewTable(hopper)
	table.Set(fusion.Key(m.Funcs[0]), s, "")
	f := m.Funcs[0]
	code, err := to.Generate(m.Funcs, table)
	must(t, err)
	k := code.Kernels[0]
	k.Name, k.IR = f.Name, ir.PrintFunc(f)
	for _, a := range f.Args {
		k.Args = append(k.Args, program.Arg{Bytes: int64(a.Value.Type.Bytes())})
	}
	k.Args = append(k.Args, program.Arg{Bytes: int64(f.Results[0].Value.Type.Bytes()), Write: true})
	return &program.Plan{Target: hopper, Code: code.Code, Kernels: []program.Kernel{k}}
}

// has reports whether k has an instruction whose name begins so.
func has(t *testing.T, p *program.Plan, k *program.Kernel, name string) bool {
	t.Helper()
	m, err := ptx.Parse(string(p.Code[k.Code].Data))
	must(t, err)
	e := m.Entries[slices.IndexFunc(m.Entries, func(e *ptx.Entry) bool { return e.Name == k.Symbol })]
	return slices.ContainsFunc(e.Body, func(s ptx.Stmt) bool { return strings.HasPrefix(s.Op, name) })
}
