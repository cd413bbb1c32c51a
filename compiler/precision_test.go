package compiler_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptc/backend/cpu/llvm"
	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/runtime/checkpoint/safetensors/safetensorstest"
	"ptc/runtime/exec"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

// best is native code, or the reference where that is asked for.
func best(t *testing.T) string {
	t.Helper()
	if os.Getenv(llvm.EnvLLVM) == "none" {
		return "ref"
	}
	return "cpu"
}

// scaled are layouts of gpt under which the loss is scaled.
var scaled = []matrix.Layout{
	{Spec: "single"}, {Spec: "dp2"}, {Spec: "dp2 z1"}, {Spec: "dp2 z2"}, {Spec: "dp4 z3"}, {Spec: "tp2 sp"}, {Spec: "cp2"},
	{Spec: "1f1b:2:2"}, {Spec: "zb_h1:2:4", Set: "layers=3"}, {Spec: "interleaved:2:4:2", Set: "layers=5"},
	{Spec: "dp2 z1 1f1b:2:2 tp2 sp", Set: "layers=3"}, {Spec: "dp2 z3 1f1b:2:2 tp2"},
}

// TestScaledLayouts: where every number is f64, the scale rounds nothing, and all
// layouts with it train as one device without it.
func TestScaledLayouts(t *testing.T) {
	x := &matrix.Matrix{Root: ".."}
	m := mustFind(t, "gpt")
	for _, l := range scaled {
		l.Extra = "precision { compute = f16 }"
		t.Run(l.Name(), func(t *testing.T) {
			if r := x.Case(m, l, matrix.Target{Name: "ref:f64", Tolerance: 1e-10}); !r.OK() {
				t.Error(r)
			}
		})
	}
}

// TestOverflowIsSkipped: with a scale that overflows, a step leaves every byte of
// the parameters and the optimizer's state, on every device, and halves the scale;
// with a usable one, training goes on.
func TestOverflowIsSkipped(t *testing.T) {
	for _, l := range []matrix.Layout{{Spec: "single"}, {Spec: "dp2 z3"}, {Spec: "tp2 1f1b:2:2"}, {Spec: "dp2 z1 1f1b:2:2"}} {
		l.Extra = "precision { compute = f16 }"
		t.Run(l.Spec, func(t *testing.T) {
			p, err := matrix.Compile("..", mustFind(t, "gpt"), l, best(t))
			if err != nil {
				t.Fatal(err)
			}
			m, err := exec.Open(p, exec.Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if err := m.Initialize(3); err != nil {
				t.Fatal(err)
			}
			run := func(step int64) {
				t.Helper()
				feedZeros(t, m, step)
				if err := m.Program("step").Run(); err != nil {
					t.Fatal(err)
				}
			}
			run(1)
			write := func(path string, bits uint32) {
				t.Helper()
				if err := m.WriteBytes(path, binary.LittleEndian.AppendUint32(nil, bits)); err != nil {
					t.Fatal(err)
				}
			}
			scale := func() float32 {
				return math.Float32frombits(binary.LittleEndian.Uint32(tensorBytes(t, m, "loss_scale/scale")))
			}
			if scale() != 1<<16 {
				t.Fatalf("after a good step the scale is %g", scale())
			}
			write("loss_scale/scale", math.Float32bits(0x1p120))
			before := snapshot(t, m)
			run(2)
			for path, want := range before {
				if got := tensorBytes(t, m, path); !bytes.Equal(got, want) {
					t.Errorf("the skipped step changes %s", path)
				}
			}
			if good := binary.LittleEndian.Uint32(tensorBytes(t, m, "loss_scale/good")); scale() != 0x1p119 || good != 0 {
				t.Errorf("the skipped step leaves the scale at %g and %d good steps", scale(), good)
			}
			if v, _ := m.Program("step").Stat("loss_scale"); v != 0x1p119 {
				t.Errorf("the reported scale is %g", v)
			}
			write("loss_scale/scale", math.Float32bits(1024))
			write("loss_scale/good", 1999)
			run(3)
			if scale() != 2048 || bytes.Equal(tensorBytes(t, m, "blocks.0.mlp.w1"), before["blocks.0.mlp.w1"]) {
				t.Errorf("after 2000 good steps the scale is %g, or nothing was trained", scale())
			}
		})
	}
}

func feedZeros(t *testing.T, m *exec.Machine, step int64) {
	t.Helper()
	m.SetStep(step)
	m.SetSeed(1)
	for _, f := range m.Program("step").Fields() {
		n := 4
		for _, d := range f.Shape {
			n *= d
		}
		data := make([]byte, n)
		for i := 0; i < n; i += 4 {
			data[i] = byte(i / 4 % 11)
		}
		if err := m.Program("step").Feed(f.Name, data); err != nil {
			t.Fatal(err)
		}
	}
}

func tensorBytes(t *testing.T, m *exec.Machine, path string) []byte {
	t.Helper()
	x, ok := m.Tensor(path)
	if !ok {
		t.Fatalf("no tensor %s", path)
	}
	raw := make([]byte, x.Bytes())
	if err := m.ReadBytes(path, raw); err != nil {
		t.Fatal(err)
	}
	return raw
}

// snapshot is all but the scale.
func snapshot(t *testing.T, m *exec.Machine) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, x := range m.Tensors() {
		if !strings.HasPrefix(x.Path, "loss_scale/") {
			out[x.Path] = tensorBytes(t, m, x.Path)
		}
	}
	return out
}

// gpt is the example at a small size with a layout of one device of that precision.
func gpt(t *testing.T, precision string, set ...string) *program.Plan {
	t.Helper()
	src, err := os.ReadFile("../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	text := string(src) + "\nlayout of_this_test { precision { " + precision + " } }\n"
	set = append([]string{"layers=2", "embed=64", "heads=2", "head=32", "seq=64", "batch=4", "ffn=256", "steps=80", "warmup=10"}, set...)
	p, _, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Source: []byte(text), Set: set, Layout: "of_this_test", Target: best(t)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestNarrowArenas: where activations are most of the arena, those in 16 bits make it at
// most 0.6 of that in f32; where parameters are, no copies of them make it larger. With a
// scaled loss there is a byte for each element of a gradient, whether it is finite.
func TestNarrowArenas(t *testing.T) {
	arena := func(precision string, set ...string) int64 {
		src, err := os.ReadFile("../examples/gpt/gpt.ptl")
		if err != nil {
			t.Fatal(err)
		}
		text := string(src) + "\nlayout of_this_test { precision { " + precision + " } }\n"
		set = append([]string{"layers=6", "embed=64", "heads=2", "head=32", "ffn=256"}, set...)
		p, _, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Source: []byte(text), Set: set, Layout: "of_this_test", Target: "ref"})
		if err != nil {
			t.Fatal(err)
		}
		return p.Devices[0].Arena
	}
	for _, c := range []struct {
		set  []string
		most map[string]float64
	}{
		{[]string{"seq=64", "batch=32", "vocab=2048"}, map[string]float64{"bf16": 0.6, "f16": 0.6}},
		{[]string{"seq=16", "batch=1", "vocab=64"}, map[string]float64{"bf16": 1, "f16": 1 + 1.0/16}},
	} {
		full := arena("compute = f32", c.set...)
		for _, half := range []string{"bf16", "f16"} {
			if got := arena("compute = "+half, c.set...); float64(got) > c.most[half]*float64(full) {
				t.Errorf("%v: an arena of %d bytes in %s, %d in f32: %.3f, want at most %g", c.set, got, half, full, float64(got)/float64(full), c.most[half])
			}
		}
	}
}

// TestDotInstructions: products of bf16 are made of them where the target has them, those
// of f32 and on other targets not.
func TestDotInstructions(t *testing.T) {
	if best(t) == "ref" {
		t.Skip("not applicable: PTC_LLVM=none, and the reference backend stands in")
	}
	src, err := os.ReadFile("../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		target, precision string
		want              bool
	}{
		{"cpu:x86-64-v4+avx512bf16", "compute = bf16", true},
		{"cpu:x86-64-v4+avx512bf16", "compute = f16", false},
		{"cpu:x86-64-v4+amx", "compute = bf16", true},
		{"cpu:arm64+bf16", "compute = bf16", true},
		{"cpu:x86-64-v4", "compute = bf16", false},
		{"cpu:x86-64-v4+avx512bf16", "products = f8", true},
	} {
		p, _, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Target: c.target, Layout: "of_this_test",
			Source: []byte(string(src) + "\nlayout of_this_test { precision { " + c.precision + " } }\n"),
			Set:    []string{"layers=1", "embed=64", "heads=2", "head=32", "seq=64", "batch=4", "ffn=256"}})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, code := range p.Code {
			n += dots(c.target, code.Data)
		}
		if got := n > 0; got != c.want {
			t.Errorf("%s, %s: %d dot instructions", c.target, c.precision, n)
		}
	}
}

// dots counts the places of code that are the target's instruction for products of bf16.
// VDPBF16PS of 512 bits: prefix 62, map 0F38, W0, pp F3, vector length 2, opcode 52 (Intel,
// Architectures Software Developer's Manual, volume 2, section 2.7.1); TDPBF16PS: prefix
// C4, map 0F38, W0, L0, pp F3, opcode 5C, of registers (2.3.5). BFMMLA is a word of which
// three registers are left open (Arm, Architecture Reference Manual for A-profile, C7.2).
func dots(target string, code []byte) (n int) {
	is := func(x []byte) bool {
		return x[0] == 0x62 && x[1]&7 == 2 && x[2]&0x87 == 0x06 && x[3]&0x60 == 0x40 && x[4] == 0x52
	}
	switch {
	case strings.HasSuffix(target, "amx"):
		is = func(x []byte) bool {
			return x[0] == 0xc4 && x[1]&0x1f == 2 && x[2]&0x87 == 0x02 && x[3] == 0x5c && x[4]&0xc0 == 0xc0
		}
	case strings.HasPrefix(target, "cpu:arm64"):
		is = func(x []byte) bool { return binary.LittleEndian.Uint32(x)&0xffe0fc00 == 0x6e40ec00 }
	}
	for i := 0; i+4 < len(code); i++ {
		if is(code[i : i+5]) {
			n++
		}
	}
	return n
}

// TestHalfTrainsLikeSingle compares losses along a run in f16 with those in f32.
func TestHalfTrainsLikeSingle(t *testing.T) {
	if best(t) == "ref" {
		t.Skip("PTC_LLVM=none: the reference would need minutes; TestOverflowIsSkipped trains there")
	}
	full, half := gpt(t, "compute = f32"), gpt(t, "compute = f16")
	first := math.Inf(1)
	for _, steps := range []int64{1, 20, 40, 80} {
		var got [2]train.Summary
		for i, p := range []*program.Plan{full, half} {
			s, err := train.Run(context.Background(), p, train.Options{Steps: steps})
			if err != nil {
				t.Fatal(err)
			}
			got[i] = s
		}
		t.Logf("step %d: f32 %.5f, f16 %.5f; validation %.5f, %.5f", steps, got[0].Loss, got[1].Loss, got[0].ValLoss, got[1].ValLoss)
		if math.Abs(got[1].Loss-got[0].Loss) > 0.002*got[0].Loss || math.Abs(got[1].ValLoss-got[0].ValLoss) > 0.002*got[0].ValLoss {
			t.Errorf("step %d: loss %.5f and validation %.5f, in f32 %.5f and %.5f", steps, got[1].Loss, got[1].ValLoss, got[0].Loss, got[0].ValLoss)
		}
		if steps == 1 {
			first = got[1].Loss
		} else if steps == 80 && !(got[1].Loss < 0.7*first) {
			t.Errorf("the loss falls from %.3f to %.3f only", first, got[1].Loss)
		}
	}
}

// TestScaleIsResumed: a run that is stopped and resumed has the bytes of one that
// was not, the scale and its count among them.
func TestScaleIsResumed(t *testing.T) {
	p := gpt(t, "compute = f16", "layers=1", "embed=16", "heads=1", "head=16", "ffn=32", "seq=16", "batch=2")
	straight, resumed := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	run := func(dir string, steps int64, resume bool) string {
		t.Helper()
		s, err := train.Run(context.Background(), p, train.Options{Steps: steps, Checkpoint: dir, Resume: resume})
		if err != nil {
			t.Fatal(err)
		}
		return s.Checkpoint
	}
	want := run(straight, 12, false)
	run(resumed, 5, false)
	got := run(resumed, 12, true)
	for _, name := range []string{"model.safetensors", "optimizer.safetensors"} {
		a, err := os.ReadFile(filepath.Join(want, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(got, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s of the resumed run differs", name)
		}
		if name == "optimizer.safetensors" && !bytes.Contains(a, []byte(`"loss_scale/good"`)) {
			t.Error("the checkpoint has no count of good steps")
		}
	}
}

// TestSkippedStepsAreNoDivergence: a scale that is far too large is found to be so
// in as many steps as it takes, and the run goes on.
func TestSkippedStepsAreNoDivergence(t *testing.T) {
	p := gpt(t, "compute = f16", "layers=1", "embed=16", "heads=1", "head=16", "ffn=32", "seq=16", "batch=2")
	for i := range p.Devices[0].Tensors {
		if x := &p.Devices[0].Tensors[i]; x.Path == "loss_scale/scale" {
			x.Init.Args[0].Value = "1.099511627776e+12" // 2^40
		}
	}
	var log bytes.Buffer
	s, err := train.Run(context.Background(), p, train.Options{Steps: 40, Log: metrics.NewJSON(&log)})
	if err != nil {
		t.Fatal(err)
	}
	if !(s.Loss < 6) || strings.Count(log.String(), `"event":"warning"`) != 1 || !strings.Contains(log.String(), "the gradients overflow, so ptc skips the step") {
		t.Errorf("loss %g, and the log:\n%s", s.Loss, log.String())
	}
	if !strings.Contains(log.String(), `"loss_scale":5.49755813888e+11`) {
		t.Errorf("the log has no scale of 2^39:\n%s", log.String())
	}
}

// TestResumeInAnotherPrecision: a run goes on from the checkpoint of another
// precision. From f32 to bf16 the masters are what the parameters were, and back
// the parameters what the masters were, to the bit, so a run that changes twice
// and learns nothing in between has the parameters that it had.
func TestResumeInAnotherPrecision(t *testing.T) {
	small := []string{"layers=1", "embed=16", "heads=1", "head=16", "ffn=32", "seq=16", "batch=2"}
	idle := append([]string{"lr=0.0"}, small...)
	dir := t.TempDir()
	run := func(p *program.Plan, steps int64, resume bool) (out []byte) {
		t.Helper()
		s, err := train.Run(context.Background(), p, train.Options{Steps: steps, Checkpoint: dir, Resume: resume, Keep: -1})
		if err != nil {
			t.Fatal(err)
		}
		all := safetensorstest.Bytes(t, filepath.Join(s.Checkpoint, "model.safetensors"))
		for _, name := range slices.Sorted(maps.Keys(all)) {
			out = append(out, all[name]...)
		}
		return out
	}
	want := run(gpt(t, "compute = f32", small...), 3, false)
	narrow := run(gpt(t, "compute = f16  params = bf16", idle...), 4, true)
	if 2*len(narrow) != len(want) {
		t.Errorf("parameters in bf16 take %d bytes, in f32 %d", len(narrow), len(want))
	}
	if got := run(gpt(t, "compute = f32", idle...), 5, true); !bytes.Equal(got, want) {
		t.Error("parameters that went through bf16 and back have changed")
	}
	_, err := train.Run(context.Background(), gpt(t, "compute = f32", "layers=1", "embed=16", "heads=1", "head=16", "ffn=48", "seq=16", "batch=2"),
		train.Options{Steps: 6, Checkpoint: dir, Resume: true})
	if err == nil || !strings.Contains(err.Error(), "does not match this model") {
		t.Errorf("another model's checkpoint: %v", err)
	}
}
