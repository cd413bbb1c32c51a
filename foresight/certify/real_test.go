package certify

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/foresight/certificate"
	"ptc/foresight/facts"
	"ptc/foresight/machine"
	"ptc/foresight/search"
	"ptc/ir/auto"
	"ptc/runtime/program"
)

// found is the certificate of a search over a model of examples, and what it must be about.
func found(t *testing.T, model, sizes, cluster string, l *auto.Layout) (*certificate.Certificate, *Given) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "examples", model, model+".ptl"))
	if err != nil {
		t.Fatal(err)
	}
	name, levels := machine.Split(cluster)
	m, err := machine.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.On(levels)
	if err != nil {
		t.Fatal(err)
	}
	o := compiler.Options{File: model + ".ptl", Source: source, Set: strings.Fields(sizes), Target: "ref", Forms: c.Device.Target}
	p, _, err := compiler.NewProber(o)
	if err != nil {
		t.Fatal(err)
	}
	l.Name, l.Minimize = "best", append(l.Minimize, "step_time")
	l.Keep = append(l.Keep, auto.Kept{Word: "precision", Text: "precision { compute = bf16 }"})
	mod, err := p.Model("layout one { precision { compute = bf16 } }")
	if err != nil {
		t.Fatal(err)
	}
	f, err := facts.Of(mod)
	if err != nil {
		t.Fatal(err)
	}
	_, cert, err := search.Find(context.Background(), p, &search.Space{Facts: f, Cluster: c, Auto: l}, l.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	cert.Ptc, cert.Source, cert.Config = "1.2", "ab12", p.Config()
	imports := []certificate.Import{{Path: "common/block.ptl", SHA256: "01"}, {Path: "norm.ptl", SHA256: "02"}}
	cert.Imports = slices.Clone(imports)
	full := func(text string) (*program.Plan, error) {
		o := o
		o.Source, o.Layout = []byte(string(source)+"\n"+text), l.Name
		plan, _, err := compiler.Compile(o)
		return plan, err
	}
	return cert, &Given{Facts: f, Cluster: c, Auto: l, Ptc: "1.2", Source: "ab12", Imports: imports, Config: p.Config(), Probe: p.Plan, Compile: full}
}

// sizes of models that are compiled in a moment: small does little, large takes most of a device.
const (
	small = "layers=2 embed=512 heads=4 head=128 ffn=2048 vocab=4096 seq=256 batch=16"
	large = "layers=4 embed=4096 heads=4 head=1024 ffn=16384 vocab=8192 seq=1024 batch=16"
)

// everyReason is a space of layouts of the large model on two nodes of four devices, in which leaves have all reasons and sources.
func everyReason() auto.Layout {
	return auto.Layout{Memory: 4800 << 20, Allow: []auto.Allowed{numbers("rows", 1, 4), values("zero", "1", "3"), values("recompute", "none"), values("sequence", "off"),
		numbers("tp", 1, 2), {Word: "tensor", Sets: [][]string{{"heads", "ffn"}, {"heads", "head"}}}, {Word: "placement", Sets: [][]string{{"pp", "dp", "ep", "cp", "tp"}}}}}
}

func numbers(word string, n ...int) auto.Allowed { return auto.Allowed{Word: word, Numbers: n} }

func values(word string, v ...string) auto.Allowed { return auto.Allowed{Word: word, Values: v} }

// copied is a certificate that is written in another form of JSON and read again.
func copied(t *testing.T, c *certificate.Certificate) *certificate.Certificate {
	t.Helper()
	text, err := json.MarshalIndent(c, " ", "\t")
	if err != nil {
		t.Fatal(err)
	}
	out, err := certificate.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTrue: what the search finds for models, machines and objectives of several kinds is accepted, as it stands and in another
// form.
func TestTrue(t *testing.T) {
	for name, x := range map[string]struct {
		model, sizes, cluster string
		auto                  auto.Layout
	}{
		"none fits": {"gpt", small, "a100_80:2x2", auto.Layout{Memory: 1 << 20}},
		"schedules": {"gpt", "layers=3 embed=512 heads=4 head=128 ffn=2048 vocab=4096 seq=256 batch=16", "h100:2x4", auto.Layout{Allow: []auto.Allowed{numbers("tp", 1), numbers("rows", 1), numbers("pp", 2), values("recompute", "none"), values("zero", "0"),
			values("schedule", "1f1b", "zb_h1"), values("offload", "none", "optimizer")}}},
		"experts": {"moe", "layers=4 embed=256 seq=128 batch=16", "h100:2x4", auto.Layout{Allow: []auto.Allowed{numbers("rows", 2), numbers("tp", 1), numbers("ep", 2), numbers("pp", 1, 2), values("recompute", "auto"),
			{Word: "placement", Sets: [][]string{{"ep", "cp", "pp", "dp", "tp"}, {"tp", "dp", "pp", "ep", "cp"}, {"dp", "tp", "pp", "ep", "cp"}}}}}},
		"cost":   {"gpt", small, "a100_80:2x4", auto.Layout{Minimize: []string{"cost"}, Allow: []auto.Allowed{{Word: "devices", Least: 2}, numbers("rows", 1), values("recompute", "none")}}},
		"memory": {"gpt", small, "a100_80:1x4", auto.Layout{Minimize: []string{"memory"}, Allow: []auto.Allowed{numbers("rows", 2), values("stages", "even"), values("sequence", "on")}}},
	} {
		t.Run(name, func(t *testing.T) {
			c, g := found(t, x.model, x.sizes, x.cluster, &x.auto)
			done := 0
			v, err := Verify(copied(t, c), g, func(n, all int) {
				if done++; n != done || n > all {
					t.Errorf("%d of %d after %d steps", n, all, done)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v, %d leaves, winner %v", *v, len(c.Leaves), c.Winner)
			if (v.Winner == nil) != (c.Winner < 0) || v.Compiled < one(c.Winner >= 0) || v.Tables != len(c.Tables) {
				t.Errorf("%+v", v)
			}
			if v.Winner != nil && *v.Winner != c.Leaves[c.Winner] {
				t.Errorf("the winner is %+v", *v.Winner)
			}
			fewerRows(t, c, g)
		})
	}
}

// fewerRows checks that no block of a certificate's parts takes less than what a block with more rows says of it.
func fewerRows(t *testing.T, c *certificate.Certificate, g *Given) {
	t.Helper()
	k := newChecker(c, g, newKnown(), nil)
	if err := k.covers(); err != nil {
		t.Fatal(err)
	}
	measure := func(b block) *certificate.Table {
		x, err := k.table(b.path(), k.text(b.part, nil))
		if err != nil {
			t.Fatal(err)
		}
		k.measured[b.path()] = &x
		return &x
	}
	for _, p := range k.parts {
		if len(p.words) < tabled {
			continue
		}
		all := k.blocksOf(p)
		if len(all) < 2 || all[0].by != certificate.Rows {
			continue
		}
		measure(all[0])
		less, own := k.tableFor(p, all[0]), measure(all[1])
		if own.Illegal == "" && (less.Forward > own.Forward || less.Backward > own.Backward) {
			t.Errorf("%s takes %d and %d ps; %s says at least %d and %d", own.At, own.Forward, own.Backward, less.At, less.Forward, less.Backward)
		}
	}
}

// TestFull: a full compilation that says something else than a probe refutes a certificate; a compiler that fails does not.
func TestFull(t *testing.T) {
	l := auto.Layout{Allow: []auto.Allowed{numbers("tp", 1), numbers("pp", 1), numbers("rows", 2), values("recompute", "none"), values("zero", "1", "3")}}
	c, g := found(t, "gpt", small, "a100_80:1x4", &l)
	known := newKnown()
	verify := func(g Given) error {
		_, err := newChecker(c, &g, known, nil).run()
		clear(known.compiled)
		return err
	}
	if err := verify(*g); err != nil {
		t.Fatal(err)
	}
	changed := func(do func(p *program.Plan)) Given {
		x := *g
		x.Compile = func(text string) (*program.Plan, error) {
			p, err := g.Compile(text)
			if err == nil {
				do(p)
			}
			return p, err
		}
		return x
	}
	broken, failing := *g, *g
	broken.Compile = func(string) (*program.Plan, error) { return nil, errors.New("there is no room") }
	failing.Probe = func(string) (*program.Plan, string, error) { return nil, "", errors.New("the disk is full") }
	for want, x := range map[string]Given{
		"compiled in full, the layout takes":                changed(func(p *program.Plan) { p.Devices[0].Arena += 64 }),
		"but a full compilation does not: there is no room": broken,
		"ps is ": changed(func(p *program.Plan) { p.Kernels = slices.Clone(p.Kernels); twice(p) }),
	} {
		var f *Fault
		if err := verify(x); !errors.As(err, &f) || f.Check != Full || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; want %s", err, want)
		}
	}
	known = newKnown()
	var f *Fault
	if err := verify(failing); err == nil || errors.As(err, &f) || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("the error is %v", err)
	}
}

// twice lets a plan do its largest kernel's work in place of that of all others.
func twice(p *program.Plan) {
	largest := slices.MaxFunc(p.Kernels, func(a, b program.Kernel) int { return len(a.IR) - len(b.IR) })
	for i := range p.Kernels {
		p.Kernels[i].IR = largest.IR
	}
}
