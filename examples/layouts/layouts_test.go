// Package layouts_test holds the recipes of this folder to what they say of
// themselves, and to the result of one device.
package layouts_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptc/compiler"
	"ptc/internal/collective"
	"ptc/ir/pipeline"
	"ptc/runtime/checkpoint/safetensors/safetensorstest"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

var update = flag.Bool("update", false, "write the numbers of the recipes and of README.md")

// recipes in the order of README.md; each file has one layout, of its name.
var recipes = []string{"ddp", "fsdp", "megatron", "three_d", "four_d", "moe"}

// compile makes the plan of a recipe.
func compile(t *testing.T, name, layout, target string, set ...string) *program.Plan {
	t.Helper()
	src, err := os.ReadFile(name + ".ptl")
	if err != nil {
		t.Fatal(err)
	}
	p, r, err := compiler.Compile(compiler.Options{File: name + ".ptl", Source: src, Read: os.ReadFile, Layout: layout, Target: target, Set: set})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(r.Warnings) > 0 {
		t.Errorf("%s: %v", name, r.Warnings)
	}
	return p
}

// traffic is the communications of one kind over the same mesh axes.
type traffic struct {
	kind, over string
	count      int
	bytes      int64   // of their tensors, as ptc explain counts them
	sent       float64 // bytes that leave the device
}

// step is the communications of one device in a step.
func step(p *program.Plan, d *program.Device) (out []traffic, sent float64) {
	size := map[string]int{}
	for _, a := range p.Mesh {
		size[a.Name] = a.Size
	}
	at := map[string]int{}
	for _, prog := range d.Progs {
		for _, in := range prog.Instrs {
			c := in.Comm
			if prog.Name != "step" || c == nil || c.Kind == collective.ShardSlice || c.Kind == collective.Done {
				continue
			}
			k := traffic{kind: c.Kind, over: strings.Join(c.Over, ",")}
			i, ok := at[k.kind+" "+k.over]
			if !ok {
				i = len(out)
				at[k.kind+" "+k.over] = i
				out = append(out, k)
			}
			n := 1
			for _, m := range c.Over {
				n *= size[m]
			}
			out[i].count++
			out[i].bytes += c.Bytes
			out[i].sent += leaves(c, n)
			sent += leaves(c, n)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].bytes > out[j].bytes })
	return out, sent
}

// leaves is how many bytes a device sends for a communication among n, by the
// algorithms that send the fewest (Thakur, Rabenseifner, Gropp, "Optimization of
// collective communication operations in MPICH", 2005, section 4).
func leaves(c *program.Comm, n int) float64 {
	part := float64(c.Bytes) * float64(n-1) / float64(n)
	switch c.Kind {
	case "all_reduce":
		return 2 * part
	case "all_gather", "reduce_scatter":
		return part
	case "recv":
		return 0
	}
	return float64(c.Bytes)
}

// busiest is the communications of the device that sends most.
func busiest(t *testing.T, p *program.Plan) (out []traffic, sent float64) {
	t.Helper()
	p, err := p.Expanded()
	if err != nil {
		t.Fatal(err)
	}
	sent = -1
	for i := range p.Devices {
		if o, s := step(p, &p.Devices[i]); s > sent {
			out, sent = o, s
		}
	}
	return out, sent
}

func devices(p *program.Plan) int {
	n := 1
	for _, a := range p.Mesh {
		n *= a.Size
	}
	return n
}

// arena is the memory of the device with the largest, in bytes.
func arena(p *program.Plan) (most int64) {
	for _, d := range p.Devices {
		most = max(most, d.Arena)
	}
	return most
}

// option is the value of an option of a recipe's pipeline.
func option(t *testing.T, src, key, def string) string {
	if m := regexp.MustCompile(`(?m)^  pipeline .*\b` + key + ` = (\w+)`).FindStringSubmatch(src); m != nil {
		return m[1]
	}
	return def
}

// bubble is the share of a step in which a device of the recipe's pipeline
// waits, where every stage takes the same time, backward twice that of forward.
func bubble(t *testing.T, p *program.Plan, src string) string {
	if !strings.Contains(src, "\n  pipeline ") {
		return "none"
	}
	row, err := pipeline.Lookup(option(t, src, "schedule", "1f1b"))
	if err != nil {
		t.Fatal(err)
	}
	number := func(key string, def int) int {
		n, err := strconv.Atoi(option(t, src, key, strconv.Itoa(def)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	s := pipeline.Shape{Microbatches: number("microbatches", 1), Chunks: number("chunks", row.Least)}
	for _, a := range p.Mesh {
		if a.Name == "pp" {
			s.Devices = a.Size
		}
	}
	x, err := pipeline.New(row.Name, s, pipeline.Costs{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := pipeline.Simulate(x, pipeline.Uniform(s, pipeline.Unit{Forward: 1, Input: 1, Weight: 1}), pipeline.Unbounded)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%.0f %%", 100*r.Bubble)
}

// kib is bytes as README.md has them.
func kib(n float64) string { return fmt.Sprintf("%.0f KiB", n/1024) }

// The numbers in the comment of each recipe are what its plan does.
func TestRecipesSayWhatTheyDo(t *testing.T) {
	table := regexp.MustCompile(`(?m)^//   kind +over +count +bytes\n(//   \S.*\n)*`)
	for _, name := range recipes {
		t.Run(name, func(t *testing.T) {
			p := compile(t, name, name, "ref")
			comms, _ := busiest(t, p)
			var b strings.Builder
			fmt.Fprintf(&b, "//   %-15s %-7s %5s %10s\n", "kind", "over", "count", "bytes")
			for _, c := range comms {
				fmt.Fprintf(&b, "//   %-15s %-7s %5d %10d\n", c.kind, c.over, c.count, c.bytes)
			}
			check(t, name+".ptl", table, b.String())
		})
	}
}

// The table of README.md is what the plans have.
func TestREADME(t *testing.T) {
	table := regexp.MustCompile(`(?m)^\| recipe \|.*\n(\|.*\n)*`)
	var b strings.Builder
	b.WriteString("| recipe | devices | memory per device | communications | sent per device | bubble |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, name := range append([]string{"single"}, recipes...) {
		file, shown := name, "[`"+name+"`]("+name+".ptl)"
		if name == "single" {
			file, shown = recipes[0], "one device"
		}
		src, err := os.ReadFile(file + ".ptl")
		if err != nil {
			t.Fatal(err)
		}
		p := compile(t, file, name, "ref")
		comms, sent := busiest(t, p)
		count, idle := 0, "none"
		for _, c := range comms {
			count += c.count
		}
		if name != "single" {
			idle = bubble(t, p, string(src))
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %d | %s | %s |\n", shown, devices(p), kib(float64(arena(p))), count, kib(max(0, sent)), idle)
	}
	check(t, "README.md", table, b.String())
}

// check holds the part of a file that matches to text, or writes it.
func check(t *testing.T, file string, part *regexp.Regexp, text string) {
	t.Helper()
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := part.FindIndex(old)
	if at == nil {
		t.Fatalf("%s has no table", file)
	}
	if string(old[at[0]:at[1]]) == text {
		return
	}
	if !*update {
		t.Fatalf("%s says\n%s\nthe plan has\n%s\n(go test -update writes it)", file, old[at[0]:at[1]], text)
	}
	if err := os.WriteFile(file, []byte(string(old[:at[0]])+text+string(old[at[1]:])), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ptc explain --json lists what the recipes say: by kind and mesh axes, of the
// recipes in which all devices run one program.
func TestExplainAgrees(t *testing.T) {
	ptc := filepath.Join(t.TempDir(), "ptc")
	if out, err := exec.Command("go", "build", "-o", ptc, "ptc/cmd/ptc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range recipes {
		p := compile(t, name, name, "ref")
		if len(p.Devices) > 1 {
			continue
		}
		comms, _ := busiest(t, p)
		want := map[string]traffic{}
		for _, c := range comms {
			c.sent = 0
			want[c.kind+" "+c.over] = c
		}
		plan := ptc + "-" + name + ".bin"
		if out, err := exec.Command(ptc, "compile", name+".ptl", "--imports-below", "..", "-q", "--target", "ref", "-o", plan).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := exec.Command(ptc, "explain", "--json", plan).Output()
		if err != nil {
			t.Fatal(err)
		}
		var said struct {
			Collectives []struct {
				Kind, Axis string
				Count      int
				Bytes      int64
			}
		}
		if err := json.Unmarshal(out, &said); err != nil {
			t.Fatal(err)
		}
		got := map[string]traffic{}
		for _, c := range said.Collectives {
			g := got[c.Kind+" "+c.Axis]
			g.kind, g.over = c.Kind, c.Axis
			g.count += c.Count
			g.bytes += c.Bytes * int64(c.Count)
			got[c.Kind+" "+c.Axis] = g
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(got) == 0 {
			t.Errorf("%s: ptc explain says %v, the recipe %v", name, got, want)
		}
	}
}

// small are sizes at which the reference trains in seconds, and which every
// recipe divides.
var small = []string{"seq=8", "embed=16", "head=4", "ffn=16", "vocab=256", "corpus=*.ptl"}

// Every recipe trains three steps to the losses and parameters of one device,
// in float64.
func TestRecipesAreSingle(t *testing.T) {
	one := map[string]*outcome{} // by model
	for _, name := range recipes {
		t.Run(name, func(t *testing.T) {
			model := "gpt"
			if name == "moe" {
				model = "moe"
			}
			if one[model] == nil {
				one[model] = run(t, compile(t, name, "single", "ref:f64", small...))
			}
			got := run(t, compile(t, name, name, "ref:f64", small...))
			same(t, one[model], got)
		})
	}
}

// outcome is what a run computed.
type outcome struct {
	losses []float64
	params map[string][]float64
}

// run trains three steps.
func run(t *testing.T, p *program.Plan) *outcome {
	t.Helper()
	save := filepath.Join(t.TempDir(), "params")
	log := &losses{}
	seed := uint64(3)
	if _, err := train.Run(context.Background(), p, train.Options{Steps: 3, Seed: &seed, Save: save, Log: log, Valid: 1, CommTimeout: 5 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	return &outcome{log.all, safetensorstest.Floats(t, save)}
}

// same compares, each tensor by its Euclidean norm.
func same(t *testing.T, want, got *outcome) {
	t.Helper()
	const tolerance = 1e-9
	if len(want.losses) != 4 || len(got.losses) != 4 || len(want.params) == 0 || len(got.params) != len(want.params) {
		t.Fatalf("%d losses and %d tensors, of one device %d and %d", len(got.losses), len(got.params), len(want.losses), len(want.params))
	}
	for i, x := range want.losses {
		if !(math.Abs(got.losses[i]-x) <= tolerance*math.Abs(x)) {
			t.Errorf("loss %d is %v, on one device %v", i, got.losses[i], x)
		}
	}
	for name, x := range want.params {
		y := got.params[name]
		if len(x) != len(y) || len(x) == 0 {
			t.Errorf("%s has %d elements, on one device %d", name, len(y), len(x))
			continue
		}
		norm, diff := 0.0, 0.0
		for i := range x {
			norm += x[i] * x[i]
			diff += (x[i] - y[i]) * (x[i] - y[i])
		}
		if !(math.Sqrt(diff) <= tolerance*math.Sqrt(norm)) {
			t.Errorf("%s differs by %.1e of its norm", name, math.Sqrt(diff/norm))
		}
	}
}

// losses is a sink that keeps the loss of each step, then that of validation.
type losses struct{ all []float64 }

func (l *losses) Tell(e metrics.Event) {
	switch e := e.(type) {
	case *metrics.Step:
		l.all = append(l.all, e.Loss)
	case *metrics.End:
		l.all = append(l.all, e.ValLoss)
	}
}

func (l *losses) Close() error { return nil }
