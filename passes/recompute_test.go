package passes

import (
	"fmt"
	"testing"

	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/passes/pass"
)

// recomputed is what a compilation with a budget came to.
type recomputed struct {
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
	out := recomputed{temporaries: float64(f.Attrs.Int("arena", 0) - f.Attrs.Int("persistent", 0))}
	for _, x := range c.Remarks {
		if x.Pass == "remat" {
			fmt.Sscanf(x.Text, "@step: the backward phase rematerializes %d operations, for %g more FLOP", &out.ops, &out.flops)
		}
	}
	return out
}

// TestRecomputeBudget compares what is chosen under a budget with what the planner finds:
// the budget holds, and a larger one does less again.
func TestRecomputeBudget(t *testing.T) {
	s := irtest.Sizes{Layers: 8, Batch: 8, Seq: 32, Heads: 4, Head: 8, FFN: 128, Vocab: 64, Dropout: true}
	all := withBudget(t, s, 1<<40)
	if all.ops != 0 {
		t.Errorf("%d operations are rematerialized without need", all.ops)
	}
	if got := withBudget(t, s, int64(all.temporaries)); got != all {
		t.Errorf("a budget that is large enough: %+v, without limit %+v", got, all)
	}
	var last recomputed
	for _, part := range []float64{0.4, 0.65, 0.95} {
		budget := part * all.temporaries
		got := withBudget(t, s, int64(budget))
		t.Logf("%.2f: %+v", part, got)
		if got.temporaries > budget {
			t.Errorf("budget %.0f: the planner needs %.0f", budget, got.temporaries)
		}
		if last.ops > 0 && got.flops > last.flops {
			t.Errorf("budget %.0f: %+v; with less %+v", budget, got, last)
		}
		last = got
	}
	if last.ops == 0 {
		t.Error("nothing is rematerialized")
	}
}
