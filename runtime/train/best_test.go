package train

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"ptc/runtime/checkpoint"
)

// validated lists the checkpoints in a folder with their validation losses.
func validated(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := (&checkpoint.Store{Dir: dir}).List()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Valid == nil {
			out = append(out, fmt.Sprintf("%d: none", e.Step))
		} else {
			out = append(out, fmt.Sprintf("%d: %v", e.Step, *e.Valid))
		}
	}
	return out
}

// TestAStoppedValidationIsMadeUp: the checkpoint whose validation a signal has stopped is
// validated when the run goes on, in the middle and at the end, and may be the best.
func TestAStoppedValidationIsMadeUp(t *testing.T) {
	dir := t.TempDir()
	o := Options{Steps: 6, Checkpoint: filepath.Join(dir, "straight"), KeepBest: true, ValidEvery: 2, Keep: -1, Threads: 1}
	sum, lines := runT(t, newToy(), o)
	want, told := validated(t, o.Checkpoint), named(lines, "validation")
	for _, stop := range []int32{2, 4, 6} {
		o.Checkpoint, o.Resume = filepath.Join(dir, fmt.Sprint(stop)), false
		if _, _, err := runLog(stopAfter(t, stop), newToy(), o); err != nil {
			t.Fatal(err)
		}
		if have := validated(t, o.Checkpoint); have[0] != fmt.Sprintf("%d: none", stop) {
			t.Fatalf("stopped at %d there are %v", stop, have)
		}
		afterStep.Store(nil)
		o.Resume = true
		got, lines, err := runLog(context.Background(), newToy(), o)
		if err != nil {
			t.Fatal(err)
		}
		if have := validated(t, o.Checkpoint); fmt.Sprint(have) != fmt.Sprint(want) || got.ValLoss != sum.ValLoss {
			t.Errorf("after a stop at %d there are %v with %v at the end, without %v with %v", stop, have, got.ValLoss, want, sum.ValLoss)
		}
		made := named(lines, "validation")
		if rest := told[min(len(told), int(stop)/2-1):]; fmt.Sprint(made) != fmt.Sprint(rest) {
			t.Errorf("after a stop at %d the log has the validations %v, without %v", stop, made, rest)
		}
	}
}
