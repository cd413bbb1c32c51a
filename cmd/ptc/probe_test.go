package main

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"ptc/compiler"
	"ptc/foresight/cost"
	"ptc/foresight/forecast"
	"ptc/foresight/machine"
	"ptc/foresight/sim"
	"ptc/lang/syntax"
	"ptc/runtime/program"
)

var published = flag.Bool("published", false, "TestProbedSimulation takes published sizes too")

// probedCase is a layout of a model on a machine.
type probedCase struct {
	name, file, machine, layout string
	set                         []string
}

var probedCases = []probedCase{
	{"1f1b", "gpt", "h100:6x4", "mesh dp = 2, pp = 6, tp = 2\nshard batch over dp\nshard heads, ffn, vocab over tp\nshard seq over tp between Block\npipeline blocks over pp { schedule = 1f1b  microbatches = 8 }\nzero 1 over dp\nrecompute Block\nprecision { compute = bf16 }",
		[]string{"layers=12", "batch=64"}},
	{"nodes of odd sizes", "gpt", "a100_80:7x2", "mesh tp = 2, pp = 7\nshard heads, ffn, vocab over tp\npipeline blocks over pp { schedule = gpipe  microbatches = 8 }", []string{"layers=9", "batch=64", "heads=4"}},
	{"interleaved", "llama", "h100:4x4", "mesh pp = 8, dp = 2\nshard batch over dp\npipeline blocks over pp { schedule = interleaved  chunks = 2  microbatches = 16 }\nzero 3 over dp", []string{"layers=18", "batch=64"}},
	{"zb_v", "gpt", "h100:2x4", "mesh pp = 8\npipeline blocks over pp { schedule = zb_v  chunks = 2  microbatches = 16 }", []string{"layers=16", "batch=64"}},
	{"experts", "moe", "h100:8x4", "mesh pp = 8, ep = 4\nshard batch, experts over ep\npipeline blocks over pp { schedule = 1f1b  microbatches = 8 }", []string{"layers=16", "batch=64"}},
}

// Sizes of published runs: 1T of Narayanan et al. (2021), table 1; 405B of Dubey et al., "The Llama 3 herd of models" (2024), tables
// 3 and 4.
var publishedCases = []probedCase{
	{"1T", "gpt", "a100_80:384x8", "mesh dp = 6, pp = 64, tp = 8\nshard batch over dp\nshard heads, ffn, vocab over tp\nshard seq over tp between Block\npipeline blocks over pp { schedule = 1f1b  microbatches = 512 }\nrecompute Block\nprecision { compute = bf16 }",
		[]string{"layers=128", "embed=25600", "heads=160", "head=160", "ffn=102400", "vocab=51200", "seq=2048", "batch=3072"}},
	{"405B", "llama", "h100:2048x8", "mesh dp = 128, pp = 16, tp = 8\nshard batch over dp\nshard heads, kv, ffn, vocab over tp\nshard seq over tp between Block\npipeline blocks over pp { schedule = interleaved  chunks = 7  microbatches = 16}\nzero 1 over dp\nprecision { compute = bf16 }",
		[]string{"layers=126", "embed=16384", "heads=128", "kv=8", "head=128", "ffn=53248", "vocab=128256", "seq=8192", "batch=2048"}},
}

// TestProbedSimulation: a step of the plan that a probe finds is that of the compiled plan, for every class of devices, to the
// picosecond; and so is all that is said of it.
func TestProbedSimulation(t *testing.T) {
	cases := probedCases
	if *published {
		cases = append(slices.Clone(cases), publishedCases...)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join("..", "..", "examples", c.file, c.file+".ptl")
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			a := &app{}
			cluster, err := a.cluster(c.machine)
			if err != nil {
				t.Fatal(err)
			}
			text := "\nlayout probed {\n" + c.layout + "\n}\n"
			o := compiler.Options{File: path, Source: src, Set: c.set, Target: "ref", Forms: cluster.Device.Target}
			prober, _, err := compiler.NewProber(o)
			if err != nil {
				t.Fatal(err)
			}
			o.Source, o.Layout = append(slices.Clone(src), text...), "probed"
			f, errs := syntax.Parse(path, o.Source) // so that the layout has the same lines
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			layouts := syntax.Decls[*syntax.Layout](f)
			x, err := prober.Probe(layouts[len(layouts)-1])
			if err != nil {
				t.Fatal(err)
			}
			full, _, err := compiler.Compile(o)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d of %d devices compiled", len(x.Plan.Devices), len(full.Devices))
			sameStep(t, cluster, full, x.Whole())
		})
	}
}

// sameStep compares simulated steps of two plans.
func sameStep(t *testing.T, c *machine.Cluster, full, probed *program.Plan) {
	t.Helper()
	type found struct {
		job    *sim.Job
		result *sim.Result
		said   *forecast.Forecast
	}
	var both [2]found
	for i, p := range []*program.Plan{full, probed} {
		m := cost.New(c, cost.Software{})
		work, err := sim.WorkOf(p, m)
		if err != nil {
			t.Fatal(err)
		}
		x := &both[i]
		if x.job, err = sim.New(p, work, m, sim.Options{}); err != nil {
			t.Fatal(err)
		}
		if x.result, err = sim.Run(x.job, sim.How{}); err != nil {
			t.Fatal(err)
		}
		if x.said, _, err = forecast.Of(p, c, forecast.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	a, b := both[0], both[1]
	if a.result.Step == 0 || a.result.Step != b.result.Step || a.result.Last != b.result.Last || !reflect.DeepEqual(a.result.ByCause, b.result.ByCause) {
		t.Errorf("the probed step takes %d ps, the compiled one %d", b.result.Step, a.result.Step)
	}
	if len(a.job.Classes) != len(b.job.Classes) || !slices.Equal(a.job.Causes, b.job.Causes) {
		t.Fatalf("%d classes of devices, of the compiled plan %d", len(b.job.Classes), len(a.job.Classes))
	}
	for i := range a.job.Classes {
		k, l := &a.job.Classes[i], &b.job.Classes[i]
		if k.Rank != l.Rank || k.Ranks != l.Ranks || k.Device != l.Device || !reflect.DeepEqual(a.result.Classes[i], b.result.Classes[i]) {
			t.Errorf("class %d: rank %d of %d takes %+v, in the compiled plan rank %d of %d %+v", i, l.Rank, l.Ranks, b.result.Classes[i], k.Rank, k.Ranks, a.result.Classes[i])
		}
	}
	for i := range a.said.Where {
		a.said.Where[i].What, b.said.Where[i].What = "", "" // names of kernels have numbers
	}
	a.said.Bound.What, b.said.Bound.What = "", ""
	x, y := reflect.ValueOf(a.said).Elem(), reflect.ValueOf(b.said).Elem()
	for i := range x.NumField() {
		if p, q := x.Field(i).Interface(), y.Field(i).Interface(); !reflect.DeepEqual(p, q) {
			t.Errorf("%s of the forecast is %+v, of the compiled plan %+v", x.Type().Field(i).Name, q, p)
		}
	}
	t.Logf("%d classes, %d ps", len(a.job.Classes), a.result.Step)
}
