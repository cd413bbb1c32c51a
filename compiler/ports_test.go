package compiler_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/backend/cpu/llvm"
	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/runtime/device/fake"
	"ptc/runtime/program"
)

// ported are config entries that no shape depends on: a rate of dropout, smoothing of
// labels, and numbers of the optimizer.
var ported = []string{"lr", "warmup", "decay", "clip", "rate", "smoothing", "b1", "b2", "eps", "keep"}

// others are values of them: what a plan holds, and what it is set to.
var others = map[string]float64{"lr": 1.3e-3, "warmup": 3, "decay": 0.07, "clip": 0.9, "rate": 0.3, "smoothing": 0.1, "b1": 0.85, "b2": 0.98, "eps": 1e-7, "keep": 0.95}

// portedSource is a model of the matrix, with dropout, that has these entries.
func portedSource(t *testing.T, m matrix.Model, l matrix.Layout) string {
	t.Helper()
	src, err := m.Source("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range [][2]string{
		{"config {\n", "config {\n  rate = 0.2\n  smoothing = 0.05\n  b1 = 0.9\n  b2 = 0.95\n  eps = 1e-8\n  keep = 0.9\n"},
		{"nn.Dropout(rate = 0.2)", "nn.Dropout(rate = rate)"},
		{"targets, over = vocab)", "targets, over = vocab, smoothing = smoothing)"},
		{"clip = clip)", "clip = clip, beta1 = b1, beta2 = b2, eps = eps, average = keep)"},
	} {
		if strings.Count(src, x[0]) != 1 {
			t.Fatalf("%s has %q %d times", m.Name, x[0], strings.Count(src, x[0]))
		}
		src = strings.Replace(src, x[0], x[1], 1)
	}
	rules, err := l.Rules(m)
	if err != nil {
		t.Fatal(err)
	}
	return src + "\nlayout of_the_test {\n" + rules + "\n}\n"
}

// withPorts compiles the source for the target, with values of the entries and these ports.
func withPorts(t *testing.T, m matrix.Model, l matrix.Layout, target string, values map[string]float64, ports []string) *program.Plan {
	t.Helper()
	set := map[string]string{}
	for _, s := range append(slices.Clone(m.Set), strings.Fields(l.Set)...) {
		k, v, _ := strings.Cut(s, "=")
		set[k] = v
	}
	for k, v := range values {
		set[k] = fmt.Sprint(v)
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(set)) {
		list = append(list, k+"="+set[k])
	}
	p, r, err := compiler.Compile(compiler.Options{File: m.Name + ".ptl", Source: []byte(portedSource(t, m, l)), Set: list,
		Layout: "of_the_test", Target: target, Ports: ports, VerifyEach: ports != nil})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Static) > 0 {
		t.Errorf("not ports: %v", r.Static)
	}
	return p
}

// portCases are layouts of each kind.
var portCases = map[string][]string{
	"gpt":   {"dp2 z2", "zb_h1:2:4 (layers=3)", "dp2 z1 interleaved:2:2:2 tp2 + offload optimizer to host { piece = 1 KiB } offload activations of Block to disk (layers=5)"},
	"llama": {"dp2 z3 1f1b:2:2 (layers=3)", "zz2 + recompute Block"},
}

func eachPortCase(t *testing.T, do func(t *testing.T, m matrix.Model, l matrix.Layout)) {
	for _, m := range matrix.Models {
		for _, l := range matrix.Layouts {
			if l.For(m) && slices.Contains(portCases[m.Name], l.Name()) {
				t.Run(m.Name+" "+l.Name(), func(t *testing.T) { do(t, m, l) })
			}
		}
	}
}

func trainedBy(t *testing.T, p *program.Plan) *matrix.Run {
	t.Helper()
	r, err := matrix.Train(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPortsAreConstants: a plan whose ports are set trains as one that was compiled with the
// values, up to rounding, in every layout.
func TestPortsAreConstants(t *testing.T) {
	eachPortCase(t, func(t *testing.T, m matrix.Model, l matrix.Layout) {
		p := withPorts(t, m, l, "ref:f64", nil, ported)
		set, err := p.Set(others)
		if err != nil {
			t.Fatal(err)
		}
		constants := withPorts(t, m, l, "ref:f64", others, nil)
		if diff := cmp.Diff(constants.Config, set.Config); diff != "" {
			t.Errorf("config, - compiled, + set:\n%s", diff)
		}
		want, got := trainedBy(t, constants), trainedBy(t, set)
		for i, x := range want.Losses {
			if math.Abs(x-got.Losses[i]) > 1e-12*math.Abs(x) {
				t.Errorf("step %d: the loss is %v, and with constants %v", i+1, got.Losses[i], x)
			}
		}
		for path, w := range want.Params {
			for i, x := range w {
				if math.Abs(x-got.Params[path][i]) > 1e-11 {
					t.Fatalf("%s differs: %v, and with constants %v", path, got.Params[path][i], x)
				}
			}
		}
		if again := trainedBy(t, set); !slices.Equal(again.Losses, got.Losses) {
			t.Errorf("a second time losses are %v, not %v", again.Losses, got.Losses)
		}
		if first := trainedBy(t, p); slices.Equal(first.Losses, got.Losses) {
			t.Error("other values change nothing")
		}
	})
}

// TestPortsOnEngines: ports reach devices whose memory is not the host's, and native code.
func TestPortsOnEngines(t *testing.T) {
	targets := []string{"ref"}
	if _, err := llvm.Load(); err == nil {
		targets = append(targets, "cpu")
	}
	m, err := matrix.Find("gpt")
	if err != nil {
		t.Fatal(err)
	}
	l := matrix.Layouts[slices.IndexFunc(matrix.Layouts, func(l matrix.Layout) bool { return l.Name() == "zb_h1:2:4 (layers=3)" })]
	var losses []float64
	for _, target := range targets {
		p, err := withPorts(t, m, l, target, nil, ported).Set(others)
		if err != nil {
			t.Fatal(err)
		}
		want := trainOn(t, p, nil)
		same(t, 0, want, trainOn(t, p, fake.Wrap(fake.Latest)))
		for i, x := range losses {
			if math.Abs(x-want.Losses[i]) > 1e-5*x {
				t.Errorf("losses %v, and on the reference %v", want.Losses, losses)
			}
		}
		losses = want.Losses
	}
}

// TestPortsAreChecked: passes keep what modules with ports compute.
func TestPortsAreChecked(t *testing.T) {
	m, err := matrix.Find("gpt")
	if err != nil {
		t.Fatal(err)
	}
	l := matrix.Layouts[slices.IndexFunc(matrix.Layouts, func(l matrix.Layout) bool { return l.Name() == "tp2 1f1b:2:2 (layers=3)" })]
	r, _, err := compiler.Check(compiler.Options{File: "gpt.ptl", Source: []byte(portedSource(t, m, l)), Set: append(slices.Clone(m.Set), "seq=4", "batch=4"),
		Layout: "of_the_test", Target: "ref", Ports: ported})
	if err != nil {
		t.Fatal(err)
	}
	if bad := r.First(); bad != nil {
		t.Errorf("%+v", bad)
	}
}

// TestPortsAreRebuilt: the sources in a plan compile to its bytes, ports and all; also where
// an entry is computed of one.
func TestPortsAreRebuilt(t *testing.T) {
	m, err := matrix.Find("gpt")
	if err != nil {
		t.Fatal(err)
	}
	src := strings.Replace(portedSource(t, m, matrix.Layouts[0]), "floor = lr / 10", "floor = least", 1)
	src = strings.Replace(src, "config {\n", "config {\n  least = lr / 10\n", 1)
	p, _, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Source: []byte(src), Set: append(slices.Clone(m.Set), "layers=1", "decay=2*lr"),
		Layout: "of_the_test", Target: "ref", Ports: append(slices.Clone(ported), "layers")})
	if err != nil {
		t.Fatal(err)
	}
	var is []string
	for _, s := range p.Settings {
		is = append(is, strings.TrimSuffix(s.Name+": "+s.Is, ": "))
	}
	if diff := cmp.Diff([]string{"least: lr / 10", "rate", "smoothing", "b1", "b2", "eps", "keep", "lr", "warmup", "decay", "clip"}, is); diff != "" {
		t.Errorf("settings, - expected, + found:\n%s", diff)
	}
	set, err := p.Set(map[string]float64{"lr": 1})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(set.Config, func(kv program.KV) bool { return kv.Key == "least" }); set.Config[i].Value != "0.1" {
		t.Errorf("a tenth of 1 is %s", set.Config[i].Value)
	}
	_, want := stored(t, p)
	again, _, err := compiler.Rebuild(p, "")
	if err != nil {
		t.Fatal(err)
	}
	if again, got := stored(t, again); !bytes.Equal(got, want) {
		t.Errorf("the plans differ in %v", compiler.Differences(p, again))
	}
}

// noPorts is a program whose entries are used for all kinds of things.
const noPorts = `import std.nn
import std.optim
import std.data

config {
  batch = 2
  wide  = 4
  deep  = 2
  many  = 2
  std   = 0.5
  name  = "a"
  noise = 0.5
  huge  = 1e300
  lr    = 0.1
  half  = lr / 2
  decay = 0.1
  scale = 2.0
  whole = 2
  unused = 1
  seed  = 3
  steps = 9
}

module B {
  param w : [wide] ~ normal(std = std)
  fn apply(x) {
    y = scale * x * w
    for k in (1, 2, 3) { if k < many { y = y + x } }
    return y + whole * cast(step < whole, f32) if training else y
  }
}

model M {
  bs : B[deep]
  fn apply(x: f32[batch, wide]) {
    for b in bs { x = b(x) }
    return x
  }
}

train M {
  loss      = mean(M(x)) + 0 * mean(y) * min(1, huge * huge)
  optimizer = optim.SGD(lr = half, weight_decay = decay, decay = "**")
  data      = data.synthetic(from = wide, to = wide, noise = noise)
  seed      = seed
  steps     = steps
}
`

// TestWhatIsNoPort: what more than arithmetic depends on is a constant, and it is said why.
// A comparison divides values into those that the plan is for and others.
func TestWhatIsNoPort(t *testing.T) {
	names := []string{"wide", "deep", "many", "std", "name", "noise", "huge", "lr", "decay", "scale", "whole", "unused", "seed", "steps"}
	o := compiler.Options{File: "m.ptl", Source: []byte(noPorts), Target: "ref", Ports: names}
	p, r, err := compiler.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	var static []string
	for _, s := range r.Static {
		static = append(static, s.Name+" "+s.Why)
	}
	slices.Sort(static)
	if diff := cmp.Diff([]string{
		"deep changes shapes m.ptl:34:10", "huge must be known to compile m.ptl:42:49", "name is the string \"a\"", "noise must be known to compile m.ptl:44:15",
		"std must be known to compile m.ptl:25:35", "steps must be known to compile m.ptl:46:15", "wide changes shapes m.ptl:25:14",
	}, static); diff != "" {
		t.Errorf("- expected, + found:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"many", "lr", "decay", "scale", "whole", "unused", "seed"}, p.Ports()); diff != "" {
		t.Errorf("ports, - expected, + found:\n%s", diff)
	}
	var guards []string
	for _, g := range p.Guards {
		guards = append(guards, fmt.Sprintf("%s is %t", g.Text, g.Holds))
	}
	if diff := cmp.Diff([]string{"seed > -1 is true", "seed < 2147483648 is true", "1 < many is true", "2 < many is false", "3 < many is false", "decay != 0 is true"}, guards); diff != "" {
		t.Errorf("guards, - expected, + found:\n%s", diff)
	}
	paths := map[string]string{}
	for _, x := range p.Devices[0].Ports {
		if x.Role == program.RoleSetting {
			paths[x.Path] = p.Devices[0].Buffers[x.Buffer].DType
		}
	}
	if diff := cmp.Diff(map[string]string{"lr / 2": "f32", "decay": "f32", "scale": "f32", "whole": "f32", "whole(whole)": "i32"}, paths); diff != "" {
		t.Errorf("ports of programs, - expected, + found:\n%s", diff)
	}
	for say, values := range map[string]map[string]float64{"`2 < many` is not true": {"many": 3}, "`decay != 0` is true": {"decay": 0}, "seed < ": {"seed": 1 << 40}, "whole number of 32 bits": {"whole": 1 << 33}} {
		if _, err := p.Set(values); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%v: %v", values, err)
		}
	}
	o.Ports = []string{"lrr"}
	if _, _, err := compiler.Compile(o); err == nil || !strings.Contains(err.Error(), "--port lrr: the config has no entry `lrr`") || !strings.Contains(err.Error(), "E0214") {
		t.Errorf("a port that is no entry: %v", err)
	}
	o.Ports = names
	outline, _, err := compiler.Outline(o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{p.Config, p.Settings, p.Guards, p.Layout, p.Sources, p.Data.Steps},
		[]any{outline.Config, outline.Settings, outline.Guards, outline.Layout, outline.Sources, outline.Data.Steps}); diff != "" {
		t.Errorf("the outline, - the plan's, + its:\n%s", diff)
	}
}
