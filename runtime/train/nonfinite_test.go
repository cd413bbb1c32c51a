package train

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// poison makes what a kernel writes as argument arg NaN, from its n-th call on.
func poison(t *testing.T, symbol string, rank, n, arg int) {
	calls := 0
	f := func(s string, r int, a [][]float32) {
		if s != symbol || r != rank {
			return
		}
		if calls++; calls >= n {
			a[arg][0] = float32(math.NaN())
		}
	}
	afterKernel.Store(&f)
	t.Cleanup(func() { afterKernel.Store(nil) })
}

// TestStopsAtANumberThatIsNotFinite: the run ends at the step, names the first
// tensor, and keeps the files of earlier runs as they are.
func TestStopsAtANumberThatIsNotFinite(t *testing.T) {
	dir := t.TempDir()
	init, save, ck := filepath.Join(dir, "init"), filepath.Join(dir, "save"), filepath.Join(dir, "ck")
	runT(t, newToy(), Options{Steps: 2, Save: save})
	good, err := os.ReadFile(save)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Steps: 9, Save: save, Checkpoint: ck, Every: 2, Overwrite: true}
	check := func(o Options, step int, want ...string) {
		t.Helper()
		sum, lines, err := runLog(context.Background(), newToy(), o)
		failed(t, err, ExitFile, append(want, "--on-nan")...)
		if s := named(lines, "step"); len(s) != step || sum.Steps > int64(step) {
			t.Errorf("%d steps were told, summary %+v", len(s), sum)
		}
		if now, err := os.ReadFile(save); err != nil || string(now) != string(good) {
			t.Errorf("the good file is gone: %v", err)
		}
	}
	writeFloats(t, init, "F32", map[string][]float64{"w": {1, 2, 3, 4, 5, math.Inf(1)}, "b": {0, 0}})
	with := o
	with.Init = init
	check(with, 1, "step 1: the loss is", "the parameter w that the step began with: 1 infinite of 6 elements")

	poison(t, "residual", 0, 4, 4) // the residual alone: the loss does not see it before the next kernel
	check(o, 4, "step 4: the loss is", "the norm of the gradients is NaN")

	both := func(s string, _ int, a [][]float32) {
		if s == "residual" && asInt(a[0]) != 0 && a[5][0] < 1e9 {
			a[4][3], a[5][0] = float32(math.NaN()), float32(math.NaN())
		}
	}
	afterKernel.Store(&both)
	check(o, 1, "step 1: the loss is NaN", "the first tensor that is not finite is f32[batch=4, to=2] of kernel residual in residual: 1 NaN of 8 elements")
	if _, err := os.Stat(filepath.Join(ck, "step-00000004")); err == nil {
		t.Error("a checkpoint of a step that is not finite was saved")
	}
}

// TestLastStepIsNotFinite: the loss of the last step is finite, and what it made
// of the parameters is not.
func TestLastStepIsNotFinite(t *testing.T) {
	save := filepath.Join(t.TempDir(), "save")
	poison(t, "update", 0, 5, 2) // w, in the third step
	_, _, err := runLog(context.Background(), newToy(), Options{Steps: 3, Save: save})
	failed(t, err, ExitFile, "after step 3 the parameter w is not finite, so ptc does not save it")
	if _, err := os.Stat(save); err == nil {
		t.Error("it was saved")
	}
}

// TestContinues: asked to, a run goes on and saves, and fails at the end.
func TestContinues(t *testing.T) {
	dir := t.TempDir()
	save := filepath.Join(dir, "save")
	poison(t, "residual", 0, 4, 5) // the loss alone, which nothing reads
	sum, lines, err := runLog(context.Background(), newToy(), Options{Steps: 9, OnNaN: NaNContinue, Save: save, Checkpoint: filepath.Join(dir, "ck"), Every: 2})
	failed(t, err, ExitFile, "training has diverged", "step, 9, are not finite")
	if sum.Ran != 9 || len(named(lines, "checkpoint")) != 1 {
		t.Errorf("summary %+v", sum)
	}
	if w := named(lines, "warning"); len(w) == 0 || !strings.Contains(w[0]["message"].(string), "step 4: the loss is NaN") {
		t.Errorf("warnings %v", w)
	}
	readFloats(t, save)
}

// TestProcessesStopTogether: all processes end at the step, and one names the
// tensor with its rank. (Devices that report a loss have the same.)
func TestProcessesStopTogether(t *testing.T) {
	f := func(s string, rank int, a [][]float32) {
		if s == "residual" {
			a[4][3*rank], a[5][0] = float32(math.NaN()), float32(math.NaN())
		}
	}
	afterKernel.Store(&f)
	defer afterKernel.Store(nil)
	errs, _ := jobT(t, context.Background(), toyOnTwo, func(int) Options { return Options{Steps: 3, Save: filepath.Join(t.TempDir(), "s")} })
	for rank, err := range errs {
		var other *Elsewhere
		if rank == 0 {
			failed(t, err, ExitFile, "is f32[batch=4, to=1] of kernel residual in residual: 1 NaN of 4 elements, on rank 0")
		} else if !errors.As(err, &other) || other.ExitCode() != ExitFile {
			t.Errorf("rank %d ends with %v", rank, err)
		}
	}
}
