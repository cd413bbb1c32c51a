package train

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ptc/runtime/data"
	"ptc/runtime/metrics"
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

// A run that is stopped again and again, with all that may go on at the same time.
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
	if got := strings.Join(names, " "); got != "1 3 5 6 9 12 13 15 18 20" {
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
	if w := named(lines, "warning"); len(w) != 3 || !strings.Contains(w[0]["message"].(string), "nothing is left to do: the checkpoint has 10 steps, and the run ends with step 10") {
		t.Errorf("warnings %v, want that all is done and that two files are not written", w)
	}
	if _, err := os.Stat(dump); !os.IsNotExist(err) {
		t.Errorf("a file was written without a step (%v)", err)
	}
	if end := lines[len(lines)-1]; end["event"] != "end" || end["steps"] != 10.0 || end["val_loss"] != sum.ValLoss {
		t.Errorf("the log ends with %v", end)
	}
	straight := filepath.Join(t.TempDir(), "p")
	want, _ := runT(t, newToy(), Options{Steps: 10, Save: straight})
	sameFile(t, straight, save)
	if sum.Loss != want.Loss {
		t.Errorf("the loss of the last step was %g, and is told as %g", want.Loss, sum.Loss)
	}
}

// Fewer steps than there are leave nothing to do either; a loss that is not known
// is not told.
func TestResumeBehindTheEnd(t *testing.T) {
	dir := checkpoints(t, newToy())
	for _, known := range []bool{true, false} {
		if !known { // the loss was not finite, say
			path := filepath.Join(dir, "step-00000010", "manifest.json")
			rewrite(t, path, func(text string) string {
				return regexp.MustCompile(` "loss": .*\n`).ReplaceAllString(text, "")
			})
		}
		var text bytes.Buffer
		log := metrics.NewLines(&text)
		sum, err := Run(context.Background(), newToy(), Options{Steps: 4, Checkpoint: dir, Resume: true, Log: log, Valid: -1})
		if err != nil || sum.Ran != 0 || sum.Steps != 10 || math.IsNaN(sum.Loss) == known {
			t.Errorf("summary %+v, %v", sum, err)
		}
		out := text.String()
		if !strings.Contains(out, "the checkpoint has 10 steps, and the run ends with step 4") || strings.Contains(out, "NaN") ||
			strings.Contains(out, "10 steps done, loss ") != known {
			t.Errorf("the log is\n%s", out)
		}
	}
}

// rewrite changes a manifest, and its hash with it.
func rewrite(t *testing.T, path string, how func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	own := regexp.MustCompile(`("manifest_sha256": )"[0-9a-f]*"`)
	blank := own.ReplaceAllString(how(string(text)), `$1""`)
	signed := own.ReplaceAllString(blank, fmt.Sprintf(`$1"%x"`, sha256.Sum256([]byte(blank))))
	if err := os.WriteFile(path, []byte(signed), 0o666); err != nil {
		t.Fatal(err)
	}
}

// A number that was changed by hand is damage, and not gone on from.
func TestManifestChangedByHand(t *testing.T) {
	for old, new := range map[string]string{`"step": 10`: `"step": 12`, `"seed": 7`: `"seed": 8`} {
		dir := checkpoints(t, newToy())
		path := filepath.Join(dir, "step-00000010", "manifest.json")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), old, new, 1)
		if changed == string(text) {
			t.Fatalf("%s is not in %s", old, text)
		}
		if err := os.WriteFile(path, []byte(changed), 0o666); err != nil {
			t.Fatal(err)
		}
		failsT(t, newToy(), Options{Checkpoint: dir, Resume: true}, ExitFile, "is damaged", "manifest.json has changed since it was saved")
	}
}

func TestResumeFromNothing(t *testing.T) {
	failsT(t, newToy(), Options{Checkpoint: t.TempDir(), Resume: true}, ExitFile, "has no checkpoint", "without --resume")
	failsT(t, newToy(), Options{Checkpoint: filepath.Join(t.TempDir(), "none"), Resume: true}, ExitFile, "has no checkpoint")
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
	failsT(t, renamed, o, ExitFile, "does not match this model", "missing: bias, bias/m", "unknown: b, b/m")

	axes := newToy()
	axes.Devices[0].Buffers[axes.Devices[0].Tensors[0].Buffer].Axes[0].Name = "in"
	failsT(t, axes, o, ExitFile, "does not match this model", "axes of w")

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

// A folder with checkpoints is gone on from or overwritten, as the user says.
func TestStartingOver(t *testing.T) {
	dir := checkpoints(t, newToy())
	failsT(t, newToy(), Options{Steps: 3, Checkpoint: dir}, ExitFile, "already has checkpoints, the latest of step 10", "--resume", "--overwrite")
	failsT(t, newToy(), Options{Steps: 3, Checkpoint: dir, Resume: true, Overwrite: true}, ExitUsage, "--resume or --overwrite")
	failsT(t, newToy(), Options{Steps: 3, Overwrite: true}, ExitUsage, "--checkpoint DIR")
	if sum, _ := runT(t, newToy(), Options{Steps: 11, Checkpoint: dir, Resume: true}); sum.Ran != 1 {
		t.Errorf("the refused runs left what gives %+v", sum)
	}

	_, lines := runT(t, newToy(), Options{Steps: 3, Checkpoint: dir, Overwrite: true})
	if w := named(lines, "warning"); len(w) != 0 {
		t.Errorf("warnings %v", w)
	}
	if names := folder(t, dir); names != "step-00000003" {
		t.Errorf("left are %s", names)
	}
	if sum, _ := runT(t, newToy(), Options{Steps: 5, Checkpoint: dir, Resume: true}); sum.Ran != 2 {
		t.Errorf("then %+v", sum)
	}
	runT(t, newToy(), Options{Steps: 2, Checkpoint: filepath.Join(dir, "new"), Overwrite: true}) // nothing to replace

	ctx, cancel := context.WithCancel(context.Background()) // ends before it has saved one
	cancel()
	if _, _, err := runLog(ctx, newToy(), Options{Checkpoint: dir, Overwrite: true}); err != nil {
		t.Error(err)
	}
	if names := folder(t, dir); !strings.Contains(names, "step-00000005") {
		t.Errorf("left are %s", names)
	}
}

func folder(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// A second run is refused before its first step while another one saves into the
// folder, however it would begin; and by the same folder of several processes.
func TestTwoRunsInOneFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ck")
	var errs []error
	f := func(step int32) {
		if step != 4 { // after a checkpoint
			return
		}
		afterStep.Store(nil)
		for _, o := range []Options{{Checkpoint: dir}, {Checkpoint: dir, Resume: true}, {Checkpoint: dir, Overwrite: true}} {
			sum, _, err := runLog(context.Background(), newToy(), o)
			if sum.Ran > 0 {
				t.Errorf("%d steps were run", sum.Ran)
			}
			errs = append(errs, err)
		}
		ends, _ := jobT(t, context.Background(), toyOnTwo, func(int) Options { return Options{Checkpoint: dir, Resume: true} })
		errs = append(errs, ends[0])
	}
	afterStep.Store(&f)
	defer afterStep.Store(nil)
	runT(t, newToy(), Options{Steps: 9, Checkpoint: dir, Every: 3, CheckpointSync: true})
	if len(errs) != 4 {
		t.Fatalf("%d runs were tried", len(errs))
	}
	for _, err := range errs {
		failed(t, err, ExitFile, "process "+strconv.Itoa(os.Getpid())+" on host", "is using it", "another folder")
	}
	if sum, lines := runT(t, newToy(), Options{Steps: 10, Checkpoint: dir, Resume: true}); sum.Ran != 1 || len(named(lines, "warning")) != 0 {
		t.Errorf("afterwards %+v, %v", sum, lines)
	}
}

// What cannot be saved ends the run, and leaves what was saved.
func TestCheckpointThatCannotBeSaved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ck")
	runT(t, newToy(), Options{Steps: 5, Checkpoint: dir})
	if err := os.WriteFile(filepath.Join(dir, "step-00000008"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	sum, lines, err := runLog(context.Background(), newToy(), Options{Checkpoint: dir, Resume: true, Every: 4, CheckpointSync: true})
	failed(t, err, ExitFile, "cannot save", "intact", "step-00000008")
	if sum.Steps != 8 || len(named(lines, "end")) != 0 {
		t.Errorf("summary %+v", sum)
	}
	if sum, _ := runT(t, newToy(), Options{Steps: 7, Checkpoint: dir, Resume: true}); sum.Ran != 2 {
		t.Errorf("then %+v", sum)
	}
}
