package train

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/checkpoint/safetensors/safetensorstest"
	"ptc/runtime/data"
	"ptc/runtime/metrics"
)

var le = binary.LittleEndian

var toyShapes = map[string][]int64{"w": {toyFrom, toyTo}, "b": {toyTo}}

// readFloats reads a file of f32 tensors.
func readFloats(t *testing.T, path string) map[string][]float64 {
	t.Helper()
	return safetensorstest.Floats(t, path, dtype.F32)
}

// writeFloats writes values as a type of a file.
func writeFloats(t *testing.T, path, typ string, values map[string][]float64) {
	t.Helper()
	to, _ := dtype.ParseSafetensors(typ)
	var list []safetensors.Tensor
	for name, v := range values {
		shape := toyShapes[name]
		if shape == nil {
			shape = []int64{int64(len(v))}
		}
		list = append(list, safetensors.Tensor{Name: name, DType: to, Shape: shape})
	}
	safetensorstest.Write(t, path, list, func(x *safetensors.Tensor) []float64 { return values[x.Name] })
}

// initial gives the parameters that a run starts from.
func initial(t *testing.T, o Options) map[string][]float64 {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o.Save = filepath.Join(t.TempDir(), "initial")
	if _, err := Run(ctx, newToy(), o); err != nil {
		t.Fatal(err)
	}
	return readFloats(t, o.Save)
}

func TestInitAndSaveRoundTrip(t *testing.T) {
	dir := t.TempDir()
	want := map[string][]float64{"w": {1, -2, 0.5, 4, -0.25, 6}, "b": {3, -0.125}} // exact in every type
	for _, dtype := range []string{"F32", "F64", "BF16", "F16"} {
		path := filepath.Join(dir, dtype)
		writeFloats(t, path, dtype, want)
		got := initial(t, Options{Init: path})
		if len(got) != 2 || !slices.Equal(got["w"], want["w"]) || !slices.Equal(got["b"], want["b"]) {
			t.Errorf("from %s: %v, want %v", dtype, got, want)
		}
	}
	drawn := initial(t, Options{})
	if w := drawn["w"]; w[0] == w[1] || slices.Max(w) > 3 || !slices.Equal(drawn["b"], []float64{0, 0}) {
		t.Errorf("drawn from the seed: %v", drawn)
	}
}

// warnings are those that a run tells.
type warnings []string

func (w *warnings) Tell(e metrics.Event) {
	if x, ok := e.(*metrics.Warning); ok {
		*w = append(*w, x.Message)
	}
}

func (w *warnings) Close() error { return nil }

// TestInitPartial: what the file lacks is drawn from the seed as without a file, what it
// has besides is left, and both are told; a file of nothing of the model is a mistake.
func TestInitPartial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "init")
	drawn := initial(t, Options{})
	writeFloats(t, path, "F32", map[string][]float64{"b": {3, -0.125}, "z": {1, 2}})
	failsT(t, newToy(), Options{Init: path}, ExitFile, "missing: w; unknown: z")
	var log warnings
	got := initial(t, Options{Init: path, InitPartial: true, Log: &log})
	if len(got) != 2 || !slices.Equal(got["w"], drawn["w"]) || !slices.Equal(got["b"], []float64{3, -0.125}) {
		t.Errorf("from a part: %v, drawn %v", got, drawn)
	}
	if said := strings.Join(log, "\n"); !strings.Contains(said, "lacks parameters, which start as the model initializes them: w") || !strings.Contains(said, "has parameters that the model lacks, and ptc ignores them: z") {
		t.Errorf("told %q", said)
	}
	writeFloats(t, path, "F32", map[string][]float64{"z": {1, 2}})
	failsT(t, newToy(), Options{Init: path, InitPartial: true}, ExitFile, "have no parameter of this model")
	failsT(t, newToy(), Options{InitPartial: true}, ExitUsage, "--init-partial needs a file")
}

func TestInitThatDoesNotFit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "init")
	six, two := make([]float64, 6), make([]float64, 2)
	for _, c := range []struct {
		name   string
		dtype  string
		values map[string][]float64
		says   string
	}{
		{"missing", "F32", map[string][]float64{"w": six}, "missing: b"},
		{"extra", "F32", map[string][]float64{"w": six, "b": two, "z": two}, "unknown: z"},
		{"state", "F32", map[string][]float64{"w": six, "b": two, "w/m": six}, "unknown: w/m"},
		{"renamed", "F32", map[string][]float64{"w": six, "c": two}, "missing: b; unknown: c"},
		{"integers", "I32", map[string][]float64{"w": six, "b": two}, "w is I32[3 2], not F32[3 2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			writeFloats(t, path, c.dtype, c.values)
			failsT(t, newToy(), Options{Init: path}, ExitFile, path, c.says)
		})
	}
	toyShapes["b"] = []int64{1, 2}
	writeFloats(t, path, "F32", map[string][]float64{"w": six, "b": two})
	toyShapes["b"] = []int64{toyTo}
	failsT(t, newToy(), Options{Init: path}, ExitFile, "b is F32[1 2], not F32[2]")

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, 5, len(text) / 2, len(text) - 1} {
		if err := os.WriteFile(path, text[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		failsT(t, newToy(), Options{Init: path}, ExitFile, path)
	}
	failsT(t, newToy(), Options{Init: filepath.Join(dir, "none")}, ExitFile, "none")
}

// After one step from rest, the parameters have moved by the learning rate times
// the gradients that were written; those are as the formula says, although the
// buffer of the first is that of the second.
func TestDumpedGradients(t *testing.T) {
	dir := t.TempDir()
	o := Options{Steps: 1, DumpGrads: filepath.Join(dir, "g"), Save: filepath.Join(dir, "p"), DumpBatches: filepath.Join(dir, "b")}
	runT(t, newToy(), o)
	before, after, grads, fed := initial(t, Options{}), readFloats(t, o.Save), readFloats(t, o.DumpGrads), readFloats(t, o.DumpBatches)
	lr := float64(float32(0.1) / 1.01)
	for name := range toyShapes {
		for i, g := range grads[name] {
			if moved := before[name][i] - lr*g; math.Abs(moved-after[name][i]) > 1e-6 {
				t.Errorf("%s[%d] is %g after a step by the gradient %g, want %g", name, i, after[name][i], g, moved)
			}
		}
	}
	x, y := fed["step.1.x"], fed["step.1.y"]
	noise := float64((1*7919+7*104729)%1000) * 1e-5 // of step 1 and seed 7
	for j := range toyTo {
		want := [1 + toyFrom]float64{0, noise, noise, noise}
		for n := range toyBatch {
			r := before["b"][j] - y[n*toyTo+j]
			for k := range toyFrom {
				r += x[n*toyFrom+k] * before["w"][k*toyTo+j]
			}
			want[0] += 2 * r / (toyBatch * toyTo)
			for k := range toyFrom {
				want[1+k] += 2 * r * x[n*toyFrom+k] / (toyBatch * toyTo)
			}
		}
		got := [1 + toyFrom]float64{grads["b"][j], grads["w"][j], grads["w"][toyTo+j], grads["w"][2*toyTo+j]}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-6 {
				t.Errorf("the gradients of column %d, b first, are %g, want %g", j, got, want)
				break
			}
		}
	}
	plain, _ := runT(t, newToy(), Options{Steps: 3})
	if dumped, _ := runT(t, newToy(), Options{Steps: 3, DumpGrads: o.DumpGrads}); !reflect.DeepEqual(dumped, plain) {
		t.Errorf("a run with its gradients written is %+v, without %+v", dumped, plain)
	}
}

func TestDumpedBatches(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "b")
	for _, steps := range []int{3, 5} {
		o := Options{Steps: 3, DumpBatches: path}
		ctx := context.Background()
		if steps == 5 { // this one ends early
			o.Steps, ctx = 15, stopAfter(t, 5)
		}
		if _, err := Run(ctx, newToy(), o); err != nil {
			t.Fatal(err)
		}
		got := readFloats(t, path)
		if len(got) != 2*steps {
			t.Fatalf("%d steps wrote %d tensors", steps, len(got))
		}
		fields := []data.Field{
			{Name: "x", DType: dtype.F32, Shape: []int{toyBatch, toyFrom}},
			{Name: "y", DType: dtype.F32, Shape: []int{toyBatch, toyTo}}}
		src, err := data.Open("synthetic", nil, data.Batch{Size: toyBatch, Seed: 7, Fields: fields})
		if err != nil {
			t.Fatal(err)
		}
		x, y := make([]float32, toyBatch*toyFrom), make([]float32, toyBatch*toyTo)
		for s := 1; s <= steps; s++ {
			if err := src.Fill(int64(s), []data.View{{F32: x}, {F32: y}}); err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string][]float32{"x": x, "y": y} {
				for i, v := range got["step."+strconv.Itoa(s)+"."+name] {
					if v != float64(want[i]) {
						t.Fatalf("step %d was fed %s[%d] = %g, want %g", s, name, i, v, want[i])
					}
				}
			}
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	sum, _ := runT(t, newToy(), Options{Trace: path, TraceSteps: 3})
	if plain, _ := runT(t, newToy(), Options{}); !reflect.DeepEqual(plain, sum) {
		t.Errorf("a traced run is %+v, without a trace %+v", sum, plain)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Ph, Name, Cat string
			Ts, Dur       float64
		}
	}
	if err := json.Unmarshal(text, &trace); err != nil {
		t.Fatal(err)
	}
	kernels, steps, end := 0, 0, 0.0
	for _, e := range trace.TraceEvents {
		switch {
		case e.Ph == "X" && e.Cat == "step":
			steps++
		case e.Ph == "X":
			kernels++
			if e.Name == "" || e.Cat != "map" || e.Ts+1e-3 < end || e.Dur < 0 {
				t.Errorf("span %+v begins before %g", e, end)
			}
			end = e.Ts + e.Dur
		}
	}
	if kernels != 3*6 || steps != 20 {
		t.Errorf("%d spans of kernels and %d of steps, want 18 and 20", kernels, steps)
	}
}
