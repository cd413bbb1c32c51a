package compiler_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/internal/collective"
	"ptc/lang/syntax"
	"ptc/runtime/program"
)

// probeCase is layouts of a model, each with the same sizes.
type probeCase struct {
	file string
	set  []string
	// layouts are bodies of layouts by what they show.
	layouts map[string]string
}

// pipelines are directives of a pipeline by schedule, of p devices, and how many blocks for each device it takes.
func pipelines(p, per int) map[string]string {
	out := map[string]string{}
	for _, s := range []string{"1f1b", "gpipe", "zb_h1", "zb_h2"} {
		out[s] = fmt.Sprintf("pipeline blocks over pp { schedule = %s  microbatches = 8 }", s)
	}
	if per >= 2 {
		for _, s := range []string{"interleaved", "interleaved_zb", "breadth_first", "zb_v", "dualpipe_v"} {
			m := 8
			if s == "dualpipe_v" {
				m = 2 * p
			}
			if s == "interleaved" || s == "interleaved_zb" {
				m = 1
				for m%p != 0 || m < 8 {
					m *= 2
					if p == 3 {
						m = 12
					}
				}
			}
			out[s] = fmt.Sprintf("pipeline blocks over pp { schedule = %s  chunks = 2  microbatches = %d }", s, m)
		}
	}
	return out
}

func probeCases() []probeCase {
	small := []string{"embed=32", "heads=4", "head=8", "ffn=64", "vocab=64", "seq=32"}
	var out []probeCase
	sizes := []int{2, 4, 8}
	if *slow {
		sizes = []int{2, 3, 4, 8, 16}
	}
	for _, p := range sizes {
		c := probeCase{file: "gpt", set: append(slices.Clone(small), fmt.Sprintf("layers=%d", 2*p), "batch=96"), layouts: map[string]string{}}
		for name, line := range pipelines(p, 2) {
			mesh := fmt.Sprintf("mesh pp = %d\n", p)
			c.layouts[fmt.Sprint(name, " ", p)] = mesh + line
			if p != 4 || !*slow && !slices.Contains([]string{"1f1b", "interleaved", "zb_v", "zb_h1"}, name) {
				continue
			}
			c.layouts[name+" recompute"] = mesh + line + "\nrecompute Block\nprecision { compute = bf16 }"
			c.layouts[name+" 3d"] = "mesh dp = 2, pp = 4, tp = 2\nshard batch over dp\nshard heads, ffn, vocab over tp\nshard seq over tp between Block\nzero 1 over dp\n" + line
			c.layouts[name+" zero"] = "mesh pp = 4, dp = 2\nshard batch over dp\nzero 3 over dp\nprecision { compute = f16 }\n" + line
		}
		out = append(out, c)
	}
	out = append(out, probeCase{file: "gpt", set: append(slices.Clone(small), "layers=11", "batch=32"), layouts: map[string]string{
		"uneven":        "mesh pp = 4\npipeline blocks over pp { schedule = 1f1b  microbatches = 4 }",
		"uneven 8":      "mesh pp = 8\npipeline blocks over pp { schedule = 1f1b  microbatches = 4 }",
		"given stages":  "mesh pp = 5\npipeline blocks over pp { schedule = 1f1b  microbatches = 4  stages = [1, 3, 2, 3, 2] }",
		"uneven chunks": "mesh pp = 4\npipeline blocks over pp { schedule = interleaved  chunks = 2  microbatches = 8 }",
		"accumulate":    "mesh pp = 5\npipeline blocks over pp { schedule = 1f1b  microbatches = 4 }\naccumulate = 2",
		"ring":          "mesh pp = 5, cp = 2\nshard seq over cp { attention = ring  order = zigzag }\npipeline blocks over pp { schedule = 1f1b  microbatches = 4 }",
		"auto":          "mesh pp = 5\npipeline blocks over pp { schedule = 1f1b  microbatches = 4 }\nrecompute auto { budget = 3 MiB }",
		"offload":       "mesh pp = 5\npipeline blocks over pp { schedule = 1f1b  microbatches = 4 }\noffload optimizer to host",
		"some":          "mesh pp = 5\npipeline blocks over pp { schedule = 1f1b  microbatches = 4 }\nrecompute blocks.3 { keep = [attn] }",
		"one device":    "",
		"data":          "mesh dp = 4\nshard batch over dp\nzero 3 over dp",
		"tensor":        "mesh tp = 4\nshard heads, ffn, vocab over tp\nshard seq over tp between Block\nrecompute Block",
	}})
	for _, file := range []string{"llama", "moe"} {
		out = append(out, probeCase{file: file, set: append(slices.Clone(small), "layers=12", "batch=32"), layouts: map[string]string{
			"pipeline":    "mesh pp = 6\npipeline blocks over pp { schedule = 1f1b  microbatches = 8 }",
			"interleaved": "mesh pp = 6\npipeline blocks over pp { schedule = interleaved  chunks = 2  microbatches = 16 }",
			"zb_v":        "mesh pp = 6\npipeline blocks over pp { schedule = zb_v  chunks = 2  microbatches = 16 }",
			"4d":          "mesh dp = 2, pp = 4, tp = 2\nshard batch over dp\nshard heads, ffn, vocab over tp\nzero 1 over dp\npipeline blocks over pp { schedule = 1f1b  microbatches = 4 }\nrecompute Block",
		}})
	}
	out[len(out)-1].layouts["experts"] = "mesh pp = 4, ep = 4\nshard batch, experts over ep\npipeline blocks over pp { schedule = 1f1b  microbatches = 4 }"
	return out
}

// lastLayout is that of a source.
func lastLayout(t *testing.T, file string, src []byte) *syntax.Layout {
	t.Helper()
	f, errs := syntax.Parse(file, src)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	all := syntax.Decls[*syntax.Layout](f)
	return all[len(all)-1]
}

// TestProbe: what a prober finds is what a full compilation gives: the memory of each device, or that of the one that stands for
// it, which has as much or more; each instruction, and when it is issued.
func TestProbe(t *testing.T) {
	for _, c := range probeCases() {
		path := filepath.Join("..", "examples", c.file, c.file+".ptl")
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		o := compiler.Options{File: path, Source: src, Set: c.set, Target: "ref", Forms: "cuda:sm_80"}
		prober, _, err := compiler.NewProber(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(c.layouts)) {
			t.Run(strings.ReplaceAll(c.file+" "+name, " ", "_"), func(t *testing.T) {
				text := "\nlayout probed {\n" + c.layouts[name] + "\n}\n"
				o := o
				o.Source, o.Layout = append(slices.Clone(src), text...), "probed"
				full, _, errFull := compiler.Compile(o)
				x, err := prober.Probe(lastLayout(t, path, o.Source))
				if (err == nil) != (errFull == nil) {
					t.Fatalf("the probe says %v, the compilation %v", err, errFull)
				}
				if err != nil {
					t.Logf("%v", err)
					return
				}
				sameProbe(t, full, x)
			})
		}
	}
}

// sameProbe compares a plan with what a probe has found.
func sameProbe(t *testing.T, full *program.Plan, x *compiler.Probed) {
	t.Helper()
	whole := x.Whole()
	if len(full.Devices) != len(whole.Devices) {
		t.Fatalf("%d devices, %d in a compilation", len(whole.Devices), len(full.Devices))
	}
	equal, most, mostFull := 0, int64(0), int64(0)
	tags := map[string]string{}
	for d := range full.Devices {
		a, b := &full.Devices[d], &whole.Devices[d]
		if a.Arena == b.Arena {
			equal++
		} else if a.Arena > b.Arena || x.Stands[d] >= 0 && x.Plan.Devices[x.Stands[d]].At[0] == d {
			t.Errorf("device %d has %d bytes, in a compilation %d", d, b.Arena, a.Arena)
		}
		most, mostFull = max(most, b.Arena), max(mostFull, a.Arena)
		if len(a.Tensors) != len(b.Tensors) || len(a.Buffers) != len(b.Buffers) {
			t.Fatalf("device %d has %d tensors and %d buffers, in a compilation %d and %d", d, len(b.Tensors), len(b.Buffers), len(a.Tensors), len(a.Buffers))
		}
		if a.Host != b.Host || a.Disk != b.Disk || !slices.Equal(a.At, b.At) {
			t.Errorf("device %d: %d and %d bytes elsewhere, in a compilation %d and %d", d, b.Host, b.Disk, a.Host, a.Disk)
		}
		for i := range a.Tensors {
			if u, v := a.Tensors[i], b.Tensors[i]; u.Path != v.Path || u.Of != v.Of || u.Train != v.Train {
				t.Errorf("device %d: tensor %+v, in a compilation %+v", d, v, u)
			}
		}
		for i := range a.Progs {
			sameProgram(t, d, full, whole, &a.Progs[i], &b.Progs[i], a, b, tags)
		}
	}
	if most != mostFull {
		t.Errorf("a device has %d bytes at most, in a compilation %d", most, mostFull)
	}
	if whole.Stats.FlopsPerStep != full.Stats.FlopsPerStep || whole.Stats.ModelFlops != full.Stats.ModelFlops || whole.Stats.TokensPerStep != full.Stats.TokensPerStep {
		t.Errorf("stats %+v, in a compilation %+v", whole.Stats, full.Stats)
	}
	if !reflect.DeepEqual(whole.Mesh, full.Mesh) || !reflect.DeepEqual(whole.By, full.By) || !reflect.DeepEqual(whole.Refined, full.Refined) || !reflect.DeepEqual(whole.Config, full.Config) {
		t.Error("mesh or config differ")
	}
	t.Logf("%d of %d devices compiled, %d of equal memory", len(x.Plan.Devices), len(full.Devices), equal)
}

var kernelName = regexp.MustCompile(`@[a-z_]+[0-9]+`)

func sameProgram(t *testing.T, d int, full, whole *program.Plan, a, b *program.Program, da, db *program.Device, tags map[string]string) {
	t.Helper()
	if len(a.Instrs) != len(b.Instrs) || !reflect.DeepEqual(a.Ticks, b.Ticks) || !reflect.DeepEqual(a.Tasks, b.Tasks) || len(a.Runs) != len(b.Runs) {
		t.Errorf("device %d: @%s has %d instructions, in a compilation %d; ticks, tasks or runs may differ", d, a.Name, len(b.Instrs), len(a.Instrs))
		return
	}
	for i := range a.Runs {
		x, y := a.Runs[i], b.Runs[i]
		if da.Count(x.Stack) != db.Count(y.Stack) || x.From != y.From || x.To != y.To || x.Down != y.Down || x.Together != y.Together {
			t.Errorf("device %d: run %d is %+v, in a compilation %+v", d, i, y, x)
		}
	}
	kernel := func(p *program.Plan, i int) string { return kernelName.ReplaceAllString(p.Kernels[i].IR, "@") }
	for i := range a.Instrs {
		x, y := a.Instrs[i], b.Instrs[i]
		switch {
		case (x.Comm == nil) != (y.Comm == nil), x.Scope != y.Scope, x.NoWait != y.NoWait, x.Ahead != y.Ahead, x.With != y.With, (x.First == nil) != (y.First == nil):
			t.Errorf("device %d: @%s: instruction %d is %+v, in a compilation %+v", d, a.Name, i, y, x)
			return
		case x.Comm != nil:
			p, q := *x.Comm, *y.Comm
			if collective.Of(p.Kind).Message {
				from, to := d, p.Peer
				if !collective.Of(p.Kind).Sends {
					from, to = to, from
				}
				key := fmt.Sprint(a.Name, from, to, p.Tag, p.Each > 0)
				if is := fmt.Sprint(q.Tag, q.Each > 0); tags[key] == "" {
					tags[key] = is
				} else if tags[key] != is {
					t.Errorf("device %d: @%s: message %s has the tags %s and %s at its ends", d, a.Name, key, tags[key], is)
				}
				p.Tag, p.Each, q.Tag, q.Each = 0, 0, 0, 0
			}
			if !reflect.DeepEqual(p, q) {
				t.Errorf("device %d: @%s: instruction %d is %+v, in a compilation %+v", d, a.Name, i, q, p)
				return
			}
		default:
			if k, l := kernel(full, x.Kernel), kernel(whole, y.Kernel); k != l {
				t.Errorf("device %d: @%s: instruction %d is\n%s\nin a compilation\n%s", d, a.Name, i, l, k)
				return
			}
			if x.First != nil && kernel(full, x.First.Kernel) != kernel(whole, y.First.Kernel) {
				t.Errorf("device %d: @%s: instruction %d is another one in the first tick", d, a.Name, i)
			}
		}
	}
}

// TestProbeMistakes: a probe of a layout with a mistake has the diagnostics of a compilation.
func TestProbeMistakes(t *testing.T) {
	path := filepath.Join("..", "examples", "gpt", "gpt.ptl")
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o := compiler.Options{File: path, Source: src, Target: "ref"}
	prober, _, err := compiler.NewProber(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{
		"mesh tp = 3\nshard heads over tp",
		"mesh tp = 2\nshard headz over tp",
		"mesh tp = 2\nshard heads over dp",
		"mesh pp = 8\npipeline blocks over pp { schedule = 1f1b  microbatches = 4 }",
		"mesh pp = 2\npipeline blocks over pp { schedule = 1f1b  microbatches = 5 }",
		"mesh pp = 2\npipeline blocks over pp { schedule = zb_v  chunks = 3  microbatches = 4 }",
		"mesh pp = 2\npipeline block over pp { schedule = 2f2b  microbatches = 4 }",
		"mesh pp = 4\npipeline blocks over pp { schedule = 1f1b  microbatches = 4  stages = [1, 1, 1] }",
		"mesh pp = 4\npipeline blocks over pp { schedule = interleaved  chunks = 1  microbatches = 6 }\nprecision { compute = f7 }",
		"device memory = 1 MiB",
		"device memory = 1 MiB\nmesh pp = 4\npipeline blocks over pp { schedule = 1f1b  microbatches = 4 }",
		"mesh dp = 16777217\nshard embed over dp",
		"recompute Blok",
		"mesh dp = 2\nshard batch over dp\nzero 4 over dp",
	} {
		text := "\nlayout probed {\n" + body + "\n}\n"
		again := o
		again.Source, again.Layout = append(slices.Clone(src), text...), "probed"
		_, err := prober.Probe(lastLayout(t, path, again.Source))
		_, _, want := compiler.Compile(again)
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%s\nthe probe says\n%v\na compilation\n%v", body, err, want)
		}
		if _, err := prober.Probe(nil); err != nil {
			t.Errorf("after %q one device is %v", body, err)
		}
	}
}
