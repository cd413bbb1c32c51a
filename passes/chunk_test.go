package passes

import (
	"slices"
	"testing"
	"time"

	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/targetinfo"
	"ptc/ir/verify"
	"ptc/passes/check"
	"ptc/passes/pass"
)

// TestChunks: under every layout the loss is done for some rows at a time, the program
// computes what it did, and no value of it has all logits of a device.
func TestChunks(t *testing.T) {
	sizes := irtest.Sizes{Layers: 2, Batch: 8, Seq: 16, Heads: 4, Head: 4, FFN: 16, Vocab: 160, Dropout: true}
	if testing.Short() {
		t.Skip("training under every layout")
	}
	for i, l := range layouts {
		if left(i, 1) {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			m := irtest.Transformer(sizes)
			m.Mesh = l.mesh
			rules := slices.Clone(l.rules)
			for i, r := range rules { // of the smaller model that they are for
				if n := r.Args.Int("budget", 0); n > 0 {
					rules[i] = budget(5 * n)
				}
			}
			m.Meta = append(m.Meta, rule("layout", "name", ir.Str(l.name), "rules", rules))
			if errs := verify.Module(m); len(errs) > 0 {
				t.Fatal(errs)
			}
			largest := func(m *ir.Module) (most, rows int) {
				for _, f := range m.Funcs {
					for _, o := range f.Ops {
						for _, v := range o.Results {
							if f.Class != ir.Kernel && v.Type.Has("vocab") && (v.Type.Has("seq") || v.Type.Has("batch")) {
								if n := v.Type.Elems(); n > most {
									most, rows = n, n/v.Type.Size("vocab")
								}
							}
						}
					}
				}
				return most, rows
			}
			var before, rows, after int
			see := func(_ int, name string, m *ir.Module, _ time.Duration) error {
				switch name {
				case "offload-optimizer":
					before, rows = largest(m)
				case "order":
					after, _ = largest(m)
				}
				return nil
			}
			k := check.New(1)
			c := &pass.Context{Target: pass.Target{Info: targetinfo.Info{Chunk: targetinfo.Chunk{Bytes: 1, Rows: 16, Most: 4}}}}
			err := Run(c, m, &Options{VerifyEach: true, Hooks: []Hook{k.Hook, see}})
			for _, r := range k.Report.Rows {
				if !r.OK {
					t.Errorf("%s changed the result (%s): %s by %.3g, tolerance %.3g", r.Pass, r.Kind, r.Worst, r.Diff, r.Tol)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			few := rows == 16 // of one chunk
			if before == 0 || few && after != before || !few && 2*after > before {
				t.Errorf("a value of %d logits of %d rows was before, one of %d is left", before, rows, after)
			}
			for _, r := range c.Remarks {
				if r.Pass == "chunk" {
					t.Log(r)
				}
			}
		})
	}
}
