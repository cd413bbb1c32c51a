package search

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/foresight/certificate"
	"ptc/foresight/cost"
	"ptc/foresight/facts"
	"ptc/foresight/machine"
	"ptc/foresight/search"
	"ptc/foresight/sim"
	"ptc/ir/auto"
)

var slow = flag.Bool("slow", false, "try all models and clusters")

// trial is a model, a cluster and what is allowed.
type trial struct {
	model, machine, levels string
	set                    string
	memory                 int64
	allow                  []auto.Allowed
	minimize               string
}

const (
	gptSizes = "layers=4 embed=512 heads=8 head=64 ffn=2048 vocab=4096 seq=256 batch=16"
	moeSizes = "layers=2 embed=256 seq=128 batch=16"
)

func values(word string, v ...string) auto.Allowed { return auto.Allowed{Word: word, Values: v} }

// trials are small models on small clusters; the first few are tried each time.
func trials() (out []trial) {
	out = append(out,
		trial{"gpt", "a100_80", "2x2", gptSizes, 240 << 20, []auto.Allowed{{Word: "rows", Numbers: []int{2}}}, "step_time"},
	)
	if !*slow {
		return out
	}
	out = append(out, trial{"gpt", "a100_80", "1x4", gptSizes, 0, nil, "step_time"},
		trial{"gpt", "a100_80", "2x2", gptSizes, 260 << 20, []auto.Allowed{{Word: "rows", Most: 4}, values("schedule", "1f1b", "zb_h1")}, "step_time"})
	for _, model := range []string{"gpt", "llama", "moe"} {
		for _, levels := range []string{"1x4", "2x2", "1x8", "4x2", "3x2"} {
			for _, mib := range []int64{0, 300} {
				sizes := gptSizes
				if model != "gpt" {
					sizes = moeSizes
				}
				out = append(out, trial{model, "h100", levels, sizes, mib << 20, []auto.Allowed{{Word: "rows", Most: 4}, values("zero", "0", "1", "3")}, "step_time"})
			}
		}
	}
	return out
}

// TestRealModels: the search finds the best of all layouts of a space, each compiled in full and simulated.
func TestRealModels(t *testing.T) {
	for _, x := range trials() {
		t.Run(fmt.Sprintf("%s on %s:%s with %d MiB", x.model, x.machine, x.levels, x.memory>>20), func(t *testing.T) { x.try(t) })
	}
}

func (x *trial) try(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "examples", x.model, x.model+".ptl"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := machine.Named(x.machine)
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.On(x.levels)
	if err != nil {
		t.Fatal(err)
	}
	o := compiler.Options{File: x.model + ".ptl", Source: source, Set: strings.Fields(x.set), Target: "ref", Forms: c.Device.Target}
	p, _, err := compiler.NewProber(o)
	if err != nil {
		t.Fatal(err)
	}
	l := &auto.Layout{Name: "best", Memory: x.memory, Allow: x.allow, Minimize: []string{x.minimize}, Keep: []auto.Kept{{Word: "precision", Text: "precision { compute = bf16 }"}}}
	mod, err := p.Model("layout one { precision { compute = bf16 } }")
	if err != nil {
		t.Fatal(err)
	}
	f, err := facts.Of(mod)
	if err != nil {
		t.Fatal(err)
	}
	space := &search.Space{Facts: f, Cluster: c, Auto: l}
	found, cert, err := search.Find(context.Background(), p, space, "best", nil)
	if err != nil {
		t.Fatal(err)
	}
	if cert.Slack != 1000 {
		t.Errorf("bounds were above what layouts take: slack %d", cert.Slack)
	}
	best := brute{o: o, c: c, p: p, space: space}
	best.all(t)
	if found.Best == nil && best.path == "" {
		return
	}
	if found.Best == nil || found.Best.Path() != best.path || int64(found.Step) != best.step || found.Bytes != best.bytes {
		t.Errorf("found %d ps with %d bytes:\n%s\nof %d layouts %s is best: %d ps with %d bytes", found.Step, found.Bytes, found.Layout, best.layouts, best.path, best.step, best.bytes)
	}
	n := search.Counts(cert)
	t.Logf("%d layouts, %d probes, leaves %v", best.layouts, found.Probes, n)
	if n[certificate.Exact] == best.layouts {
		t.Log("every layout was evaluated: bounds left out none")
	}
}

// brute compiles every layout of a space in full.
type brute struct {
	o       compiler.Options
	c       *machine.Cluster
	p       search.Prober
	space   *search.Space
	layouts int
	path    string
	step    int64
	bytes   int64
}

func (b *brute) all(t *testing.T) {
	base := string(b.o.Source)
	for path, text := range search.All(b.p, b.space, "best") {
		b.layouts++
		o := b.o
		o.Source, o.Layout = []byte(base+"\n"+text), "best"
		p, _, err := compiler.Compile(o)
		if err != nil {
			var bug *compiler.Bug
			if errors.As(err, &bug) {
				t.Fatalf("%s: %v", path, err)
			}
			continue
		}
		bytes := int64(0)
		for i := range p.Devices {
			bytes = max(bytes, p.Devices[i].Arena)
		}
		if bytes > search.Room(b.c, b.space.Auto) {
			continue
		}
		model := cost.New(b.c, cost.Software{})
		work, err := sim.WorkOf(p, model)
		if err != nil {
			t.Fatal(err)
		}
		job, err := sim.New(p, work, model, sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := sim.Run(job, sim.How{})
		if err != nil {
			t.Fatal(err)
		}
		if b.path == "" || int64(r.Step) < b.step {
			b.path, b.step, b.bytes = path, int64(r.Step), bytes
		}
	}
}
