package train

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/runtime/data"
	"ptc/runtime/program"
)

func sameFile(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(x, y) {
		t.Errorf("%s and %s differ", filepath.Base(a), filepath.Base(b))
	}
}

// checkpoints makes a folder with the checkpoint of step 10.
func checkpoints(t *testing.T, plan *program.Plan) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ck")
	runT(t, plan, Options{Steps: 10, Checkpoint: dir})
	return dir
}

func TestResumeIsTheStraightRun(t *testing.T) {
	dir := t.TempDir()
	straight, resumed := filepath.Join(dir, "straight"), filepath.Join(dir, "resumed")
	want, _ := runT(t, newToy(), Options{Steps: 20, Save: straight})

	ck := checkpoints(t, newToy())
	got, lines := runT(t, newToy(), Options{Steps: 20, Checkpoint: ck, Resume: true, Save: resumed})
	sameFile(t, straight, resumed)
	if got.Loss != want.Loss || got.ValLoss != want.ValLoss || got.Ran != 10 || got.Steps != 20 {
		t.Errorf("the resumed run ends with %+v, the straight one with %+v", got, want)
	}
	start := named(lines, "start")[0]
	if start["first_step"] != 11.0 || !strings.HasSuffix(start["resumed"].(string), "step-00000010") || len(named(lines, "warning")) != 0 {
		t.Errorf("the log is %v", lines)
	}
}

// A run that is stopped again and again, with all that may go on beside it.
func TestResumeAfterEachStop(t *testing.T) {
	dir := t.TempDir()
	straight, resumed, ck := filepath.Join(dir, "straight"), filepath.Join(dir, "resumed"), filepath.Join(dir, "ck")
	runT(t, newToy(), Options{Save: straight})
	o := Options{Checkpoint: ck, Every: 3, ValidEvery: 2, Keep: -1, Save: resumed, Threads: 1}
	for i, stop := range []int32{1, 5, 6, 13, 0} {
		o.Resume = i > 0
		o.Trace = filepath.Join(dir, "trace")
		o.DumpGrads, o.DumpBatches = filepath.Join(dir, "g"), filepath.Join(dir, "b")
		ctx := context.Background()
		if stop > 0 {
			ctx = stopAfter(t, stop)
		}
		if sum, _, err := runLog(ctx, newToy(), o); err != nil || sum.Interrupted != (stop > 0) {
			t.Fatalf("stopped after %d: %+v, %v", stop, sum, err)
		}
	}
	sameFile(t, straight, resumed)
	entries, err := os.ReadDir(ck)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimLeft(e.Name(), "step-0"))
	}
	if got := strings.Join(names, " "); got != "latest 1 3 5 6 9 12 13 15 18 20" {
		t.Errorf("checkpoints %q", got)
	}
}

// A checkpoint of one layout goes on under another, and the result is that of
// either.
func TestResumeUnderAnotherLayout(t *testing.T) {
	dir := t.TempDir()
	one, two, both := filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "both")
	runT(t, newToyOn(1), Options{Save: one, DumpBatches: one + ".b"})
	runT(t, newToyOn(2), Options{Save: two, DumpBatches: two + ".b"})
	sameFile(t, one, two)
	sameFile(t, one+".b", two+".b")
	_, lines := runT(t, newToyOn(2), Options{Checkpoint: checkpoints(t, newToyOn(1)), Resume: true, Save: both})
	sameFile(t, one, both)
	if w := named(lines, "warning"); len(w) != 0 {
		t.Errorf("warnings %v", w)
	}
	runT(t, newToyOn(1), Options{Steps: 1, DumpGrads: one + ".g"})
	runT(t, newToyOn(2), Options{Steps: 1, DumpGrads: two + ".g"})
	sameFile(t, one+".g", two+".g")
}

func TestResumeWhenAllIsDone(t *testing.T) {
	dir := checkpoints(t, newToy())
	save := filepath.Join(t.TempDir(), "p")
	dump := filepath.Join(t.TempDir(), "dump")
	sum, lines := runT(t, newToy(), Options{Steps: 10, Checkpoint: dir, Resume: true, Save: save, DumpGrads: dump, DumpBatches: dump})
	if sum.Ran != 0 || sum.Steps != 10 || sum.Interrupted || len(named(lines, "step")) != 0 {
		t.Errorf("summary %+v", sum)
	}
	if w := named(lines, "warning"); len(w) != 3 || !strings.Contains(w[0]["message"].(string), "done already") {
		t.Errorf("warnings %v, want that all is done and that two files are not written", w)
	}
	if _, err := os.Stat(dump); !os.IsNotExist(err) {
		t.Errorf("a file was written without a step (%v)", err)
	}
	if end := lines[len(lines)-1]; end["event"] != "end" || end["steps"] != 10.0 || end["val_loss"] != sum.ValLoss {
		t.Errorf("the log ends with %v", end)
	}
	straight := filepath.Join(t.TempDir(), "p")
	runT(t, newToy(), Options{Steps: 10, Save: straight})
	sameFile(t, straight, save)
}

func TestResumeFromNothing(t *testing.T) {
	failsT(t, newToy(), Options{Checkpoint: t.TempDir(), Resume: true}, ExitFile, "no checkpoint in", "without --resume")
	failsT(t, newToy(), Options{Checkpoint: filepath.Join(t.TempDir(), "none"), Resume: true}, ExitFile, "no checkpoint in")
}

func TestResumeOfAnotherRun(t *testing.T) {
	o := Options{Checkpoint: checkpoints(t, newToy()), Resume: true}

	renamed := newToy()
	renamed.Devices[0].Tensors[1].Path = "bias"
	renamed.Devices[0].Tensors[3].Path = "bias/m"
	for i := range renamed.Devices[0].Ports {
		if p := &renamed.Devices[0].Ports[i]; p.Role == program.RoleGrad && p.Path == "b" {
			p.Path = "bias"
		}
	}
	failsT(t, renamed, o, ExitFile, "not of this model", "missing: bias, bias/m", "unknown: b, b/m")

	axes := newToy()
	axes.Devices[0].Buffers[axes.Devices[0].Tensors[0].Buffer].Axes[0].Name = "in"
	failsT(t, axes, o, ExitFile, "not of this model", "axes of w")

	seed := uint64(8)
	other := o
	other.Seed = &seed
	failsT(t, newToy(), other, ExitFile, "seed 7, not 8")

	other = o
	other.Data = []data.Option{{Key: "noise", Value: "0.5"}}
	failsT(t, newToy(), other, ExitFile, "other data", "--init", "model.safetensors")

	// Another learning rate, say, is a wish.
	edited := newToy()
	edited.Sources[0].Text += "// edited"
	_, lines := runT(t, edited, o)
	if w := named(lines, "warning"); len(w) != 1 || !strings.Contains(w[0]["message"].(string), "source or configuration") {
		t.Errorf("warnings %v", w)
	}
}

func TestResumeFromTheOneBeforeADamagedOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ck")
	runT(t, newToy(), Options{Steps: 10, Checkpoint: dir, Every: 4})
	path := filepath.Join(dir, "step-00000010", "model.safetensors")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-1] ^= 1
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	straight, resumed := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	runT(t, newToy(), Options{Save: straight})
	sum, lines := runT(t, newToy(), Options{Checkpoint: dir, Resume: true, Save: resumed})
	sameFile(t, straight, resumed)
	if w := named(lines, "warning"); sum.Ran != 12 || len(w) != 1 || !strings.Contains(w[0]["message"].(string), "step 8 instead") {
		t.Errorf("summary %+v, warnings %v", sum, w)
	}
}

func TestStartingOverSaysSo(t *testing.T) {
	dir := checkpoints(t, newToy())
	_, lines := runT(t, newToy(), Options{Steps: 3, Checkpoint: dir})
	if w := named(lines, "warning"); len(w) != 1 || !strings.Contains(w[0]["message"].(string), "up to step 10") {
		t.Errorf("warnings %v", w)
	}
}

// What cannot be saved ends the run, and leaves what was saved.
func TestCheckpointThatCannotBeSaved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ck")
	runT(t, newToy(), Options{Steps: 5, Checkpoint: dir})
	if err := os.WriteFile(filepath.Join(dir, "step-00000008"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	sum, lines, err := runLog(context.Background(), newToy(), Options{Checkpoint: dir, Resume: true, Every: 4})
	failed(t, err, ExitFile, "cannot be saved", "intact", "step-00000008")
	if sum.Steps != 8 || len(named(lines, "end")) != 0 {
		t.Errorf("summary %+v", sum)
	}
	if sum, _ := runT(t, newToy(), Options{Steps: 7, Checkpoint: dir, Resume: true}); sum.Ran != 2 {
		t.Errorf("then %+v", sum)
	}
}
