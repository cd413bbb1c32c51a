package ptc_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"ptc"
	"ptc/compiler"
	"ptc/internal/collective"
)

// keptIn is the folder that the data of kept plans is relative to.
const keptIn = "runtime/program"

// kept are plans that earlier versions made, with the losses that those versions had. docs/compatibility.md says what they are for; they are never made
// anew.
var kept = map[string]struct {
	steps int64
	loss  float64
	arch  string // empty: any
}{
	"format-5/mlp.plan":    {4, 5.545359134674072, ""},
	"format-5/gpt.plan":    {2, 5.554828643798828, ""},
	"format-5/native.plan": {4, 5.545359134674072, "amd64"},
	"format-5/moved.plan":  {4, 4.156604766845703, ""}, // with words of package renamed
}

// TestKeptPlans: what was compiled once can be read, explained and run.
func TestKeptPlans(t *testing.T) {
	t.Chdir(keptIn)
	found, err := filepath.Glob("testdata/format-*/*.plan")
	if err != nil || len(found) != len(kept) {
		t.Errorf("%d files of %d kept plans (%v)", len(found), len(kept), err)
	}
	for name, want := range kept {
		plan, err := ptc.ReadPlan(filepath.Join("testdata", name))
		if err != nil {
			t.Error(err)
			continue
		}
		if d := ptc.Explain(plan); d.Parameters.Elements < 1000 {
			t.Errorf("%s: %+v", name, d)
		}
		for _, x := range ptc.Explain(plan).Transfers {
			if x.Kind != collective.HostToDevice && x.Kind != collective.DeviceToHost {
				t.Errorf("%s: a transfer is called %s", name, x.Kind)
			}
		}
		if want.arch != "" && want.arch != runtime.GOARCH {
			continue // code for other processors
		}
		s, err := ptc.Run(context.Background(), plan, ptc.RunOptions{Steps: want.steps})
		if err != nil || math.Abs(s.Loss-want.loss) > 1e-5 {
			t.Errorf("%s: loss %v, and was %v (%v)", name, s.Loss, want.loss, err)
		}
	}
}

// TestKeptCheckpoints: a training that an earlier version began goes on, to the loss that
// it would have had.
func TestKeptCheckpoints(t *testing.T) {
	t.Chdir(keptIn)
	folders, err := filepath.Glob("testdata/format-*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no kept files (%v)", err)
	}
	for _, folder := range folders {
		to := filepath.Join(t.TempDir(), "checkpoint")
		if err := os.CopyFS(to, os.DirFS(filepath.Join(folder, "checkpoint"))); err != nil {
			t.Fatal(err)
		}
		plan, err := ptc.ReadPlan(filepath.Join(folder, "mlp.plan"))
		if err != nil {
			t.Fatal(err)
		}
		want := kept[filepath.Base(folder)+"/mlp.plan"]
		s, err := ptc.Run(context.Background(), plan, ptc.RunOptions{Steps: want.steps, Checkpoint: to, Resume: true})
		if err != nil || math.Abs(s.Loss-want.loss) > 1e-5 {
			t.Errorf("%s: loss %v, and was %v (%v)", folder, s.Loss, want.loss, err)
		}
	}
}

// TestKeptDumps: printed IR of every level can be read, and what is printed of it then
// can be read again.
func TestKeptDumps(t *testing.T) {
	t.Chdir(keptIn)
	dumps, err := filepath.Glob("testdata/format-*/ir/*.ptir")
	if err != nil || len(dumps) < 5 {
		t.Fatalf("%d kept dumps (%v)", len(dumps), err)
	}
	for _, name := range dumps {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		old := formerly.FindAll(text, -1)
		for range 2 {
			again, _, err := compiler.Opt(name, text, nil, "ref")
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			text = []byte(again)
		}
		if strings.HasSuffix(name, "22-order.ptir") && len(old) < 7 || formerly.Match(text) {
			t.Errorf("%s has %d words of earlier versions, and is printed with %q", name, len(old), formerly.FindAll(text, -1))
		}
	}
}

// formerly are words of the IR that later versions do not print.
var formerly = regexp.MustCompile(`(?m) = (fetch|store|part|hold|enter_turn|leave_turn) |^  turns `)
