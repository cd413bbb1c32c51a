package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ptc/runtime/checkpoint"
)

// gate holds a save of one step until it is opened.
type gate struct {
	step   int64
	when   string
	met    chan struct{} // closed when the save has come to it
	opened chan struct{}
}

func newGate(step int64, when string) *gate {
	return &gate{step, when, make(chan struct{}), make(chan struct{})}
}

func (g *gate) hold(step int64, when string) error {
	if step == g.step && when == g.when {
		close(g.met)
		<-g.opened
	}
	return nil
}

// onStep calls f after each step of the test.
func onStep(t *testing.T, f func(step int32)) {
	t.Helper()
	afterStep.Store(&f)
	t.Cleanup(func() { afterStep.Store(nil) })
}

// warned are the warnings that have a text; on a slow disk there may be others.
func warned(lines []map[string]any, text string) (out []string) {
	for _, l := range named(lines, "warning") {
		if m := l["message"].(string); strings.Contains(m, text) {
			out = append(out, m)
		}
	}
	return out
}

// TestStepsGoOnWhileACheckpointIsWritten: the write of step 3 is let go by step 9,
// which a run that waited would never reach. What is written is the state after
// step 3 all the same.
func TestStepsGoOnWhileACheckpointIsWritten(t *testing.T) {
	dir := t.TempDir()
	behind, sync := filepath.Join(dir, "behind"), filepath.Join(dir, "sync")
	o := Options{Checkpoint: sync, Every: 3, Keep: -1, CheckpointSync: true, Steps: 10}
	want, _ := runT(t, newToy(), o)
	for _, when := range []string{"begin", "commit"} {
		t.Run(when, func(t *testing.T) {
			if err := os.RemoveAll(behind); err != nil {
				t.Fatal(err)
			}
			g := newGate(3, when)
			onStep(t, func(step int32) {
				if step == 5 { // before the save after step 6, which waits
					<-g.met
					if names := folder(t, behind); strings.Contains(names, " step-") {
						t.Errorf("at step 5 there are %s", names)
					}
					close(g.opened)
				}
			})
			o := o
			o.Checkpoint, o.CheckpointSync, o.held = behind, false, g.hold
			got, lines := runT(t, newToy(), o)
			if got.Loss != want.Loss || got.Ran != 10 || filepath.Base(got.Checkpoint) != "step-00000010" {
				t.Errorf("the run ends with %+v, that in the foreground with %+v", got, want)
			}
			sameCheckpoints(t, sync, behind, 3, 6, 9, 10)
			told := named(lines, "checkpoint")
			if len(told) != 4 {
				t.Fatalf("told are %v", told)
			}
			for i, step := range []float64{3, 6, 9, 10} {
				_, wrote := told[i]["write_ms"]
				if told[i]["step"] != step || told[i]["wait_ms"] == nil || wrote != (step != 10) {
					t.Errorf("told is %v", told[i])
				}
			}
		})
	}
}

func sameCheckpoints(t *testing.T, a, b string, steps ...int) {
	t.Helper()
	for _, step := range steps {
		for _, name := range []string{"model.safetensors", "optimizer.safetensors", "manifest.json"} {
			at := filepath.Join(fmt.Sprintf("step-%08d", step), name)
			sameFile(t, filepath.Join(a, at), filepath.Join(b, at))
		}
	}
}

// TestOneWriteAtATime: the next save waits for the one under way, and says so.
func TestOneWriteAtATime(t *testing.T) {
	g := newGate(3, "commit")
	var most, at atomic.Int32
	held := func(step int64, when string) error {
		if when == "begin" {
			most.Store(max(most.Load(), at.Add(1)))
		} else {
			defer at.Add(-1)
		}
		return g.hold(step, when)
	}
	onStep(t, func(step int32) {
		if step == 6 {
			time.AfterFunc(3*longWait, func() { close(g.opened) })
		}
	})
	_, lines := runT(t, newToy(), Options{Steps: 9, Checkpoint: filepath.Join(t.TempDir(), "ck"), Every: 3, held: held})
	if w := warned(lines, "the checkpoint of step 6 waited"); len(w) != 1 || !strings.Contains(w[0], "for the checkpoint of step 3") {
		t.Errorf("warnings %v", w)
	}
	if most.Load() != 1 {
		t.Errorf("%d were written at a time", most.Load())
	}
}

// TestDeathWhileACheckpointIsWritten: what a run leaves that is killed while it
// writes is the checkpoint before, and goes on to the same end.
func TestDeathWhileACheckpointIsWritten(t *testing.T) {
	dir := t.TempDir()
	ck, left := filepath.Join(dir, "ck"), filepath.Join(dir, "left")
	straight, resumed := filepath.Join(dir, "straight"), filepath.Join(dir, "resumed")
	g := newGate(6, "commit")
	onStep(t, func(step int32) {
		if step != 8 {
			return
		}
		<-g.met
		if err := os.CopyFS(left, os.DirFS(ck)); err != nil {
			t.Error(err)
		}
		close(g.opened)
	})
	runT(t, newToy(), Options{Checkpoint: ck, Every: 3, Save: straight, held: g.hold})
	if names := folder(t, left); !strings.Contains(names, ".tmp-step-00000006") || !strings.Contains(names, " step-00000003") {
		t.Fatalf("left are %s", names)
	}
	afterStep.Store(nil)
	sum, lines := runT(t, newToy(), Options{Checkpoint: left, Resume: true, Save: resumed})
	if sum.Ran != 17 || len(named(lines, "warning")) > 0 {
		t.Errorf("it goes on with %+v, %v", sum, lines)
	}
	sameFile(t, straight, resumed)
	if names := folder(t, left); strings.Contains(names, ".tmp") {
		t.Errorf("left are %s", names)
	}
}

// TestFailureBehindTheRun: an error of a write ends the run at the next step, with
// the exit code of one in the foreground.
func TestFailureBehindTheRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ck")
	failure := errors.New("no space left on device")
	failing := make(chan struct{})
	held := func(step int64, when string) error {
		if step == 4 && when == "commit" {
			defer close(failing)
			return failure
		}
		return nil
	}
	onStep(t, func(step int32) {
		if step == 6 {
			<-failing
			time.Sleep(longWait) // until the goroutine has ended
		}
	})
	sum, lines, err := runLog(context.Background(), newToy(), Options{Checkpoint: dir, Every: 2, held: held, Keep: -1})
	failed(t, err, ExitFile, "ptc cannot save a checkpoint", "intact", "no space left")
	if !errors.Is(err, failure) || sum.Steps < 4 || sum.Steps > 6 || len(named(lines, "end")) != 0 {
		t.Errorf("summary %+v, %v", sum, err)
	}
	if names := folder(t, dir); names != ".lock step-00000002" && names != "step-00000002" {
		t.Errorf("left are %s", names)
	}
}

// TestEndWaitsForTheWrite: neither an end nor an error leaves a write under way.
func TestEndWaitsForTheWrite(t *testing.T) {
	for _, c := range []struct {
		name string
		stop int32
		fail bool
	}{{"end", 0, false}, {"signal", 7, false}, {"error", 7, true}} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "ck")
			g := newGate(6, "commit")
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			onStep(t, func(step int32) {
				if step == 7 {
					<-g.met
					time.AfterFunc(longWait, func() { close(g.opened) })
				}
				if step == c.stop {
					cancel(ErrPreempted)
				}
				if step == 7 && c.fail {
					if err := os.WriteFile(filepath.Join(dir, "step-00000007"), nil, 0o666); err != nil {
						t.Error(err)
					}
				}
			})
			sum, lines, err := runLog(ctx, newToy(), Options{Steps: 8, Checkpoint: dir, Every: 6, held: g.hold, Keep: -1})
			if c.fail {
				failed(t, err, ExitFile, "cannot save")
			} else if err != nil || sum.Preempted != (c.stop > 0) {
				t.Errorf("summary %+v, %v", sum, err)
			}
			if names := folder(t, dir); !strings.Contains(names, "step-00000006") || strings.Contains(names, ".tmp") {
				t.Errorf("left are %s", names)
			}
			if told := named(lines, "checkpoint"); len(told) == 0 || told[0]["step"] != 6.0 {
				t.Errorf("told are %v", told)
			}
		})
	}
}

// TestKeptBehindTheRun: what is kept does not depend on when it is written.
func TestKeptBehindTheRun(t *testing.T) {
	for _, o := range []Options{{Keep: 2, Every: 3}, {Keep: 1, KeepBest: true, Every: 3}, {Every: 1}} {
		o.ValidEvery = 2
		dir := t.TempDir()
		o.Checkpoint, o.CheckpointSync = filepath.Join(dir, "sync"), true
		runT(t, newToy(), o)
		want := folder(t, o.Checkpoint)
		o.Checkpoint, o.CheckpointSync = filepath.Join(dir, "behind"), false
		runT(t, newToy(), o)
		if got := folder(t, o.Checkpoint); got != want {
			t.Errorf("%+v: kept are %s, in the foreground %s", o, got, want)
		}
		for _, name := range strings.Fields(want) {
			if strings.HasPrefix(name, "step-") {
				sameFile(t, filepath.Join(dir, "sync", name, "manifest.json"), filepath.Join(dir, "behind", name, "manifest.json"))
			}
		}
	}
}

// TestNoRoomForCopies: where memory is scarce a remark says so, and steps wait.
func TestNoRoomForCopies(t *testing.T) {
	for _, c := range []struct {
		free  int64
		known bool
		warns int
	}{{127, true, 1}, {128, true, 0}, {0, false, 0}} { // 64 bytes of state
		_, lines := runT(t, newToy(), Options{Steps: 9, Checkpoint: filepath.Join(t.TempDir(), "ck"), Every: 3,
			free: func() (int64, bool) { return c.free, c.known }})
		if w := warned(lines, "steps wait until each checkpoint is written"); len(w) != c.warns {
			t.Errorf("%+v: warnings %v", c, w)
		}
		for _, told := range named(lines, "checkpoint") {
			if _, wrote := told["write_ms"]; wrote != (c.warns == 0 && told["step"] != 9.0) {
				t.Errorf("%+v: told is %v", c, told)
			}
		}
	}
}

// TestGrace: what takes longer than a scheduler waits is told, once.
func TestGrace(t *testing.T) {
	for _, c := range []struct {
		grace time.Duration
		warns int
	}{{1, 1}, {time.Hour, 0}} {
		dir := filepath.Join(t.TempDir(), "ck")
		_, lines := runT(t, newToy(), Options{Steps: 9, Checkpoint: dir, Every: 3, Grace: c.grace})
		if w := warned(lines, "--grace is 1ns, but ending the run may take"); len(w) != c.warns {
			t.Errorf("%v: warnings %v", c.grace, w)
		}
		if names := folder(t, dir); strings.Contains(names, "probe") {
			t.Errorf("left are %s", names)
		}
	}
	failsT(t, newToy(), Options{Grace: -1, Checkpoint: "ck"}, ExitUsage, "--grace is -1ns")
	failsT(t, newToy(), Options{Grace: 1}, ExitUsage, "--grace needs a folder")
}

// TestResumeIfAny: one command line starts a training and goes on with it.
func TestResumeIfAny(t *testing.T) {
	dir := t.TempDir()
	straight, resumed := filepath.Join(dir, "straight"), filepath.Join(dir, "resumed")
	runT(t, newToy(), Options{Save: straight})
	o := Options{Checkpoint: filepath.Join(dir, "ck"), Save: resumed, ResumeIfAny: true}
	for i, want := range []Summary{{Ran: 5, Steps: 5}, {Ran: 7, Steps: 12}, {Ran: 8, Steps: 20}, {Steps: 20}} {
		ctx := context.Background()
		if i < 2 {
			ctx = stopAfter(t, int32(want.Steps))
		}
		sum, _, err := runLog(ctx, newToy(), o)
		if err != nil || sum.Ran != want.Ran || sum.Steps != want.Steps || sum.Preempted {
			t.Errorf("run %d ends with %+v, %v", i, sum, err)
		}
		afterStep.Store(nil)
	}
	sameFile(t, straight, resumed)
	failsT(t, newToy(), Options{ResumeIfAny: true}, ExitUsage, "--checkpoint DIR")
	failsT(t, newToy(), Options{ResumeIfAny: true, Overwrite: true, Checkpoint: o.Checkpoint}, ExitUsage, "either")
	// Checkpoints that cannot be used are no reason to start anew.
	if err := os.Remove(filepath.Join(o.Checkpoint, "step-00000020", "manifest.json")); err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(folder(t, o.Checkpoint)) {
		_ = os.Remove(filepath.Join(o.Checkpoint, name, "manifest.json"))
	}
	failsT(t, newToy(), o, ExitFile, "damaged")
}

// TestProcessesBehind: processes with a device each write, in parts, the checkpoints of one process, behind the
// steps or, where one of them is to wait, before them.
func TestProcessesBehind(t *testing.T) {
	for name, c := range map[string]struct{ sync, behind int }{"behind": {-1, 3}, "one waits": {1, 0}} {
		dir := t.TempDir()
		one, many := filepath.Join(dir, "one"), filepath.Join(dir, "many")
		runT(t, newToyOn(2), Options{Checkpoint: one, Every: 3, Keep: -1, Steps: 12, CheckpointSync: true})
		errs, logs := jobT(t, context.Background(), toyOnTwo, func(rank int) Options {
			return Options{Checkpoint: many, Every: 3, Keep: -1, Steps: 12, ResumeIfAny: true, Grace: time.Hour, CheckpointSync: rank == c.sync}
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if strings.Count(logs[0], `"write_ms"`) != c.behind || strings.Count(logs[0], `"event":"checkpoint"`) != 4 {
			t.Errorf("%s: the log is\n%s", name, logs[0])
		}
		sameStates(t, one, many, 3, 6, 9, 12)
	}
}

// sameStates compares checkpoints of a process, in files, with those of several, in parts.
func sameStates(t *testing.T, whole, parts string, steps ...int) {
	t.Helper()
	for _, step := range steps {
		name := fmt.Sprintf("step-%08d", step)
		if _, err := os.Stat(filepath.Join(parts, name, "model.safetensors")); err == nil {
			t.Errorf("%s is in no parts", name)
		}
		a, b := loadT(t, filepath.Join(whole, name)), loadT(t, filepath.Join(parts, name))
		if diff := cmp.Diff(a.Meta, b.Meta); diff != "" {
			t.Errorf("%s differs: %s", name, diff)
		}
		if diff := cmp.Diff(contentT(t, a), contentT(t, b)); diff != "" {
			t.Errorf("%s differs: %s", name, diff)
		}
	}
}

func loadT(t *testing.T, dir string) *checkpoint.Checkpoint {
	t.Helper()
	c, err := checkpoint.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// contentT are the bytes of each tensor, and what it is.
func contentT(t *testing.T, c *checkpoint.Checkpoint) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, x := range c.Tensors() {
		b := make([]byte, x.Bytes())
		if err := c.Read(x.Name, checkpoint.Slice{}, b); err != nil {
			t.Fatal(err)
		}
		out[x.Name] = fmt.Sprintf("%s %v %v %x", x.DType, x.Shape, x.Axes, b)
	}
	return out
}
