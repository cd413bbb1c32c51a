package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ptc/runtime/comm"
	"ptc/runtime/program"
)

// TestStepsGoOnWhilePartsAreWritten: a process that is slow with its part keeps no step waiting, and there is no
// checkpoint before its part is there.
func TestStepsGoOnWhilePartsAreWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ck")
	g := newGate(3, "part")
	var once sync.Once
	onStep(t, func(step int32) {
		if step == 5 { // before the save after step 6, which waits
			<-g.met
			once.Do(func() {
				if names := folder(t, dir); strings.Contains(names, " step-") || !strings.Contains(names, ".tmp-step-00000003") {
					t.Errorf("at step 5 there are %s", names)
				}
				close(g.opened)
			})
		}
	})
	errs, logs := jobT(t, context.Background(), toyOnTwo, func(rank int) Options {
		o := Options{Steps: 8, Checkpoint: dir, Every: 3, Keep: -1}
		if rank == 1 {
			o.held = g.hold
		}
		return o
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if names := folder(t, dir); !strings.HasSuffix(names, "step-00000003 step-00000006 step-00000008") || strings.Contains(names, ".tmp") {
		t.Errorf("there are %s", names)
	}
	if n := strings.Count(logs[0], `"write_ms"`); n != 2 {
		t.Errorf("%d checkpoints were written behind the steps:\n%s", n, logs[0])
	}
}

// TestPartFails: where one process cannot write its part, or rank 0 the manifest, behind the steps or before
// them, all end; rank 0 says why, and the checkpoint before is intact.
func TestPartFails(t *testing.T) {
	failure := errors.New("no space left")
	for _, c := range []struct {
		rank int
		when string
		sync bool
		step int64
		want string
	}{
		{1, "part", false, 4, "rank 1: no space left"}, {1, "part", true, 4, "rank 1: no space left"}, {0, "part", false, 4, "no space left"},
		{0, "begin", false, 4, "no space left"}, {0, "commit", false, 4, "no space left"}, {0, "commit", true, 4, "no space left"},
		{1, "part", false, 9, "rank 1: no space left"}, // the last, before which nothing is left to do
	} {
		dir := filepath.Join(t.TempDir(), "ck")
		errs, _ := jobT(t, context.Background(), toyOnTwo, func(rank int) Options {
			return Options{Steps: 9, Checkpoint: dir, Every: 2, Keep: -1, CheckpointSync: c.sync, held: func(step int64, when string) error {
				if step == c.step && when == c.when && rank == c.rank {
					return failure
				}
				return nil
			}}
		})
		failed(t, errs[0], ExitFile, "ptc cannot save a checkpoint", "intact", c.want)
		var other *Elsewhere
		if !errors.As(errs[1], &other) || other.ExitCode() != ExitFile {
			t.Errorf("%+v: rank 1 ends with %v", c, errs[1])
		}
		names := folder(t, dir)
		if strings.Contains(names, ".tmp") || !strings.Contains(names, "step-00000002") || c.step == 4 && strings.Contains(names, "step-00000004") {
			t.Errorf("%+v: left are %s", c, names)
		}
		errs, _ = jobT(t, context.Background(), toyOnTwo, func(int) Options { return Options{Steps: 12, Checkpoint: dir, Resume: true} })
		if err := errors.Join(errs...); err != nil {
			t.Errorf("%+v: then %v", c, err)
		}
	}
}

// TestInTouch: processes wait for one that is slow for longer than a device may keep another waiting, but not for
// one that has died.
func TestInTouch(t *testing.T) {
	mesh, err := comm.NewMesh([]program.MeshAxis{{Name: "dp", Size: 3}})
	if err != nil {
		t.Fatal(err)
	}
	ends, err := comm.Open("local", mesh, comm.Options{Timeout: 4 * beatEvery})
	if err != nil {
		t.Fatal(err)
	}
	work := func(slow int, dead int) []error {
		errs := make([]error, len(ends))
		var wg sync.WaitGroup
		for rank, end := range ends {
			if rank == dead {
				continue
			}
			wg.Add(1)
			go func() {
				defer wg.Done()
				p := processes{end: end}
				errs[rank] = p.busy(func() {
					if rank == slow {
						time.Sleep(6 * beatEvery)
					}
				})
			}()
		}
		wg.Wait()
		return errs
	}
	for _, slow := range []int{0, 2} {
		if err := errors.Join(work(slow, -1)...); err != nil {
			t.Error(err)
		}
	}
	for rank, err := range work(-1, 1) {
		if rank != 1 && (err == nil || !strings.Contains(err.Error(), "rank 1 did not reach")) {
			t.Errorf("rank %d, of a dead one: %v", rank, err)
		}
	}
}

// TestInitFromParts: a run, of one process or of several, begins with the parameters of a checkpoint in parts.
func TestInitFromParts(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	errs, _ := jobT(t, context.Background(), toyOnTwo, func(int) Options { return Options{Steps: 5, Checkpoint: at("ck"), Save: at("save")} })
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	runT(t, newToyOn(2), Options{Steps: 3, Init: at("save"), Save: at("want")})
	folder := at("ck/step-00000005")
	runT(t, newToyOn(2), Options{Steps: 3, Init: folder, Save: at("one")})
	many := func() []error {
		errs, _ := jobT(t, context.Background(), toyOnTwo, func(int) Options { return Options{Steps: 3, Init: folder, Save: at("many")} })
		return errs
	}
	if err := errors.Join(many()...); err != nil {
		t.Fatal(err)
	}
	sameFile(t, at("want"), at("one"))
	sameFile(t, at("want"), at("many"))
	path := filepath.Join(folder, "model-00002-of-00002.safetensors")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-1] ^= 1
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	failsT(t, newToyOn(2), Options{Steps: 3, Init: folder}, ExitFile, "initial parameters", "model-00002-of-00002.safetensors has changed since it was saved")
	failed(t, many()[0], ExitFile, "initial parameters", "model-00002-of-00002.safetensors has changed since it was saved")
}

// TestOneProcessOfAJob: a job of one process saves what a process without a job does.
func TestOneProcessOfAJob(t *testing.T) {
	dir := t.TempDir()
	o := Options{Steps: 7, Every: 3, Keep: -1}
	o.Checkpoint = filepath.Join(dir, "one")
	runT(t, newToy(), o)
	o.Checkpoint = filepath.Join(dir, "job")
	errs, _ := jobT(t, context.Background(), func(int) *program.Plan { return newToy() }, func(int) Options { return o })
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	sameCheckpoints(t, filepath.Join(dir, "one"), filepath.Join(dir, "job"), 3, 6, 7)
}
