package train

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"ptc/runtime/comm"
	"ptc/runtime/data"
	"ptc/runtime/device"
	"ptc/runtime/exec"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
)

// jobT runs a plan with each device as if in a process of its own, with options
// that may differ by rank. It gives the errors by rank, and the log of each.
func jobT(t *testing.T, ctx context.Context, plan func(rank int) *program.Plan, options func(rank int) Options) ([]error, []string) {
	t.Helper()
	mesh, err := comm.NewMesh(plan(0).Mesh)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := comm.Open("local", mesh, comm.Options{Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	errs, logs := make([]error, len(ends)), make([]bytes.Buffer, len(ends))
	var wg sync.WaitGroup
	for rank, end := range ends {
		wg.Add(1)
		go func() {
			defer wg.Done()
			o := options(rank)
			o.Comm, o.Log, o.Threads = []comm.Device{end}, metrics.NewJSON(&logs[rank]), 1
			_, errs[rank] = Run(ctx, plan(rank), o)
		}()
	}
	wg.Wait()
	texts := make([]string, len(ends))
	for i := range logs {
		texts[i] = logs[i].String()
	}
	return errs, texts
}

func toyOnTwo(int) *program.Plan { return newToyOn(2) }

// TestProcesses: processes with a device each write the files of one process
// with both, and rank 0 alone tells of it.
func TestProcesses(t *testing.T) {
	one, many := t.TempDir(), t.TempDir()
	files := func(dir string, steps int64, resume bool) Options {
		at := func(name string) string { return filepath.Join(dir, name) }
		return Options{Steps: steps, Save: at("save"), DumpGrads: at("grads"), DumpBatches: at("batches"),
			Checkpoint: at("ck"), Every: 3, Resume: resume, ValidEvery: 4}
	}
	run := func(steps int64, resume bool) {
		t.Helper()
		runT(t, newToyOn(2), files(one, steps, resume))
		errs, logs := jobT(t, context.Background(), toyOnTwo, func(int) Options { return files(many, steps, resume) })
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(logs[0], `"event":"end"`) || !strings.Contains(logs[0], `"devices":2`) || logs[1] != "" {
			t.Errorf("the logs are\n%s\n%s", logs[0], logs[1])
		}
		for _, name := range []string{"save", "grads", "batches"} {
			sameFile(t, filepath.Join(one, name), filepath.Join(many, name))
		}
	}
	run(8, false)
	run(14, true)
	sameStates(t, filepath.Join(one, "ck"), filepath.Join(many, "ck"), 14)

	// From parameters in a file, each process reads its part. Without a dump of
	// batches the root, too, reads only its part of them.
	from := func(dir string) Options {
		return Options{Steps: 3, Init: filepath.Join(one, "save"), Save: filepath.Join(dir, "from")}
	}
	runT(t, newToyOn(2), from(one))
	errs, _ := jobT(t, context.Background(), toyOnTwo, func(int) Options { return from(many) })
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	sameFile(t, filepath.Join(one, "from"), filepath.Join(many, "from"))
}

// TestSameCode: processes whose devices run different code of a plan do not train.
func TestSameCode(t *testing.T) {
	gpu := func(code string) []exec.On { return []exec.On{{On: device.On{Code: code}}} }
	if a, b := codeOn(nil), codeOn([]exec.On{{}}); a != "the plan's own" || a != b {
		t.Errorf("%q, %q", a, b)
	}
	mesh, err := comm.NewMesh(newToyOn(2).Mesh)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ code, want string }{
		{"sm_90a", ""},
		{"sm_80", "the processes would run different code of the plan: the code is that for sm_90a on rank 0 and that for sm_80 on rank 1"},
	} {
		ends, err := comm.Open("local", mesh, comm.Options{Timeout: 2 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		errs := make([]error, len(ends))
		var wg sync.WaitGroup
		for rank, end := range ends {
			wg.Add(1)
			go func() {
				defer wg.Done()
				p := &processes{end: end}
				errs[rank] = p.disconnect(sameCode(p, codeOn(gpu([]string{"sm_90a", c.code}[rank]))))
			}()
		}
		wg.Wait()
		if c.want == "" {
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
			continue
		}
		failed(t, errs[0], ExitFile, c.want)
		var other *Elsewhere
		if !errors.As(errs[1], &other) {
			t.Errorf("rank 1 ends with %v", errs[1])
		}
	}
}

// TestOneTells: of an error that stops all, one process says why, and all end
// with its code.
func TestOneTells(t *testing.T) {
	ck := checkpoints(t, newToyOn(2))
	dir := t.TempDir()
	save, other, ck2 := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "ck")
	seed := uint64(3)
	runT(t, newToyOn(2), Options{Steps: 2, Save: save})
	runT(t, newToyOn(2), Options{Steps: 10, Save: other, Seed: &seed, Checkpoint: ck2})
	another := newToyOn(2)
	another.Config[0].Value = "5"
	plain := func(int) Options { return Options{Steps: 3} }
	for name, c := range map[string]struct {
		plan    func(rank int) *program.Plan
		options func(rank int) Options
		teller  int
		code    int
		want    []string
	}{
		"usage":  {toyOnTwo, func(int) Options { return Options{Steps: -1} }, 0, ExitUsage, []string{"--steps is -1"}},
		"folder": {toyOnTwo, func(int) Options { return Options{Steps: 1, Save: "/nowhere/at/all"} }, 0, ExitFile, []string{"/nowhere"}},
		"one rank": {toyOnTwo, func(rank int) Options {
			return Options{Steps: 3, Init: []string{save, "/nowhere/at/all"}[rank]}
		}, 1, ExitFile, []string{"/nowhere"}},
		"init on one rank": {toyOnTwo, func(rank int) Options {
			return Options{Steps: 3, Init: []string{save, ""}[rank]}
		}, 0, ExitUsage, []string{"--init is given on rank 0 and not given on rank 1"}},
		"other init": {toyOnTwo, func(rank int) Options {
			return Options{Steps: 3, Init: []string{save, other}[rank]}
		}, 0, ExitFile, []string{"the content of the --init file is sha256:"}},
		"other checkpoint": {toyOnTwo, func(rank int) Options {
			return Options{Steps: 20, Checkpoint: []string{ck, ck2}[rank], Resume: true}
		}, 0, ExitFile, []string{"it is not the folder of rank 0", "on a disk that all processes see"}},
		"plans": {func(rank int) *program.Plan {
			if rank == 1 {
				return another
			}
			return newToyOn(2)
		}, plain, 0, ExitFile, []string{"rank 1 and rank 0 run different plans"}},
		"checkpoints": {toyOnTwo, func(rank int) Options {
			if rank == 1 {
				return Options{Steps: 20, Checkpoint: ck, Resume: true}
			}
			return Options{Steps: 20}
		}, 0, ExitUsage, []string{"--checkpoint is not given on rank 0 and given on rank 1"}},
		"seeds": {toyOnTwo, func(rank int) Options {
			seed := uint64(rank)
			return Options{Steps: 3, Seed: &seed}
		}, 0, ExitUsage, []string{"--seed is 0 on rank 0 and 1 on rank 1"}},
	} {
		errs, _ := jobT(t, context.Background(), c.plan, c.options)
		for rank, err := range errs {
			var other *Elsewhere
			if rank == c.teller {
				failed(t, err, c.code, c.want...)
			} else if !errors.As(err, &other) || other.Rank != c.teller || other.ExitCode() != c.code {
				t.Errorf("%s: rank %d ends with %v", name, rank, err)
			}
		}
	}
}

// TestOptionsAreCompared: every option is either compared or said to be a
// process's own, and each that is compared ends the run where it differs.
func TestOptionsAreCompared(t *testing.T) {
	fields := reflect.TypeFor[Options]()
	known := map[string]int{}
	for _, r := range rules {
		known[r.field]++
	}
	for i := range fields.NumField() {
		if name := fields.Field(i).Name; known[name] != 1 {
			t.Errorf("option %s is in the table %d times: may processes differ in it?", name, known[name])
		}
	}
	if len(rules) != fields.NumField() {
		t.Errorf("%d rules for %d options", len(rules), fields.NumField())
	}
	seed := uint64(9)
	for name, change := range map[string]func(o *Options){
		"--steps":        func(o *Options) { o.Steps = 4 },
		"--seed":         func(o *Options) { o.Seed = &seed },
		"--save":         func(o *Options) { o.Save = "out" },
		"--dump-grads":   func(o *Options) { o.DumpGrads = "out" },
		"--checkpoint":   func(o *Options) { o.Checkpoint = "ck" },
		"--every":        func(o *Options) { o.Every = 2 },
		"--resume":       func(o *Options) { o.Resume = true },
		"--on-nan":       func(o *Options) { o.OnNaN = NaNContinue },
		"--eval-windows": func(o *Options) { o.Valid = 1 },
		"--epochs":       func(o *Options) { o.Epochs = 2; o.Steps = 0 },
		"--patience":     func(o *Options) { o.Patience = 2 },
		"--eval-every":   func(o *Options) { o.ValidEvery = 2 },
		"--keep-best":    func(o *Options) { o.KeepBest, o.ValidEvery = true, 2 },
		"--data":         func(o *Options) { o.Data = []data.Option{{Key: "hidden", Value: "3"}} },
	} {
		errs, _ := jobT(t, context.Background(), toyOnTwo, func(rank int) Options {
			o := Options{Steps: 3}
			if rank == 1 {
				change(&o)
			}
			return o
		})
		failed(t, errs[0], ExitUsage, name+" is ", " on rank 0 and ", " on rank 1", "--threads")
	}
}

// TestOneStopped: a signal that reaches one process ends all after one step.
func TestOneStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f := func(step int32) {
		if step == 5 {
			cancel()
		}
	}
	afterStep.Store(&f)
	defer afterStep.Store(nil)
	dir := t.TempDir()
	errs, logs := jobT(t, ctx, toyOnTwo, func(int) Options { return Options{Checkpoint: filepath.Join(dir, "ck")} })
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "ck"))
	if err != nil || len(entries) == 0 || strings.Contains(logs[0], `"step":20,`) {
		t.Errorf("checkpoints %v (%v); the log is\n%s", entries, err, logs[0])
	}
}

// TestOneFails: an error of one process in the middle ends the others, which
// wait for it.
func TestOneFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ck")
	f := func(step int32) {
		if step == 4 { // the next checkpoint cannot be saved: a file is in its way
			_ = os.RemoveAll(path)
			_ = os.WriteFile(path, nil, 0o666)
		}
	}
	afterStep.Store(&f)
	defer afterStep.Store(nil)
	errs, _ := jobT(t, context.Background(), toyOnTwo, func(int) Options { return Options{Checkpoint: path, Every: 5} })
	failed(t, errs[0], ExitFile, "ptc cannot save a checkpoint")
	var other *Elsewhere
	if !errors.As(errs[1], &other) || other.Rank != 0 || other.ExitCode() != ExitFile {
		t.Errorf("rank 1 ends with %v", errs[1])
	}
}

// TestSlowFile: while the root writes a file, the others wait for longer than a
// device may keep another waiting, but not if it has died.
func TestSlowFile(t *testing.T) {
	mesh, err := comm.NewMesh([]program.MeshAxis{{Name: "dp", Size: 3}})
	if err != nil {
		t.Fatal(err)
	}
	ends, err := comm.Open("local", mesh, comm.Options{Timeout: 4 * beatEvery})
	if err != nil {
		t.Fatal(err)
	}
	file := func(work time.Duration) error {
		errs := make([]error, len(ends))
		var wg sync.WaitGroup
		for rank, end := range ends {
			wg.Add(1)
			go func() {
				defer wg.Done()
				p := processes{end: end}
				file := rootFile{processes: &p}
				if p.root() && work < 0 {
					return // dead
				}
				if p.root() {
					file.gathered()
					time.Sleep(work)
				}
				errs[rank] = file.written(nil)
			}()
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	if err := errors.Join(file(0), file(6*beatEvery)); err != nil {
		t.Fatal(err)
	}
	if err := file(-1); err == nil || !strings.Contains(err.Error(), "rank 0 did not reach") {
		t.Errorf("of a dead root: %v", err)
	}
}
