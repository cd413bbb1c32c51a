package train

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ptc/runtime/program"
)

// portedToy is the toy with settings, of which one is computed of the other.
func portedToy(t *testing.T, devices int, lr float64) *program.Plan {
	t.Helper()
	p := newToyOn(devices)
	p.Settings = []program.Setting{{Name: "lr", Value: 0.5}, {Name: "least", Value: 0.25, Is: "lr / 2"}}
	p.Config = append(p.Config, program.KV{Key: "lr", Value: "0.5"}, program.KV{Key: "least", Value: "0.25"})
	q, err := p.Set(map[string]float64{"lr": lr})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestResumeWithOtherSettings: values are in the log and in checkpoints, and a run that goes
// on with others says so.
func TestResumeWithOtherSettings(t *testing.T) {
	dir := t.TempDir()
	_, lines := runT(t, portedToy(t, 1, 0.125), Options{Steps: 2, Checkpoint: dir})
	if log := fmt.Sprint(lines); !strings.Contains(log, "settings:map[lr:0.125]") {
		t.Errorf("the log is\n%s", log)
	}
	_, lines = runT(t, portedToy(t, 1, 0.125), Options{Steps: 3, Checkpoint: dir, Resume: true})
	if log := fmt.Sprint(lines); strings.Contains(log, "warning") {
		t.Errorf("with the same values:\n%s", log)
	}
	_, lines = runT(t, portedToy(t, 1, 0.5), Options{Steps: 4, Checkpoint: dir, Resume: true})
	want := "checkpoint " + filepath.Join(dir, "step-00000003") + " comes from a run with lr=0.125, and this one has lr=0.5; this run continues with the new values"
	if log := fmt.Sprint(lines); !strings.Contains(log, want) || strings.Contains(log, "source or configuration") {
		t.Errorf("with another value:\n%s", log)
	}
}

// TestProcessesHaveTheSameSettings: a job whose processes were given different values does
// not train.
func TestProcessesHaveTheSameSettings(t *testing.T) {
	errs, _ := jobT(t, context.Background(), func(rank int) *program.Plan { return portedToy(t, 2, 0.125*float64(rank+1)) },
		func(int) Options { return Options{Steps: 2} })
	if err := errors.Join(errs...); err == nil || !strings.Contains(err.Error(), "the same values of its ports") {
		t.Errorf("%v", err)
	}
	errs, _ = jobT(t, context.Background(), func(int) *program.Plan { return portedToy(t, 2, 0.125) }, func(int) Options { return Options{Steps: 2} })
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}
