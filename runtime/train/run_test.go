package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ptc/internal/dtype"
	"ptc/runtime/data"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
)

// runT runs a plan that must succeed, and gives the JSON lines of it.
func runT(t *testing.T, plan *program.Plan, o Options) (Summary, []map[string]any) {
	t.Helper()
	sum, lines, err := runLog(context.Background(), plan, o)
	if err != nil {
		t.Fatalf("the run failed: %v", err)
	}
	return sum, lines
}

func runLog(ctx context.Context, plan *program.Plan, o Options) (Summary, []map[string]any, error) {
	var buf bytes.Buffer
	o.Log = metrics.NewJSON(&buf)
	sum, err := Run(ctx, plan, o)
	var lines []map[string]any
	for _, l := range strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n") {
		m := map[string]any{}
		if l == "" {
			continue
		}
		if e := json.Unmarshal([]byte(l), &m); e != nil {
			return sum, nil, e
		}
		lines = append(lines, m)
	}
	return sum, lines, err
}

// failsT runs a plan that must fail before its first step, with the exit code and with
// every text in its message.
func failsT(t *testing.T, plan *program.Plan, o Options, code int, texts ...string) {
	t.Helper()
	sum, lines, err := runLog(context.Background(), plan, o)
	failed(t, err, code, texts...)
	if sum.Ran != 0 || len(named(lines, "step")) != 0 {
		t.Errorf("%d steps were run before %v", sum.Ran, err)
	}
}

func failed(t *testing.T, err error, code int, texts ...string) {
	t.Helper()
	var coded interface{ ExitCode() int }
	if !errors.As(err, &coded) {
		t.Fatalf("error %v has no exit code, want %d", err, code)
	}
	if coded.ExitCode() != code {
		t.Errorf("error %q exits with %d, want %d", err, coded.ExitCode(), code)
	}
	for _, s := range texts {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not say %q", err, s)
		}
	}
}

// named are the lines of one event.
func named(lines []map[string]any, event string) (out []map[string]any) {
	for _, l := range lines {
		if l["event"] == event {
			out = append(out, l)
		}
	}
	return out
}

// stopAfter gives a context that is done once the step is.
func stopAfter(t *testing.T, step int32) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	f := func(s int32) {
		if s == step {
			cancel()
		}
	}
	afterStep.Store(&f)
	t.Cleanup(func() { afterStep.Store(nil); cancel() })
	return ctx
}

func TestTrainsAndTells(t *testing.T) {
	var buf bytes.Buffer
	dir := t.TempDir()
	save := filepath.Join(dir, "p.safetensors")
	sum, err := Run(context.Background(), newToy(), Options{Log: metrics.NewJSON(&buf), Save: save})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n")
	if len(lines) != 22 {
		t.Fatalf("%d lines, want start, 20 steps, end:\n%s", len(lines), buf.String())
	}
	number := `-?[0-9.]+(e[-+][0-9]+)?`
	want := func(i int, pattern string) {
		t.Helper()
		if !regexp.MustCompile("^" + pattern + "$").MatchString(lines[i]) {
			t.Errorf("line %d is %s, want %s", i, lines[i], pattern)
		}
	}
	want(0, `\{"event":"start","name":"Toy","layout":"single","target":"test","data":"synthetic: [^"]*",.*"first_step":1,"last_step":20,"seed":7,.*"devices":1,"params":8,"tokens_per_step":4,.*\}`)
	for i := 1; i <= 20; i++ {
		want(i, `\{"event":"step","step":`+strconv.Itoa(i)+`,"loss":`+number+`,"grad_norm":`+number+`,"lr":`+number+`,"ms":`+number+`,"tokens_per_s":`+number+`\}`)
	}
	want(21, `\{"event":"end","steps":20,"loss":`+number+`,"val_loss":`+number+`\}`)

	var first, last struct{ Loss, LR float64 }
	if err := errors.Join(json.Unmarshal([]byte(lines[1]), &first), json.Unmarshal([]byte(lines[20]), &last)); err != nil {
		t.Fatal(err)
	}
	if !(last.Loss < first.Loss/2) || sum.Loss != last.Loss || first.LR != float64(float32(0.1)/1.01) {
		t.Errorf("loss %g to %g, learning rate %g, summary %+v", first.Loss, last.Loss, first.LR, sum)
	}
	if want := validationLoss(t, save, 7); math.Abs(sum.ValLoss-want) > 1e-6*want {
		t.Errorf("validation loss %g, want %g", sum.ValLoss, want)
	}
}

// validationLoss computes it from the saved parameters in float64.
func validationLoss(t *testing.T, path string, seed uint64) float64 {
	t.Helper()
	p := readFloats(t, path)
	fields := []data.Field{
		{Name: "x", DType: dtype.F32, Shape: []int{toyBatch, toyFrom}},
		{Name: "y", DType: dtype.F32, Shape: []int{toyBatch, toyTo}}}
	src, err := data.Open("synthetic", nil, data.Batch{Size: toyBatch, Seed: seed, Fields: fields})
	if err != nil {
		t.Fatal(err)
	}
	x, y := make([]float32, toyBatch*toyFrom), make([]float32, toyBatch*toyTo)
	sum := 0.0
	batches := int(src.Held()) / toyBatch
	for i := range batches {
		if err := src.HeldOut(func(row int) int64 { return int64(i*toyBatch + row) }, []data.View{{F32: x}, {F32: y}}); err != nil {
			t.Fatal(err)
		}
		for n := range toyBatch {
			for j := range toyTo {
				v := p["b"][j] - float64(y[n*toyTo+j])
				for k := range toyFrom {
					v += float64(x[n*toyFrom+k]) * p["w"][k*toyTo+j]
				}
				sum += v * v / (toyBatch * toyTo)
			}
		}
	}
	return sum / float64(batches)
}

func TestSeedChangesTheRun(t *testing.T) {
	seed := uint64(8)
	a, _ := runT(t, newToy(), Options{Steps: 3})
	b, _ := runT(t, newToy(), Options{Steps: 3, Seed: &seed})
	c, _ := runT(t, newToy(), Options{Steps: 3})
	if a.Loss == b.Loss || !reflect.DeepEqual(a, c) {
		t.Errorf("%+v and, of another seed, %+v and, of the same, %+v", a, b, c)
	}
}

func TestStopsBetweenSteps(t *testing.T) {
	dir := t.TempDir()
	save := filepath.Join(dir, "p.safetensors")
	sum, lines, err := runLog(stopAfter(t, 7), newToy(), Options{Checkpoint: filepath.Join(dir, "ck"), Every: 7, Save: save})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Steps != 7 || !sum.Interrupted || filepath.Base(sum.Checkpoint) != "step-00000007" || !math.IsNaN(sum.ValLoss) {
		t.Errorf("summary %+v", sum)
	}
	if c := named(lines, "checkpoint"); len(c) != 1 {
		t.Errorf("checkpoints %v, want one", c)
	}
	end := lines[len(lines)-1]
	if end["event"] != "end" || end["steps"] != 7.0 || end["val_loss"] != nil || len(named(lines, "step")) != 7 {
		t.Errorf("the log ends with %v", end)
	}
	readFloats(t, save)
}

func TestStopsBeforeTheFirstStep(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	sum, lines, err := runLog(ctx, newToy(), Options{Checkpoint: dir})
	if err != nil || sum.Steps != 0 || !sum.Interrupted || sum.Checkpoint != "" {
		t.Errorf("summary %+v, error %v", sum, err)
	}
	if end := lines[len(lines)-1]; end["event"] != "end" || end["loss"] != nil {
		t.Errorf("the log ends with %v", end)
	}
}

func TestPeriodicValidation(t *testing.T) {
	sum, lines := runT(t, newToy(), Options{Steps: 6, ValidEvery: 2})
	vs := named(lines, "validation")
	if len(vs) != 2 || vs[0]["step"] != 2.0 || vs[1]["step"] != 4.0 {
		t.Fatalf("validations %v", vs)
	}
	planned := newToy()
	planned.Data.EvalEvery = 3
	for every, want := range map[int64]int{0: 1, 2: 2, -1: 0} { // what the plan says; more; none
		if _, lines := runT(t, planned, Options{Steps: 6, ValidEvery: every}); len(named(lines, "validation")) != want {
			t.Errorf("a plan with validation every 3 steps, every %d of the run: %v, want %d", every, named(lines, "validation"), want)
		}
	}
	if plain, _ := runT(t, newToy(), Options{Steps: 6}); !reflect.DeepEqual(plain, sum) {
		t.Errorf("validation changes the run: %+v, without %+v", sum, plain)
	}
	if none, _ := runT(t, newToy(), Options{Steps: 6, Valid: -1}); !math.IsNaN(none.ValLoss) || none.Loss != sum.Loss {
		t.Errorf("without validation: %+v", none)
	}
}

// TestStopsWithinAValidation: one that is not whole has no loss, and none is told; a loss
// that is NaN is.
func TestStopsWithinAValidation(t *testing.T) {
	sum, lines, err := runLog(stopAfter(t, 4), newToy(), Options{Steps: 6, ValidEvery: 2})
	if vs := named(lines, "validation"); err != nil || !sum.Interrupted || len(vs) != 1 || vs[0]["step"] != 2.0 || vs[0]["val_loss"] == nil {
		t.Errorf("summary %+v, error %v, validations %v", sum, err, vs)
	}
}

func TestContradictions(t *testing.T) {
	noSteps := newToy()
	noSteps.Data.Steps = 0
	toy, noWhere := newToy(), filepath.Join(t.TempDir(), "no", "file")
	failsT(t, toy, Options{Steps: -1}, ExitUsage, "--steps is -1")
	failsT(t, noSteps, Options{}, ExitUsage, "--steps N")
	failsT(t, toy, Options{Steps: 1 << 40}, ExitUsage, "31 bits")
	failsT(t, toy, Options{Resume: true}, ExitUsage, "--checkpoint DIR")
	failsT(t, toy, Options{Resume: true, Checkpoint: "x", Init: "y"}, ExitUsage, "--init")
	failsT(t, toy, Options{Every: 3}, ExitUsage, "--checkpoint DIR")
	failsT(t, toy, Options{Threads: -1}, ExitUsage, "threads")
	for _, o := range []Options{{Save: noWhere}, {DumpGrads: noWhere}, {DumpBatches: noWhere}, {Trace: noWhere}} {
		failsT(t, toy, o, ExitFile, noWhere)
	}
}

func TestDataThatDoesNotFit(t *testing.T) {
	toy := newToy()
	toy.Data.Kind = "nowhere"
	failsT(t, toy, Options{}, ExitFile, "no such data source")
	failsT(t, newToy(), Options{Data: []data.Option{{Key: "hidden", Value: "none"}}}, ExitFile, "hidden")

	// A vocabulary of 64 cannot hold text, though the model would run.
	text := newToy()
	d := &text.Devices[0]
	text.Data = program.Data{Kind: "text", Steps: 1, Options: []program.KV{{Key: "files", Value: "${HERE}/run_test.go"}}}
	for i := range d.Ports {
		if b := &d.Buffers[d.Ports[i].Buffer]; d.Ports[i].Role == program.RoleData {
			b.DType = "i32"
			d.Ports[i].Path = map[string]string{"x": "tokens", "y": "targets"}[d.Ports[i].Path]
			b.Axes = []program.Axis{axis("batch", 2), axis("seq", 4)}
		}
	}
	d.Buffers[d.Tensors[0].Buffer].Axes = []program.Axis{axis("vocab", 64)}
	o := Options{Vars: []data.Option{{Key: "HERE", Value: "."}}}
	failsT(t, text, o, ExitFile, "the vocabulary has 64")
	o.Data = []data.Option{{Key: "files", Value: "testdata/none"}}
	failsT(t, text, o, ExitFile, "testdata/none")
}

// The loop itself allocates nothing for a step.
func TestStepsDoNotAllocate(t *testing.T) {
	run := func(steps int64) float64 {
		return testing.AllocsPerRun(3, func() {
			if _, err := Run(context.Background(), newToy(), Options{Steps: steps, Log: metrics.NewJSON(io.Discard)}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := run(100), run(2100); many-few > 100 {
		t.Errorf("100 steps allocate %g times, 2100 steps %g", few, many)
	}
}
