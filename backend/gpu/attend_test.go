package gpu_test

import (
	"errors"
	"strings"
	"testing"

	"ptc/backend/gpu"
	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/target"
	"ptc/backend/tile/schedule"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
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
		{Batch: 1, Heads: 2, Group: 8, Rows: 512, Keys: 512, Cols: 64, Values: 64, Causal: true, Window: 128, Sink: true, Stats: true, BF16: true},
		{Batch: 1, Heads: 2, Group: 1, Rows: 512, Keys: 512, Cols: 192, Values: 64, Causal: true, Latent: true, Slopes: true, Stats: true, BF16: true},
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

// An attention of which no block fits is several kernels, and a remark says why: of the target, or of one for
// which the plan has code as well.
func TestAttentionsTooLarge(t *testing.T) {
	for _, c := range []struct{ head, target, why string }{
		{"512", "cuda:sm_89", "bytes of shared memory, and a block of sm_89 has 101376"},
		{"800", hopper, "bytes of shared memory, and a block of sm_80 has 166912"},
		{"512", hopper, ""},
	} {
		p := compile(t, "gpt/gpt", "layers=1 embed=16 heads=1 ffn=16 vocab=40 seq=20 batch=1 head="+c.head, "", c.target)
		why := ""
		for _, r := range p.Remarks {
			if strings.Contains(r.Text, "attention takes several kernels") {
				why += r.Text + "; "
			}
		}
		if one := !strings.Contains(why, "shared memory"); one != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("heads of %s for %s: the remarks say %q, want %q", c.head, c.target, why, c.why)
		}
	}
}

// A schedule that a kernel cannot have is a mistake of the table that gives it.
func TestScheduleRefused(t *testing.T) {
	m, errs := ir.Parse("k.ptir", []byte("ptir 1 fused \"\"\n\n"+sections))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	k, err := fusion.Analyze(m.Funcs[0])
	if err != nil {
		t.Fatal(err)
	}
	to, err := target.Resolve("cuda:sm_80")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []schedule.Schedule{{Dot: schedule.Dot{Kind: schedule.WGMMA}}, {Cluster: 2}, {Cluster: 3}} {
		given := schedule.NewTable(to.Name)
		for _, part := range k.Apart() {
			given.Set(fusion.Key(part.F), s, "")
		}
		var of *diag.Error
		if _, err := gpu.Kernel(m.Funcs[0], to, given); !errors.As(err, &of) || of.Code != "E0703" {
			t.Errorf("%s: %v", s, err)
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
