package report

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"ptc/compiler"
	"ptc/runtime/explain"
	"ptc/runtime/lives"
	"ptc/runtime/program"
	"ptc/runtime/timeline"
)

// layouts are what the tests lay the example out with: each kind of picture has a plan
// that has something to show in it.
const layouts = `
layout pipe { mesh dp = 2, pp = 2, tp = 2  shard batch over dp  shard heads, ffn, vocab over tp
  pipeline blocks over pp { schedule = 1f1b  microbatches = 4 }  zero 1 over dp  device memory = 1 GiB }
layout chunks { mesh pp = 2  pipeline blocks over pp { schedule = interleaved  chunks = 2  microbatches = 4 } }
layout split { mesh pp = 2  pipeline blocks over pp { schedule = zb_h1  microbatches = 4 } }
layout vee { mesh pp = 2  pipeline blocks over pp { schedule = zb_v  microbatches = 4 } }
layout spill { offload optimizer to host { piece = 16 KiB }  offload activations of Block to disk }
layout again { recompute Block }
`

var plans = map[string]*program.Plan{}

// planOf is the plan of the example with a layout; with the same settings it is made once.
func planOf(t *testing.T, layout string, set ...string) *program.Plan {
	t.Helper()
	key := fmt.Sprint(layout, set)
	if plans[key] == nil {
		text, err := os.ReadFile("../../examples/gpt/gpt.ptl")
		if err != nil {
			t.Fatal(err)
		}
		set = append([]string{"layers=4", "embed=16", "heads=2", "head=8", "ffn=32", "vocab=16", "seq=8", "batch=8"}, set...)
		plans[key], _, err = compiler.Compile(compiler.Options{File: "gpt.ptl", Source: append(text, layouts...), Layout: layout, Target: "ref", Set: set})
		if err != nil {
			t.Fatal(err)
		}
	}
	return plans[key]
}

// piped is the example under a layout named pipe.
func piped(t *testing.T, layout, batch string) *program.Plan {
	t.Helper()
	text, err := os.ReadFile("../../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	p, r, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Source: append(text, "\n"+layout+"\n"...), Layout: "pipe", Target: "ref",
		Set: []string{"layers=4", "embed=16", "heads=2", "head=8", "ffn=32", "vocab=16", "seq=8", "batch=" + batch}})
	if err != nil {
		t.Fatal(err)
	}
	if warns := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "devices are idle for") }); warns != (explain.IdleWarning(p) != "") {
		t.Errorf("the compiler warns of %q", r.Warnings)
	}
	return p
}

var every = []string{"single", "data", "pipe", "chunks", "split", "vee", "spill", "again"}

// rectangle is a value of a group.
type rectangle struct {
	from, until int
	at, bytes   int64
}

func rectangles(m *Map) (out []rectangle) {
	for i := range m.Groups {
		g := &m.Groups[i]
		g.each(func(from, until int, at int64) { out = append(out, rectangle{from, until, at, g.Bytes}) })
	}
	return out
}

// TestValuesOfAStep: the rectangles are in the arena and reach its end, no two overlap,
// and every read of an instruction finds its bytes in them.
func TestValuesOfAStep(t *testing.T) {
	for _, layout := range every {
		t.Run(layout, func(t *testing.T) {
			p := planOf(t, layout)
			m, why := mapOf(p)
			if m == nil {
				t.Fatal(why)
			}
			all := rectangles(m)
			if len(all) != m.Values || m.Small != 0 {
				t.Fatalf("%d rectangles of %d values", len(all), m.Values)
			}
			if m.Edge != m.Arena && m.Edge+program.Align <= m.Arena || m.Arena != p.Devices[m.Class].Arena {
				t.Errorf("the furthest value ends at %d of %d", m.Edge, m.Arena)
			}
			disjoint(t, all)
			if len(m.Groups) >= len(all) {
				t.Errorf("%d groups of %d values: none is of several instances", len(m.Groups), len(all))
			}
			one := *p
			one.Devices = p.Devices[m.Class : m.Class+1]
			whole, err := one.Expanded()
			if err != nil {
				t.Fatal(err)
			}
			covered(t, whole, all)
			if m.Peak.Bytes > m.Arena || m.Peak.Bytes != slices.Max(m.Live) {
				t.Errorf("a peak of %d bytes, of %d, and at most %d", m.Peak.Bytes, m.Arena, slices.Max(m.Live))
			}
			sum := int64(0)
			for _, r := range all {
				if r.from <= m.Peak.Instruction && m.Peak.Instruction < r.until {
					sum += r.bytes
				}
			}
			if sum != m.Peak.Bytes {
				t.Errorf("at the peak %d bytes are live, and it says %d", sum, m.Peak.Bytes)
			}
		})
	}
}

// disjoint holds that no byte has two values at one instruction.
func disjoint(t *testing.T, all []rectangle) {
	t.Helper()
	byBegin := slices.Clone(all)
	slices.SortFunc(byBegin, func(a, b rectangle) int { return cmp.Compare(a.from, b.from) })
	var open []rectangle
	for _, r := range byBegin {
		open = slices.DeleteFunc(open, func(x rectangle) bool { return x.until <= r.from })
		for _, x := range open {
			if x.at < r.at+r.bytes && r.at < x.at+x.bytes {
				t.Fatalf("%+v and %+v overlap", x, r)
			}
		}
		open = append(open, r)
	}
}

// covered holds that what instructions read and write is inside of values. What is loaded
// in pieces, or read before it is written, is all there in the places that are read.
func covered(t *testing.T, p *program.Plan, all []rectangle) {
	t.Helper()
	d, prog := &p.Devices[0], p.Devices[0].Program("step")
	for i := range prog.Instrs {
		in := &prog.Instrs[i]
		reads, writes := p.Touches(in)
		for _, b := range append(slices.Clone(reads), writes...) {
			b := &d.Buffers[b]
			if b.Memory != "" || b.Bytes == 0 {
				continue
			}
			held := int64(0)
			for _, r := range all {
				if r.from <= i && i < r.until {
					held += max(0, min(r.at+r.bytes, b.Offset+b.Bytes)-max(r.at, b.Offset))
				}
			}
			if held != b.Bytes {
				t.Errorf("instruction %d (%s %s) uses %d bytes at %d, of which values hold %d", i, in.Scope, in.Pos, b.Bytes, b.Offset, held)
				return
			}
		}
	}
}

// TestIdleShareIsTheBubble: the simulation of the plan's ticks finds what the pass that
// made the schedule says. The first stage, whose input has no gradient, does its backward
// pass in the slot for gradients of weights: where that is not next to the slot for
// gradients of inputs, as in zb_v, the plan waits for longer than the schedule.
func TestIdleShareIsTheBubble(t *testing.T) {
	said := regexp.MustCompile(`^@step: a bubble of ([0-9.]+%)`)
	for _, layout := range []string{"pipe", "chunks", "split", "vee"} {
		p := planOf(t, layout)
		x := timeline.Of(p)
		if x == nil {
			t.Fatalf("%s: no timeline", layout)
		}
		found := false
		for _, r := range p.Remarks {
			if m := said.FindStringSubmatch(r.Text); m != nil {
				found = true
				want := m[1]
				if layout == "vee" {
					want = "7.7%"
				}
				if got := fmt.Sprintf("%.1f%%", 100*x.Idle); got != want {
					t.Errorf("%s: idle for %s, and the bubble is %s", layout, got, m[1])
				}
			}
		}
		if !found {
			t.Errorf("%s: no remark says what the bubble is", layout)
		}
		for _, r := range x.Rows {
			for i, s := range r.Slots {
				if i > 0 && s[2] < r.Slots[i-1][3] {
					t.Errorf("%s: %s does two things at once", layout, r.Device)
				}
			}
		}
	}
	if timeline.Of(planOf(t, "single")) != nil {
		t.Error("a timeline without a pipeline")
	}
}

// TestDocument: its parts say what the plan has.
func TestDocument(t *testing.T) {
	p := planOf(t, "pipe")
	d := Of(p)
	r := &d.Report
	want := []Axis{{Name: "dp", Size: 2}, {Name: "pp", Size: 2}, {Name: "tp", Size: 2}}
	if diff := gocmp.Diff(want, r.Mesh); diff != "" {
		t.Errorf("the mesh: %s", diff)
	}
	if v := r.Verdict; v.Device != 1<<30 || !v.Fits || v.Arena != max(p.Devices[0].Arena, p.Devices[1].Arena) || v.Sends == 0 || v.Idle != r.Timeline.Idle {
		t.Errorf("the verdict %+v", v)
	}
	n := 0
	for _, s := range r.Shardings {
		if s.Path == "wte" {
			n++
			if len(s.Axes) != 2 || s.Axes[0].Name != "vocab" || s.Axes[0].Global != 16 || s.Axes[0].Size != 8 || !slices.Equal(s.Axes[0].Over, []string{"tp"}) {
				t.Errorf("wte: %+v", s)
			}
		}
	}
	if n != 1 {
		t.Errorf("wte is there %d times", n)
	}
	p = planOf(t, "single")
	less := *p
	less.Memory = p.Devices[0].Arena - 1
	if v := Of(&less).Report.Verdict; v.Fits {
		t.Error("an arena that does not fit fits")
	}
}

// TestGroupsGoOnEvenly: groups are exactly the values, and few where they are even.
func TestGroupsGoOnEvenly(t *testing.T) {
	var values []lives.Value
	for k := range 10 {
		values = append(values, lives.Value{From: 5 * k, Until: 100 - 3*k, Lo: int64(64 * k), Bytes: 64, Of: lives.Origin{Module: fmt.Sprintf("blocks.%d.mlp", k)}})
	}
	values = append(values, lives.Value{From: 50, Until: 51, Lo: 7, Bytes: 64, Of: lives.Origin{Module: "blocks.10.mlp"}})
	groups, sites := grouped(values)
	if len(groups) != 2 || groups[0].Count != 10 || groups[1].Count != 1 || len(sites) != 1 || sites[0].Module != "blocks.*.mlp" {
		t.Errorf("%+v of %+v", groups, sites)
	}
	var got, want []rectangle
	for i := range groups {
		groups[i].each(func(from, until int, at int64) { got = append(got, rectangle{from, until, at, 64}) })
	}
	for _, v := range values {
		want = append(want, rectangle{v.From, v.Until, v.Lo, v.Bytes})
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSameBytes: the same plan gives the same document and the same page.
func TestSameBytes(t *testing.T) {
	p := planOf(t, "pipe")
	again, err := program.Decode(encoded(t, p))
	if err != nil {
		t.Fatal(err)
	}
	var pages, documents [2][]byte
	for i, x := range []*program.Plan{p, again} {
		if documents[i], err = Of(x).JSON(); err != nil {
			t.Fatal(err)
		}
		if pages[i], err = Page(x, Extra{}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(documents[0], documents[1]) || !bytes.Equal(pages[0], pages[1]) {
		t.Error("two documents of one plan differ")
	}
}

func encoded(t *testing.T, p *program.Plan) []byte {
	t.Helper()
	b, err := program.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
