package gpu

import (
	"context"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/runtime/cuda"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

var (
	real = flag.Bool("real", false, "use the machine's GPU, not the driver for tests")
	root = flag.String("root", "../..", "folder that has the folder of the examples")
)

// driver puts the driver for tests into the place of the machine's, and looks at it in the end.
func driver(t *testing.T, seed uint64) {
	if *real {
		if err := cuda.Available(); err != nil {
			t.Fatal(err)
		}
		return
	}
	d := fakecuda.New(fakecuda.Options{Seed: seed})
	cuda.Use(d.Lookup)
	t.Cleanup(func() {
		cuda.Use(nil)
		for _, p := range append(d.Problems(), append(d.Faults(), d.Leaks()...)...) {
			t.Error(p)
		}
	})
}

// model is an example, as it is compiled.
type model struct{ name, set, layout string }

// compile is the plan of m for a target.
func (m model) compile(t *testing.T, target string) *program.Plan {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(*root, "examples", m.name, m.name+".ptl"))
	if err != nil {
		t.Fatal(err)
	}
	o := compiler.Options{File: m.name + ".ptl", Source: text, Target: target, Set: strings.Fields(m.set)}
	if m.layout != "" {
		o.Source, o.Layout = append(text, "\nlayout added {\n  "+m.layout+"\n}\n"...), "added"
	}
	p, _, err := compiler.Compile(o)
	if err != nil {
		t.Fatalf("%s for %s: %v", m.name, target, err)
	}
	return p
}

// losses keeps what a run says of its steps.
type losses struct{ all []float64 }

func (l *losses) Tell(e metrics.Event) {
	if s, ok := e.(*metrics.Step); ok {
		l.all = append(l.all, s.Loss)
	}
}
func (l *losses) Close() error { return nil }

// run trains p, and gives the losses, and the parameters in the end.
func run(t *testing.T, p *program.Plan, steps int64) ([]float64, []byte) {
	t.Helper()
	l := &losses{}
	file := filepath.Join(t.TempDir(), "end.safetensors")
	if _, err := train.Run(context.Background(), p, train.Options{Steps: steps, Threads: 2, Log: l, Save: file}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(l.all)) != steps {
		t.Fatalf("%d losses of %d steps", len(l.all), steps)
	}
	return l.all, b
}

const (
	tiny  = "layers=2 embed=16 heads=2 head=8 ffn=32 seq=8 batch=2"
	llama = "layers=2 embed=16 heads=4 kv=2 head=4 ffn=24 seq=8 batch=2"
)

// TestTrains: the models train, with the losses of the reference, and twice to the same bits.
func TestTrains(t *testing.T) {
	for _, c := range []struct {
		target string
		model
		long bool // only on a GPU or with -all: the emulator takes long
	}{
		{target, model{"mlp", "batch=8 seq=4 embed=16 hidden=32", ""}, false},
		{target, model{"gpt", tiny, ""}, false},
		{target, model{"gpt", tiny, "precision { compute = bf16 }"}, false},
		{target, model{"llama", llama, ""}, false},
		{target, model{"moe", tiny, ""}, false},
		{hopper, model{"gpt", "layers=1 embed=64 heads=1 head=64 ffn=128 seq=64 batch=2", "precision { compute = bf16 }"}, false},
		{hopper, model{"moe", "layers=1 batch=4 seq=12 embed=20 heads=4 head=6 ffn=12 experts=4", "precision { compute = bf16 }"}, true},
	} {
		if c.long && !*real && !*every {
			continue
		}
		m := c.model
		t.Run(strings.TrimSpace(c.target+" "+m.name+" "+m.layout), func(t *testing.T) {
			const steps = 2
			want, _ := run(t, m.compile(t, "ref"), steps)
			driver(t, 1)
			p := m.compile(t, c.target)
			got, first := run(t, p, steps)
			within := 1e-4
			if m.layout != "" {
				within = 1e-2 // of numbers with 8 bits, otherwise rounded
			}
			for i := range want {
				if d := math.Abs(got[i] - want[i]); !(d <= within*math.Abs(want[i])) {
					t.Errorf("step %d: a loss of %v, and %v on the reference", i, got[i], want[i])
				}
			}
			driver(t, 2)
			again, second := run(t, p, steps)
			for i := range got {
				if math.Float64bits(got[i]) != math.Float64bits(again[i]) {
					t.Errorf("step %d: a loss of %v, and in another run of %v", i, got[i], again[i])
				}
			}
			if string(first) != string(second) {
				t.Errorf("two runs end with different parameters, from byte %d on", differs(first, second))
			}
		})
	}
}

func differs(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
