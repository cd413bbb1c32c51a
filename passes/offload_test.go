package passes

import (
	"fmt"
	"testing"

	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/op"
	"ptc/ir/verify"
	"ptc/passes/check"
	"ptc/passes/pass"
)

func offloaded(to string, piece int, what ...string) ir.Term {
	t := rule("offload", "what", ir.Names(what), "to", ir.Name(to))
	if piece > 0 {
		t.Args = t.Args.With("piece", ir.Int(piece))
	}
	return t
}

func offloadedOf(of, to string) ir.Term {
	t := offloaded(to, 0, "activations")
	t.Args = t.Args.With("of", ir.Str(of))
	return t
}

// lowered is a training step under a layout, to the end of the passes; executed
// after each, where k is given.
func lowered(t *testing.T, s irtest.Sizes, mesh []ir.MeshAxis, rules ir.Terms, o Options, k *check.Checker) *ir.Module {
	t.Helper()
	m := irtest.Transformer(s)
	m.Mesh = mesh
	m.SetMeta(rule("layout", "name", ir.Str("test"), "rules", rules))
	if errs := verify.Module(m); len(errs) > 0 {
		t.Fatal(errs)
	}
	if o.VerifyEach = true; k != nil {
		o.Hooks = []Hook{k.Hook}
	}
	if err := Run(&pass.Context{}, m, &o); err != nil {
		t.Fatal(err)
	}
	if k != nil {
		for _, r := range k.Report.Rows {
			if !r.OK {
				t.Errorf("%s changed the result (%s): %s by %.3g, tolerance %.3g", r.Pass, r.Kind, r.Worst, r.Diff, r.Tol)
			}
		}
	}
	return m
}

var small = irtest.Sizes{Layers: 2, Batch: 4, Seq: 8, Heads: 4, Head: 4, FFN: 32, Vocab: 32, Dropout: true}

// plain are the layouts that are also run without the passes that only optimize:
// transfers that nothing starts early.
var plain = map[string]bool{"single": true, "dp2": true, "pp2 1f1b": true, "recompute": true}

// TestOffload executes the program of all devices after each pass, with states of
// the optimizer and activations in other memories, under every layout.
func TestOffload(t *testing.T) {
	for _, l := range append(layouts, struct {
		name  string
		mesh  []ir.MeshAxis
		rules ir.Terms
	}{name: "single"}) {
		for _, optimize := range []bool{true, false} {
			if !optimize && !plain[l.name] {
				continue
			}
			t.Run(fmt.Sprintf("%s %v", l.name, optimize), func(t *testing.T) {
				rules := append(ir.Terms{offloaded("host", 1024, "optimizer"), offloadedOf("blocks.*", "disk")}, l.rules...)
				m := lowered(t, small, l.mesh, rules, Options{NoOptimize: !optimize}, check.New(1))
				n, started := 0, 0
				for _, f := range m.Funcs {
					for _, o := range f.Ops {
						if op.Moves(o) {
							n++
							if op.Started(o) {
								started++
							}
						}
					}
				}
				if n == 0 || optimize != (started > 0) {
					t.Errorf("%d transfers, %d started", n, started)
				}
			})
		}
	}
}
