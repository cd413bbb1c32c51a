package compiler_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors/safetensorstest"
	"ptc/runtime/exec"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

// gptUnder is gpt at the sizes of the matrix.
func gptUnder(t *testing.T, spec, set, extra, target string) *program.Plan {
	t.Helper()
	p, err := matrix.Compile("..", mustFind(t, "gpt"), matrix.Layout{Spec: spec, Set: set, Extra: extra}, target)
	if err != nil {
		t.Fatal(err)
	}
	return expanded(t, p)
}

// spaces are the bytes of the tensors of a device by kind, less scalars.
func spaces(d *program.Device) map[program.Space]int64 {
	out := map[program.Space]int64{}
	for _, x := range d.Tensors {
		if b := &d.Buffers[x.Buffer]; len(b.Axes) > 0 {
			out[b.Space] += b.Bytes
		}
	}
	return out
}

// traffic is the bytes that a device gives to collectives of a kind in a step,
// less scalars.
func traffic(t *testing.T, d *program.Device, kinds ...string) (n int64) {
	t.Helper()
	for _, in := range step(t, d) {
		for _, k := range kinds {
			if in.Comm.Kind == k && in.Comm.Bytes > 8 {
				n += in.Comm.Bytes
			}
		}
	}
	return n
}

// TestReduceHalvesTraffic: with reduce = bf16 the gradients take half the bytes,
// and 4 bytes an element without.
func TestReduceHalvesTraffic(t *testing.T) {
	elements := spaces(&gptUnder(t, "single", "", "", "ref").Devices[0])[program.Params] / 4
	for _, l := range []struct {
		spec, precision string
		width           int64 // bytes of an element of a gradient
	}{
		{"dp2", "", 4}, {"dp2", "reduce = bf16", 2}, {"dp2 z2", "reduce = f32", 4}, {"dp2 z2", "reduce = bf16", 2},
		{"dp2 z3", "compute = bf16  params = bf16  reduce = bf16", 2}, {"dp4", "compute = f16", 4}, {"dp4", "compute = f16  reduce = bf16", 2},
		{"dp2", "compute = bf16  params = bf16", 4},
	} {
		p := gptUnder(t, l.spec, "", "precision { "+l.precision+" }", "ref")
		if got, want := traffic(t, &p.Devices[0], collective.AllReduce, collective.ReduceScatter), elements*l.width; got != want {
			t.Errorf("%s with %q adds up %d bytes, want %d", l.spec, l.precision, got, want)
		}
	}
}

// TestParamsAreSmall: parameters take 2 bytes, the optimizer's state 12: two
// moments and the master; zero 1 sends the new parameters as bf16, and zero 3
// gathers them so.
func TestParamsAreSmall(t *testing.T) {
	full := spaces(&gptUnder(t, "single", "", "", "ref").Devices[0])
	p := gptUnder(t, "single", "", "precision { compute = bf16  params = bf16 }", "ref")
	small := spaces(&p.Devices[0])
	n := full[program.Params] / 4
	if full[program.Optimizer] != 8*n || small[program.Params] != 2*n || small[program.Optimizer] != 12*n {
		t.Errorf("%d parameters take %v in f32 and %v in bf16", n, full, small)
	}
	for _, spec := range []string{"dp2 z1", "dp2 z3"} {
		f32 := gptUnder(t, spec, "", "", "ref")
		bf16 := gptUnder(t, spec, "", "precision { params = bf16 }", "ref")
		a, b := traffic(t, &f32.Devices[0], collective.AllGather), traffic(t, &bf16.Devices[0], collective.AllGather)
		if a == 0 || a != 2*b {
			t.Errorf("%s gathers %d bytes with parameters in f32, %d with bf16", spec, a, b)
		}
	}
}

// TestMastersStartAsParameters: the master has the initial values that the
// parameter has in f32, and the parameter those rounded.
func TestMastersStartAsParameters(t *testing.T) {
	open := func(p *program.Plan) *exec.Machine {
		t.Helper()
		m, err := exec.Open(p, exec.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		if err := m.Initialize(11); err != nil {
			t.Fatal(err)
		}
		return m
	}
	full := open(gptUnder(t, "single", "", "", "ref"))
	for _, spec := range []string{"single", "dp2 z3"} {
		small := open(gptUnder(t, spec, "", "precision { params = bf16 }", "ref"))
		masters := 0
		for _, x := range small.Tensors() {
			if x.Of == "" {
				continue
			}
			masters++
			want := tensorBytes(t, full, x.Of)
			if !bytes.Equal(tensorBytes(t, small, x.Path), want) {
				t.Errorf("%s: the master %s does not start as the parameter", spec, x.Path)
			}
			rounded := make([]byte, len(want)/2)
			if err := exec.Convert(rounded, dtype.BF16, want, dtype.F32); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(tensorBytes(t, small, x.Of), rounded) {
				t.Errorf("%s: %s does not start as its master, rounded", spec, x.Of)
			}
		}
		if masters != 28 {
			t.Errorf("%s: %d masters, want 28", spec, masters)
		}
	}
}

// TestLowPrecisionIsChecked executes every pass under layouts with all of the
// settings at once.
func TestLowPrecisionIsChecked(t *testing.T) {
	m := mustFind(t, "gpt")
	src, err := m.Source("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{"single", "dp2 z1", "dp2 z3 tp2", "dp2 z1 1f1b:2:2 tp2 sp"} {
		for _, precision := range []string{"compute = bf16  params = bf16  reduce = bf16", "compute = f16  params = f16  reduce = bf16  loss_scale = 256", "compute = bf16  products = f8"} {
			rules, err := matrix.Layout{Spec: spec, Extra: "precision { " + precision + " }"}.Rules(m)
			if err != nil {
				t.Fatal(err)
			}
			report, _, err := compiler.Check(compiler.Options{File: "gpt.ptl", Source: []byte(src + "\nlayout l {\n" + rules + "\n}\n"), Set: m.Set, Layout: "l", Target: "ref"})
			if err != nil {
				t.Fatal(err)
			}
			if bad := report.First(); bad != nil {
				t.Errorf("%s, %s: %s changes %s by %g", spec, precision, bad.Pass, bad.Worst, bad.Diff)
			}
		}
	}
}

// TestLayoutsOfBF16: what is rounded to bf16 is rounded otherwise on other
// devices, but the losses stay together: the tolerance is a few units of bf16.
func TestLayoutsOfBF16(t *testing.T) {
	losses := func(spec, set string) []float64 {
		t.Helper()
		return lossesOf(t, gptUnder(t, spec, set, "precision { compute = bf16  params = bf16  reduce = bf16 }", "ref"))
	}
	for _, l := range [][2]string{{"dp2 z1", ""}, {"dp2 z3 tp2", ""}, {"dp2 1f1b:2:2 tp2 sp", "layers=3"}} {
		want, got := losses("single", l[1]), losses(l[0], l[1])
		for i := range want {
			if math.Abs(got[i]-want[i]) > 4.0/512*want[i] {
				t.Errorf("%s: losses %v, on one device %v", l[0], got, want)
				break
			}
		}
	}
}

// TestInitFillsMasters: --init gives the master what the file has, to the bit.
func TestInitFillsMasters(t *testing.T) {
	small := []string{"layers=1", "embed=16", "heads=1", "head=16", "ffn=32", "seq=16", "batch=2"}
	file, dir := filepath.Join(t.TempDir(), "w"), t.TempDir()
	if _, err := train.Run(context.Background(), gpt(t, "compute = f32", small...), train.Options{Steps: 2, Save: file}); err != nil {
		t.Fatal(err)
	}
	// Nothing is learned with a rate of 0.
	p := gpt(t, "params = bf16", append(small, "lr=0.0")...)
	s, err := train.Run(context.Background(), p, train.Options{Steps: 1, Init: file, Checkpoint: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := safetensorstest.Bytes(t, file)["blocks.0.mlp.w1"]
	if got := safetensorstest.Bytes(t, filepath.Join(s.Checkpoint, "optimizer.safetensors"))["blocks.0.mlp.w1/master"]; !bytes.Equal(got, want) {
		t.Errorf("the master starts with %x, the file has %x", got[:16], want[:16])
	}
	if x := math.Float32frombits(binary.LittleEndian.Uint32(want)); x == 0 {
		t.Error("the file has a zero, which says nothing")
	}
}

// declared is a model that has its parameters in bf16 itself.
const declared = `
import std.nn
import std.optim
import std.data
config { batch = 4  seq = 8  embed = 12  vocab = 256 }
model M {
  param wte : bf16[vocab, embed] ~ normal(std = 0.3)
  param w   : bf16[embed, out = vocab] ~ normal(std = 0.3)
  fn apply(tokens: i32[batch, seq]) { return cast(dot(wte[vocab = tokens], w, over = embed), f32) }
}
train M {
  loss = nn.cross_entropy(M(tokens), targets, over = out)
  optimizer = OPT
  data = data.text("${GOROOT}/src/fmt/*.go", tokenizer = bytes, window = seq)
  steps = 60
}
layout dp { mesh dp = 2  shard batch over dp  zero 1 over dp }
`

// TestDeclaredParameters: every optimizer updates parameters that the model
// declares in bf16, by a master, on one device and several.
func TestDeclaredParameters(t *testing.T) {
	for _, opt := range []string{"AdamW(lr = 3e-2, clip = 1.0)", "Adam(lr = 3e-2)", "SGD(lr = 1.0, momentum = 0.5)", "Lion(lr = 1e-2)", "SignEC(lr = 1.0, limit = 1e-2)"} {
		src := []byte(strings.Replace(declared, "OPT", "optim."+opt, 1))
		for _, layout := range []string{"", "dp"} {
			o := compiler.Options{File: "m.ptl", Source: src, Layout: layout, Target: best(t)}
			report, _, err := compiler.Check(o)
			if err != nil {
				t.Fatalf("%s: %v", opt, err)
			}
			if bad := report.First(); bad != nil {
				t.Errorf("%s: %s changes %s by %g", opt, bad.Pass, bad.Worst, bad.Diff)
			}
			p, _, err := compiler.Compile(o)
			if err != nil {
				t.Fatal(err)
			}
			s, err := train.Run(context.Background(), p, train.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !(s.ValLoss < 5) { // from 5.6 or more
				t.Errorf("%s %s: validation loss %g", opt, layout, s.ValLoss)
			}
			if x := p.Devices[0].Tensors; !strings.Contains(tensorNames(x), "w/master") {
				t.Errorf("%s: no master among %s", opt, tensorNames(x))
			}
		}
	}
}

func tensorNames(ts []program.Tensor) string {
	var names []string
	for _, x := range ts {
		names = append(names, x.Path)
	}
	return strings.Join(names, " ")
}

// TestTokensTravelInTheComputeDtype: under compute = bf16 every exchange of tokens
// with their experts, forward and backward, takes half the bytes.
func TestTokensTravelInTheComputeDtype(t *testing.T) {
	bytes := func(precision string) int64 {
		t.Helper()
		p, err := matrix.Compile("..", mustFind(t, "moe"), matrix.Layout{Spec: "ep4", Extra: precision}, "ref")
		if err != nil {
			t.Fatal(err)
		}
		return traffic(t, &p.Devices[0], collective.AllToAll)
	}
	if full, half := bytes(""), bytes("precision { compute = bf16 }"); full == 0 || full != 2*half {
		t.Errorf("tokens take %d bytes in f32 and %d in bf16", full, half)
	}
}
