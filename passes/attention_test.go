package passes

import (
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
	"ptc/ir/verify"
	"ptc/passes/check"
	"ptc/passes/pass"
)

// Under every layout, each attention is one kernel in each phase, of the steps of a
// ring each, and nothing over queries and keys is stored; results stay the same. So it is
// with sinks.
func TestAttentionLayouts(t *testing.T) { testAttentionLayouts(t, false) }

func TestAttentionLayoutsWithSinks(t *testing.T) { testAttentionLayouts(t, true) }

func testAttentionLayouts(t *testing.T, sinks bool) {
	sizes := irtest.Sizes{Layers: 2, Batch: 4, Seq: 8, Heads: 4, Head: 4, FFN: 32, Vocab: 24, Dropout: true, Sinks: sinks}
	parity := 0
	if sinks {
		parity = 1
	}
	for i, l := range layouts {
		if left(i, parity) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			sizes := sizes
			if strings.Contains(l.name, "zigzag") {
				sizes.Seq *= 2 // of chunks of one position, masks are so small that kernels keep them
			}
			m := irtest.Transformer(sizes)
			m.Mesh = l.mesh
			m.Meta = append(m.Meta, rule("layout", "name", ir.Str(l.name), "rules", l.rules))
			if errs := verify.Module(m); len(errs) > 0 {
				t.Fatal(errs)
			}
			k := check.New(1)
			c := &pass.Context{Target: pass.Target{Attention: true}}
			err := Run(c, m, &Options{VerifyEach: true, Hooks: []Hook{k.Hook}})
			for _, r := range k.Report.Rows {
				if !r.OK {
					t.Errorf("%s changed the result (%s): %s by %.3g, tolerance %.3g", r.Pass, r.Kind, r.Worst, r.Diff, r.Tol)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range c.Remarks {
				if strings.Contains(r.Text, "attention takes several kernels") || strings.Contains(r.Text, "scores are stored") {
					t.Error(r)
				}
			}
			attentions(t, m)
		})
	}
}

// attentions checks that there are attention kernels of both phases in m, and no
// other product whose result has queries and keys.
func attentions(t *testing.T, m *ir.Module) {
	t.Helper()
	forward, backward := 0, 0
	for _, f := range m.Funcs {
		if f.Class != ir.Kernel {
			continue
		}
		k, err := fusion.Analyze(f)
		switch {
		case err != nil:
			t.Errorf("@%s: %v", f.Name, err)
		case k.Class != fusion.Attend:
		case k.Attention.Top != nil:
			forward++
		default:
			backward++
		}
		for _, r := range f.Results {
			if names := strings.Join(r.Value.Type.Names(), " "); strings.Contains(names, "seq") && strings.Contains(strings.Replace(names, "kseq", "", 1), "seq") && strings.Contains(names, "kseq") {
				t.Errorf("@%s stores %s", f.Name, r.Value.Type)
			}
		}
	}
	if forward == 0 || backward == 0 {
		t.Errorf("%d attention kernels of the forward phase, %d of the backward phase", forward, backward)
	}
}
