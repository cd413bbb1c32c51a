package compiler_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptc/bench/matrix"
	"ptc/runtime/checkpoint/safetensors/safetensorstest"
	"ptc/runtime/train"
)

// TestOptimizerGroups: under every kind of layout each parameter has the states of its
// optimizer and nothing else, and ends as on one device; an average follows its
// parameter by its recurrence.
func TestOptimizerGroups(t *testing.T) {
	m := mustFind(t, "gpt")
	m.Drop = append(slices.Clone(m.Drop), [2]string{"optimizer = optim.AdamW(lr", `optimizer = [optim.SGD(lr = lr, on = "wte"), optim.Lion(lr = lr, weight_decay = 0.0, on = ["**.ln*.*", "ln_f.*"]), optim.AdamW(average = 0.9, lr`},
		[2]string{"clip = clip)", "clip = clip)]"})
	alone := map[string]*matrix.Run{}
	for _, l := range []struct{ spec, set, extra string }{
		{"single", "", ""}, {"dp2 z1", "", ""}, {"dp2 tp2 sp", "", "zero 2 over dp"}, {"dp2 z3", "", ""},
		{"single", "layers=3", ""}, {"dp2 z1 1f1b:2:2", "layers=3", "offload optimizer to host { piece = 1 KiB }"},
	} {
		p, err := matrix.Compile("..", m, matrix.Layout{Spec: l.spec, Set: l.set, Extra: l.extra}, "ref:f64")
		if err != nil {
			t.Errorf("%s: %v", l.spec, err)
			continue
		}
		for _, d := range expanded(t, p).Devices {
			for _, x := range d.Tensors {
				if path, state, of := strings.Cut(x.Path, "/"); of && !slices.Contains(statesOf(path), state) {
					t.Errorf("%s: a state %s", l.spec, x.Path)
				}
			}
		}
		after, err := matrix.Train(p)
		if err != nil {
			t.Fatalf("%s: %v", l.spec, err)
		}
		if alone[l.set] == nil {
			alone[l.set] = after
			continue
		}
		if r := matrix.Compare(alone[l.set], after, matrix.Target{Tolerance: 1e-10}); !r.OK() {
			t.Errorf("%s %s: %v", l.spec, l.set, r)
		}
	}
	p, err := matrix.Compile("..", m, matrix.Layout{Spec: "single"}, "ref:f64")
	if err != nil {
		t.Fatal(err)
	}
	two, err := matrix.TrainOn(p, 2, 44)
	if err != nil {
		t.Fatal(err)
	}
	three, err := matrix.TrainOn(p, 3, 44)
	if err != nil {
		t.Fatal(err)
	}
	averages := 0
	for path, a := range two.States {
		param, ok := strings.CutSuffix(path, "/average")
		if !ok {
			continue
		}
		averages++
		for i, w := range three.Params[param] {
			if got, want := three.States[path][i], a[i]+0.1*(w-a[i]); math.Abs(got-want) > 1e-7*(1+math.Abs(want)) {
				t.Fatalf("%s[%d] is %g, its recurrence says %g", path, i, got, want)
			}
			if a[i] == w {
				t.Fatalf("%s[%d] is the parameter of the step after", path, i)
			}
		}
	}
	if averages == 0 {
		t.Error("there is no average")
	}
}

func statesOf(path string) []string {
	switch {
	case path == "wte", strings.Contains(path, "ln"):
		return []string{"m"}
	}
	return []string{"m", "v", "average"}
}

// TestSaveAverage: the file of averages has every parameter, those without an average as
// they are, and one that starts from a file has the first average in between.
func TestSaveAverage(t *testing.T) {
	m := mustFind(t, "gpt")
	m.Drop = append(slices.Clone(m.Drop), [2]string{"optimizer = optim.AdamW(lr", `optimizer = [optim.AdamW(lr = lr, on = "wte"), optim.AdamW(average = 0.75, lr`}, [2]string{"clip = clip)", "clip = clip)]"})
	p, err := matrix.Compile("..", m, matrix.Layout{Spec: "dp2 z1", Set: "vocab=256"}, "ref:f64")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	none, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := train.Run(none, p, train.Options{Save: at("start"), Valid: -1}); err != nil {
		t.Fatal(err)
	}
	if _, err := train.Run(context.Background(), p, train.Options{Steps: 1, Init: at("start"), Save: at("w"), SaveAverage: at("a"), Valid: -1}); err != nil {
		t.Fatal(err)
	}
	start, w, a := safetensorstest.Floats(t, at("start")), safetensorstest.Floats(t, at("w")), safetensorstest.Floats(t, at("a"))
	for path, x := range w {
		for i := range x {
			want := start[path][i] + 0.25*(x[i]-start[path][i])
			if path == "wte" {
				want = x[i]
			}
			if len(a[path]) != len(x) || math.Abs(a[path][i]-want) > 1e-12 {
				t.Fatalf("%s[%d]: average %v of %g and %g", path, i, a[path][i], start[path][i], x[i])
			}
		}
	}
	plain := gptUnder(t, "single", "", "", "ref")
	if _, err := train.Run(none, plain, train.Options{SaveAverage: at("none")}); err == nil || !strings.Contains(err.Error(), "keeps no average") {
		t.Errorf("a plan without averages: %v", err)
	}
}
