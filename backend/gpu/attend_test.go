package gpu_test

import (
	"testing"

	"ptc/backend/gpu"
	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/target"
	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/runtime/program"
)

// Attentions of the heads that models have fit into a block of each target, in both phases: the
// schedule that is chosen leaves enough shared memory for exchanges.
func TestAttentionsFit(t *testing.T) {
	for _, a := range []irtest.Attention{
		{Batch: 2, Heads: 4, Group: 1, Rows: 512, Keys: 512, Cols: 64, Values: 64, Causal: true, Stats: true},
		{Batch: 2, Heads: 4, Group: 1, Rows: 512, Keys: 512, Cols: 64, Values: 64, Causal: true, Stats: true, BF16: true},
		{Batch: 2, Heads: 2, Group: 4, Rows: 500, Keys: 500, Cols: 128, Values: 128, Causal: true, Stats: true, BF16: true},
		{Batch: 2, Heads: 2, Group: 4, Rows: 512, Keys: 512, Cols: 128, Values: 128, Causal: true, Stats: true},
		{Batch: 1, Heads: 2, Group: 1, Rows: 300, Keys: 300, Cols: 256, Values: 256, Causal: true, Stats: true},
		{Batch: 1, Heads: 4, Group: 1, Rows: 512, Keys: 512, Cols: 128, Values: 128, Causal: true, Stats: true, BF16: true, Latent: true},
		{Batch: 1, Heads: 4, Group: 8, Rows: 1, Keys: 512, Cols: 128, Values: 128, BF16: true},
	} {
		for _, text := range []string{a.Forward(), a.Backward()} {
			m, errs := ir.Parse("k.ptir", []byte("ptir 1 fused \"\"\n\n"+text))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			for _, name := range target.Names() {
				to, err := target.Resolve(name)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := gpu.Kernel(m.Funcs[0], to, nil); err != nil {
					t.Errorf("%+v: %v", a, err)
				}
			}
		}
	}
}

// sections are two attentions that are alike, in the backward phase, and elementwise work.
const sections = `func @sections class=kernel kind=horizontal
  arg %0 : f32[s=70, d=4] in
  arg %1 : f32[t=70, d=4] in
  arg %2 : f32[s=70] in
  arg %3 : f32[s=70, d=4] in
  arg %4 : f32[s=70, d=4] in
  arg %5 : f32[t=70, d=4] in
  arg %6 : f32[s=70] in
  arg %7 : f32[s=70, d=4] in
  arg %8 : f32[n=5] in
  %9 : f32[s=70, t=70] = dot %0, %1 over=(d)
  %10 : f32[s=70, t=70] = sub %9, %2
  %11 : f32[s=70, t=70] = exp %10
  %12 : f32[t=70, d=4] = dot %11, %3 out=(t, d) over=(s)
  %13 : f32[s=70, d=4] = dot %11, %1 out=(s, d) over=(t)
  %14 : f32[s=70, t=70] = dot %4, %5 over=(d)
  %15 : f32[s=70, t=70] = sub %14, %6
  %16 : f32[s=70, t=70] = exp %15
  %17 : f32[t=70, d=4] = dot %16, %7 out=(t, d) over=(s)
  %18 : f32[s=70, d=4] = dot %16, %5 out=(s, d) over=(t)
  %19 : f32[n=5] = neg %8
  result %12 out
  result %13 out
  result %19 out
  result %17 out
  result %18 out
end
`

// Attentions that are sections of a kernel have tasks of both kinds among the others.
func TestAttentionsAsSections(t *testing.T) {
	m, errs := ir.Parse("k.ptir", []byte("ptir 1 fused \"\"\n\n"+sections))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	to, err := target.Resolve("cuda:sm_80")
	if err != nil {
		t.Fatal(err)
	}
	k, err := gpu.Kernel(m.Funcs[0], to, nil)
	if err != nil {
		t.Fatal(err)
	}
	run(t, &program.Kernel{Name: "sections", IR: sections, Symbol: k.Entry.Name, Threads: int64(k.Entry.Threads), Tasks: k.Blocks, Shared: int64(k.Shared)},
		&ptx.Module{Entries: []*ptx.Entry{k.Entry}}, 1)
}
