package train

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"ptc/runtime/program"
)

// impatient is the toy, which ends when its loss is not better by much three times in a row.
func impatient() *program.Plan {
	p := newToy()
	p.Data.Stop = &program.Stop{Patience: 3, Least: 0.1}
	return p
}

// TestPatience: a run ends when validation has got no better for long enough. One that is
// stopped at any step, and goes on from a checkpoint, ends at the same step with the same
// validations, whether its best checkpoint is kept or not.
func TestPatience(t *testing.T) {
	for _, best := range []bool{false, true} {
		dir := t.TempDir()
		o := Options{Checkpoint: filepath.Join(dir, "straight"), ValidEvery: 2, Every: 3, KeepBest: best, Threads: 1}
		sum, lines, err := runLog(context.Background(), impatient(), o)
		if err != nil {
			t.Fatal(err)
		}
		told := named(lines, "validation")
		if sum.Stopped == "" || sum.Steps >= 20 || sum.Steps < 6 || sum.Steps%2 != 0 || sum.ValLoss != told[len(told)-1]["val_loss"] {
			t.Fatalf("%+v after the validations %v", sum, told)
		}
		if end := named(lines, "end"); fmt.Sprint(end[0]["why"]) != sum.Stopped || !strings.Contains(sum.Stopped, fmt.Sprintf("after step %d: the validation loss has not improved in 3 validations", sum.Steps)) {
			t.Errorf("the end says %v", end)
		}
		for stop := int32(1); int64(stop) <= sum.Steps; stop++ {
			o.Checkpoint, o.Resume = filepath.Join(dir, fmt.Sprint(stop)), false
			if _, _, err := runLog(stopAfter(t, stop), impatient(), o); err != nil {
				t.Fatal(err)
			}
			afterStep.Store(nil)
			o.Resume = true
			got, _, err := runLog(context.Background(), impatient(), o)
			if err != nil || got.Steps != sum.Steps || got.Stopped != sum.Stopped || got.Loss != sum.Loss {
				t.Errorf("best %v, stopped at %d: %+v, %v; without %+v", best, stop, got, err, sum)
			}
		}
		o.Patience = -1 // no end but that of the steps
		if got, _, err := runLog(context.Background(), impatient(), o); err != nil || got.Steps != 20 || got.Stopped != "" {
			t.Errorf("goes on to %+v, %v", got, err)
		}
	}
}

// TestPatienceNeedsValidation: who would never end early is told.
func TestPatienceNeedsValidation(t *testing.T) {
	_, lines := runT(t, impatient(), Options{Steps: 3})
	if w := named(lines, "warning"); len(w) != 1 || !strings.Contains(fmt.Sprint(w[0]["message"]), "patience has no effect") {
		t.Errorf("the warnings are %v", w)
	}
}

var nan = math.NaN()

// TestBetter: how numbers are compared.
func TestBetter(t *testing.T) {
	for _, c := range []struct {
		most       bool
		values     []float64
		least      float64
		since, end int64
	}{
		{false, []float64{3, 2, 2, 2.5, 1.95}, 0.1, 3, 5},
		{false, []float64{3, nan, 2.9, 3}, 0, 1, 4},
		{false, []float64{nan, nan}, 0, 2, 2},
		{true, []float64{0.1, 0.2, 0.15, 0.3}, 0, 0, 4},
		{true, []float64{0.5, 0.55, 0.6, 0.65}, 0.1, 0, 4}, // 0.65 is above 0.5 + 0.1, and 0.6 is not
	} {
		p := &patience{Stop: program.Stop{Most: c.most, Least: c.least, Patience: 9}, best: nan}
		for i, v := range c.values {
			p.see(int64(i+1), &scores{loss: v})
			p.see(int64(i+1), &scores{loss: v}) // once for each step
		}
		if p.since != c.since || p.step != c.end {
			t.Errorf("%v: %d validations since the best, the last after step %d", c.values, p.since, p.step)
		}
	}
}

// TestEpochs: synthetic data has none, and a run of steps or of epochs is not one of both.
func TestEpochs(t *testing.T) {
	_, _, err := runLog(context.Background(), newToy(), Options{Epochs: 2})
	failed(t, err, ExitUsage, "the data has no end, so it has no epochs", "--steps")
	_, _, err = runLog(context.Background(), newToy(), Options{Epochs: 2, Steps: 3})
	failed(t, err, ExitUsage, "--steps and --epochs both")
}
