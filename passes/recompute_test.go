package passes

import (
	"fmt"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/passes/pass"
)

// recomputed is what a compilation with a budget for activations came to.
type recomputed struct {
	predicted   float64 // bytes that the choice says it holds at most
	temporaries float64 // bytes that the planner needs besides what persists
	flops       float64 // work of rematerialization
	ops         int     // operations rematerialized
}

func withBudget(t *testing.T, s irtest.Sizes, budget int64) recomputed {
	t.Helper()
	m := irtest.Transformer(s)
	r := rule("recompute", "of", ir.Str("auto"), "budget", ir.Int(budget))
	m.Meta = append(m.Meta, rule("layout", "name", ir.Str("auto"), "rules", ir.Terms{r}))
	c := &pass.Context{}
	if err := Run(c, m, nil); err != nil {
		t.Fatal(err)
	}
	f := m.Func("step")
	out := recomputed{predicted: -1, temporaries: float64(f.Attrs.Int("arena", 0) - f.Attrs.Int("persistent", 0))}
	for _, x := range c.Remarks {
		var n float64
		var unit string
		if rest, ok := strings.CutPrefix(x.Text, "auto: activations of at most "); ok {
			fmt.Sscanf(rest, "%f %s", &n, &unit)
			out.predicted = n * map[string]float64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit[:3]]
		}
		if x.Pass != "remat" {
			continue
		}
		fmt.Sscanf(x.Text, "@step: %d operations are rematerialized in the backward phase, %g more flops", &out.ops, &out.flops)
	}
	if out.predicted < 0 {
		t.Fatal("no remark of what was chosen")
	}
	return out
}

// TestRecomputeBudget compares what the choice under a budget says with what
// the planner finds: a larger budget never does more again, and the arena
// falls with the budget as predicted.
func TestRecomputeBudget(t *testing.T) {
	s := irtest.Sizes{Layers: 8, Batch: 8, Seq: 32, Heads: 4, Head: 8, FFN: 128, Vocab: 64, Dropout: true}
	all := withBudget(t, s, 1<<40)
	if all.ops != 0 {
		t.Errorf("%d operations are rematerialized without need", all.ops)
	}
	if got := withBudget(t, s, int64(1.01*all.predicted)); got != all {
		t.Errorf("a budget that is large enough: %+v, without limit %+v", got, all)
	}
	var below, last recomputed
	for _, part := range []float64{0.2, 0.24, 0.28, 0.32, 0.36, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9} {
		budget := part * all.predicted
		got := withBudget(t, s, int64(budget))
		t.Logf("%.2f: %+v", part, got)
		if got.predicted > budget*1.005 { // two decimals of a remark
			t.Errorf("budget %.0f: %.0f bytes are held", budget, got.predicted)
		}
		// What the backward phase makes besides comes on top: gradients of one block.
		if most := got.predicted + all.predicted/float64(s.Layers)/2; got.temporaries > most {
			t.Errorf("budget %.0f: the planner needs %.0f, at most %.0f were predicted", budget, got.temporaries, most)
		}
		if last.ops > 0 && (got.flops > last.flops || got.temporaries < last.temporaries) {
			t.Errorf("budget %.0f: %+v; with less %+v", budget, got, last)
		}
		// Fusion computes elementwise work in passing, and stores less than all
		// that is counted; below that every byte of the budget is one of the arena.
		if part <= 0.36 && below.ops > 0 {
			fell, predicted := got.temporaries-below.temporaries, got.predicted-below.predicted
			if fell < 0.95*predicted || fell > 1.05*predicted {
				t.Errorf("budget %.0f: the arena grows by %.0f, the prediction by %.0f", budget, fell, predicted)
			}
		}
		if last = got; part <= 0.36 {
			below = got
		}
	}
	if last.temporaries >= all.temporaries {
		t.Errorf("%.0f bytes with a budget, %.0f without", last.temporaries, all.temporaries)
	}
}
