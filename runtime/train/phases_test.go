package train

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/runtime/checkpoint"
	"ptc/runtime/program"
)

// toyRows is how many examples each file of toyFiles has.
const toyRows = 400

// toyFiles makes arrays for the toy: x of a, b and c.
func toyFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"a", "b", "c"} {
		for field, width := range map[string]int{"x": toyFrom, "y": toyTo} {
			head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", toyRows, width)
			head += strings.Repeat(" ", 64-(len(head)+11)%64) + "\n"
			raw := []byte("\x93NUMPY\x01\x00")
			raw = append(binary.LittleEndian.AppendUint16(raw, uint16(len(head))), head...)
			for range toyRows * width {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(random.NormFloat64())))
			}
			if err := os.WriteFile(filepath.Join(dir, name+"-"+field+".npy"), raw, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// toyPhase is a line of a script: a plan that runs to a step.
type toyPhase struct {
	last    int64
	batch   int
	devices int
	data    string // files and weights, as a, or a=3 b=1
}

func (p toyPhase) plan(dir string) *program.Plan {
	plan := newToyOf(p.devices, p.batch)
	plan.Data = program.Data{Kind: "mix", Steps: 20}
	for i, part := range strings.Fields(p.data) {
		key := fmt.Sprintf("%d.", i+1)
		name, weight, mixed := strings.Cut(part, "=")
		if !mixed {
			plan.Data.Kind, key = "arrays", ""
		} else {
			plan.Data.Options = append(plan.Data.Options, program.KV{Key: key + "kind", Value: "arrays"}, program.KV{Key: key + "weight", Value: weight})
		}
		for _, field := range []string{"x", "y"} {
			plan.Data.Options = append(plan.Data.Options, program.KV{Key: key + field + "_file", Value: filepath.Join(dir, name+"-"+field+".npy")})
		}
	}
	return plan
}

// toyScript runs lines one after another, as a shell does with set -e.
func toyScript(dir string, lines []toyPhase, o Options) error {
	o.ResumeIfAny, o.NewData, o.Valid = true, true, -1
	for _, line := range lines {
		o.Steps = line.last
		if _, _, err := runLog(context.Background(), line.plan(dir), o); err != nil {
			return err
		}
	}
	return nil
}

var toyLines = []toyPhase{{4, 2, 1, "a"}, {7, 4, 2, "a"}, {11, 4, 1, "a=3 b=1"}, {13, 8, 1, "a=3 b=1"}, {16, 3, 2, "b=1 a=1"}, {18, 3, 1, "a"}}

// phasesIn are the phases of the latest checkpoint.
func phasesIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	c, err := checkpoint.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, p := range c.Meta.Phases {
		text := fmt.Sprintf("from %d by %d:", p.First, p.Batch)
		for _, s := range p.Sources {
			text += fmt.Sprintf(" %d", s.Examples)
		}
		out = append(out, text)
	}
	return out
}

// TestPhasesAreKeptByKills: a script of phases that is killed at any write of a checkpoint, and
// started again, ends as one that never was, and says the same of its phases.
func TestPhasesAreKeptByKills(t *testing.T) {
	files, dir := toyFiles(t), t.TempDir()
	straight := filepath.Join(dir, "straight")
	saves := 0
	o := Options{Checkpoint: straight, Every: 2, Save: straight + ".p", CheckpointSync: true, held: func(int64, string) error {
		saves++
		return nil
	}}
	if err := toyScript(files, toyLines, o); err != nil {
		t.Fatal(err)
	}
	want := phasesIn(t, straight)
	if diff := cmp.Diff([]string{"from 1 by 2: 8", "from 5 by 4: 12", "from 8 by 4: 14 2", "from 12 by 8: 15 1", "from 14 by 3: 7 2", "from 17 by 3: 6"}, want); diff != "" {
		t.Error(diff)
	}
	for kill := 1; kill <= saves; kill += 3 {
		o.Checkpoint, o.Save = filepath.Join(dir, fmt.Sprint(kill)), filepath.Join(dir, fmt.Sprint(kill, ".p"))
		n := 0
		o.held = func(int64, string) error {
			if n++; n == kill {
				return errors.New("killed")
			}
			return nil
		}
		if err := toyScript(files, toyLines, o); err == nil {
			t.Fatalf("it was not killed at write %d of %d", kill, saves)
		}
		if err := toyScript(files, toyLines, o); err != nil {
			t.Fatalf("killed at write %d, started again: %v", kill, err)
		}
		sameFile(t, straight+".p", o.Save)
		if diff := cmp.Diff(want, phasesIn(t, o.Checkpoint)); diff != "" {
			t.Errorf("killed at write %d: %s", kill, diff)
		}
	}
}

// TestPhaseIsAsked: other data is refused with what differs, and --new-data goes on with it once; what was fed
// before is not fed again.
func TestPhaseIsAsked(t *testing.T) {
	files, ck := toyFiles(t), filepath.Join(t.TempDir(), "ck")
	o := Options{Checkpoint: ck, Valid: -1, Steps: 4}
	runT(t, toyPhase{batch: 4, devices: 1, data: "a=3 b=1"}.plan(files), o)
	o.Resume, o.Steps = true, 6
	other := toyPhase{batch: 8, devices: 1, data: "a=1 b=1"}
	failsT(t, other.plan(files), o, ExitFile, "other data: weights (75% : 25%, now 50% : 50%)", "--new-data", "--init")
	failsT(t, toyPhase{batch: 4, devices: 1, data: "a=3 c=1"}.plan(files), o, ExitFile, "of source 2: content of the files")
	failsT(t, toyPhase{batch: 4, devices: 1, data: "a"}.plan(files), o, ExitFile, "source 2, data.arrays, no longer exists")

	o.Steps, o.Valid, o.Save = 3, 0, filepath.Join(t.TempDir(), "p") // nothing is fed, so that nothing is refused
	sum, lines := runT(t, other.plan(files), o)
	if end := named(lines, "end")[0]; sum.Ran != 0 || named(lines, "start")[0]["changed"] != nil || end["val_loss"] != nil {
		t.Errorf("%+v, %v", sum, lines)
	}
	if _, err := os.Stat(o.Save); err == nil || !strings.Contains(fmt.Sprint(named(lines, "warning")), "belong to a later phase") {
		t.Error("parameters of another phase are saved")
	}
	o.Steps, o.NewData, o.Valid, o.Save = 6, true, -1, ""
	_, lines = runT(t, other.plan(files), o)
	start := named(lines, "start")[0]
	if start["changed"] != "batch (4, now 8); weights (75% : 25%, now 50% : 50%)" ||
		!regexp.MustCompile("^parameters, state of the optimizer, steps from 5 on, source 1 from example 1[0-9] on, source 2 from example [2-6] on$").MatchString(start["goes_on"].(string)) {
		t.Errorf("the start says %v", start)
	}
	o.Steps, o.NewData = 8, false
	if _, lines := runT(t, other.plan(files), o); named(lines, "start")[0]["changed"] != nil {
		t.Errorf("the same phase goes on, and the start says %v", named(lines, "start"))
	}
	if got := len(phasesIn(t, ck)); got != 2 {
		t.Errorf("%d phases", got)
	}
	failsT(t, other.plan(files), Options{Checkpoint: ck, Steps: 9, Resume: true, After: 9}, ExitFile, "--after is 9", "is of step 8", "finish")
	failsT(t, other.plan(files), Options{Checkpoint: filepath.Join(ck, "new"), Steps: 9, ResumeIfAny: true, After: 4}, ExitFile, "--after is 4", "no checkpoint")
	again := toyPhase{batch: 4, devices: 1, data: "a=3 b=1"}.plan(files)
	failsT(t, again, Options{Checkpoint: ck, Steps: 9, Resume: true, NewData: true, After: 6}, ExitFile, "--after is 6 and the run changes batch (8, now 4); weights", "is of step 8")
	for _, o := range []Options{{Steps: 4, After: 4}, {Steps: 9, After: 4}} {
		o.Checkpoint, o.Resume, o.Valid = ck, true, -1
		if sum, _ := runT(t, other.plan(files), o); sum.Steps != max(8, o.Steps) {
			t.Errorf("%+v", sum)
		}
	}
	failsT(t, other.plan(files), Options{Checkpoint: ck, After: 4}, ExitUsage, "--after", "--resume")
	failsT(t, other.plan(files), Options{NewData: true, Checkpoint: ck}, ExitUsage, "--new-data", "--resume")
}

// TestAnotherBatch: a run in batches of another size is fed the examples that follow, each once.
func TestAnotherBatch(t *testing.T) {
	files, ck := toyFiles(t), filepath.Join(t.TempDir(), "ck")
	o := Options{Checkpoint: ck, Valid: -1, Steps: 6}
	runT(t, toyPhase{batch: 4, devices: 1, data: "a"}.plan(files), o)
	o.Resume, o.Steps = true, 8
	_, lines := runT(t, toyPhase{batch: 8, devices: 2, data: "a"}.plan(files), o)
	start := named(lines, "start")[0]
	if start["changed"] != "batch (4, now 8)" || !strings.HasSuffix(start["goes_on"].(string), "data from example 25 on") {
		t.Errorf("the start says %v", start)
	}
	if diff := cmp.Diff([]string{"from 1 by 4: 24", "from 7 by 8: 16"}, phasesIn(t, ck)); diff != "" {
		t.Error(diff)
	}
}

// TestPhasesOfAJob: several processes go on with another batch and other data as one does.
func TestPhasesOfAJob(t *testing.T) {
	files, dir := toyFiles(t), t.TempDir()
	next := toyPhase{batch: 8, devices: 2, data: "b=1 a=1"}
	for _, name := range []string{"one", "job"} {
		ck := filepath.Join(dir, name)
		runT(t, toyPhase{batch: 4, devices: 2, data: "a=3 b=1"}.plan(files), Options{Checkpoint: ck, Valid: -1, Steps: 5})
		o := Options{Checkpoint: ck, Valid: -1, Steps: 9, Resume: true, NewData: true, Save: ck + ".p"}
		if name == "one" {
			runT(t, next.plan(files), o)
			continue
		}
		refused := o
		refused.NewData = false
		errs, _ := jobT(t, context.Background(), func(int) *program.Plan { return next.plan(files) }, func(int) Options { return refused })
		failed(t, errs[0], ExitFile, "other data: weights (75% : 25%, now 50% : 50%)")
		errs, _ = jobT(t, context.Background(), func(int) *program.Plan { return next.plan(files) }, func(int) Options { return o })
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	sameFile(t, filepath.Join(dir, "one.p"), filepath.Join(dir, "job.p"))
	if diff := cmp.Diff(phasesIn(t, filepath.Join(dir, "one")), phasesIn(t, filepath.Join(dir, "job"))); diff != "" {
		t.Error(diff)
	}
}

// TestPhaseWithoutData: a run on data does not go on without any, nor does one without go on
// with data that it is not told of.
func TestPhaseWithoutData(t *testing.T) {
	files, ck := toyFiles(t), filepath.Join(t.TempDir(), "ck")
	line := toyPhase{batch: 4, devices: 1, data: "a"}
	runT(t, line.plan(files), Options{Checkpoint: ck, Valid: -1, Steps: 4})
	asFormat2(t, filepath.Join(ck, "step-00000004"))
	rewrite(t, filepath.Join(ck, "step-00000004", "manifest.json"), func(text string) string {
		return regexp.MustCompile(`("data_fingerprint": )"[^"]*"`).ReplaceAllString(text, `$1""`)
	})
	o := Options{Checkpoint: ck, Valid: -1, Steps: 6, Resume: true}
	failsT(t, line.plan(files), o, ExitFile, "other data", "--new-data")
	o.NewData = true
	runT(t, line.plan(files), o)
	none := line.plan(files)
	for i := range none.Devices {
		none.Devices[i].Ports = slices.DeleteFunc(none.Devices[i].Ports, func(p program.Port) bool { return p.Role == program.RoleData })
	}
	none.Data.Kind, none.Data.Options, o.Steps = "", nil, 8
	failsT(t, none, o, ExitFile, "this plan reads none", "--init")
}

// asFormat2 makes a checkpoint that of an earlier version, which had no phases.
func asFormat2(t *testing.T, dir string) {
	t.Helper()
	rewrite(t, filepath.Join(dir, "manifest.json"), func(text string) string {
		text = regexp.MustCompile(`(?s)\n "phases": \[.*?\n \],`).ReplaceAllString(text, "")
		return strings.Replace(text, `"format": 3`, `"format": 2`, 1)
	})
}

// TestCheckpointWithoutPhases: one of an earlier version goes on, on its own data and, with
// --new-data, on other data.
func TestCheckpointWithoutPhases(t *testing.T) {
	files, dir := toyFiles(t), t.TempDir()
	line := toyPhase{batch: 4, devices: 1, data: "a=3 b=1"}
	straight := filepath.Join(dir, "straight")
	runT(t, line.plan(files), Options{Checkpoint: straight, Valid: -1, Steps: 8, Save: straight + ".p"})
	for _, data := range []string{"a=3 b=1", "a"} {
		ck := filepath.Join(dir, data)
		runT(t, line.plan(files), Options{Checkpoint: ck, Valid: -1, Steps: 4})
		asFormat2(t, filepath.Join(ck, "step-00000004"))
		o := Options{Checkpoint: ck, Valid: -1, Steps: 8, Resume: true, Save: ck + ".p"}
		other := line
		if other.data = data; data == "a" {
			failsT(t, other.plan(files), o, ExitFile, "does not say which", "--new-data")
			o.NewData = true
		}
		_, lines := runT(t, other.plan(files), o)
		if w := named(lines, "warning"); len(w) == 0 || !strings.Contains(w[0]["message"].(string), "without the size of the batch: the run continues as if it was 4") {
			t.Errorf("warnings %v", w)
		}
		want := []string{"from 1 by 4: 29 3"}
		if data == "a" {
			want = []string{"from 1 by 4:", "from 5 by 4: 16"}
		} else {
			sameFile(t, straight+".p", ck+".p")
		}
		if diff := cmp.Diff(want, phasesIn(t, ck)); diff != "" {
			t.Error(diff)
		}
		o.Steps, o.Save = 9, ""
		if sum, _ := runT(t, other.plan(files), o); sum.Ran != 1 {
			t.Errorf("then %+v", sum)
		}
	}
}

// TestBestOfAPhase: losses of other data do not compare, so that the best checkpoint of a phase is its own.
func TestBestOfAPhase(t *testing.T) {
	files, ck := toyFiles(t), filepath.Join(t.TempDir(), "ck")
	o := Options{Checkpoint: ck, Steps: 6, KeepBest: true, ValidEvery: 2, Keep: 1}
	runT(t, toyPhase{batch: 4, devices: 1, data: "a"}.plan(files), o)
	before := validated(t, ck)
	o.Resume, o.NewData, o.Steps = true, true, 12
	runT(t, toyPhase{batch: 4, devices: 1, data: "b"}.plan(files), o)
	entries, err := (&checkpoint.Store{Dir: ck}).List()
	if err != nil {
		t.Fatal(err)
	}
	best, ok := checkpoint.Best(entries)
	if after := validated(t, ck); !ok || best.Step <= 6 || !strings.Contains(fmt.Sprint(after), lowest(before)) {
		t.Errorf("before there were %v, and then %v, of which the best is %d", before, after, best.Step)
	}
}

// lowest is the one with the lowest loss.
func lowest(list []string) (best string) {
	least := math.Inf(1)
	for _, s := range list {
		var step int
		var loss float64
		if n, _ := fmt.Sscanf(s, "%d: %g", &step, &loss); n == 2 && loss < least {
			best, least = s, loss
		}
	}
	return best
}
