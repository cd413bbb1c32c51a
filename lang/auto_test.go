package lang_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir/auto"
	"ptc/ir/layout"
	"ptc/lang"
)

// gptWith is examples/gpt with more layouts.
func gptWith(t *testing.T, layouts string) *lang.Program {
	t.Helper()
	src, err := os.ReadFile("../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	p, errs := lang.Load("gpt.ptl", append(src, "\n"+layouts...), nil)
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	return p
}

// An auto layout with each of its items.
func TestAuto(t *testing.T) {
	p := gptWith(t, `layout best auto {
  mesh on "cluster.ptm" : batch x 4x2
  keep shard   batch over (dp, ep)
  keep precision { compute=bf16 }; keep accumulate=2
  keep pipeline blocks over pp { schedule = 1f1b
        microbatches = 2 }
  keep recompute auto
  keep zero 3 over dp { prefetch = 2 }
  allow tp >= 2, zero in (1, 3), schedule in (1f1b, zb_v)
  allow tp <= layers, dp in (4, 2), pp = 2, chunks in (1), devices = 8 * batch
  allow tensor in ((heads, ffn), (heads, ffn, vocab)), placement in ((dp, pp, tp), (pp, dp, tp)), sequence in (on, off)
  limit memory 70 GiB
  minimize memory, step_time
}`)
	l, errs := p.Auto("", []lang.Override{{Key: "batch", Value: "32"}})
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	if l.Name != "best" || l.Machine != "cluster.ptm" || !l.File || !reflect.DeepEqual(l.Levels, []int{32, 4, 2}) || l.Memory != 70<<30 || !reflect.DeepEqual(l.Minimize, []string{"memory", "step_time"}) {
		t.Errorf("read as %+v", l)
	}
	allow := l.Allow
	for i := range allow {
		if !allow[i].Pos.IsValid() {
			t.Errorf("`%s` has no place", allow[i].Word)
		}
		allow[i].Pos = diag.Pos{}
	}
	if want := []auto.Allowed{
		{Word: "tp", Least: 2, Most: 4}, {Word: "zero", Values: []string{"1", "3"}}, {Word: "schedule", Values: []string{"1f1b", "zb_v"}},
		{Word: "dp", Numbers: []int{4, 2}}, {Word: "pp", Least: 2, Most: 2}, {Word: "chunks", Numbers: []int{1}}, {Word: "devices", Least: 256, Most: 256},
		{Word: "tensor", Sets: [][]string{{"heads", "ffn"}, {"heads", "ffn", "vocab"}}}, {Word: "placement", Sets: [][]string{{"dp", "pp", "tp"}, {"pp", "dp", "tp"}}},
		{Word: "sequence", Values: []string{"on", "off"}},
	}; !reflect.DeepEqual(allow, want) {
		t.Errorf("allowed\n%+v\nwant\n%+v", allow, want)
	}
	type kept struct {
		word, text string
		axes, mesh []string
	}
	var got []kept
	for _, k := range l.Keep {
		got = append(got, kept{k.Word, k.Text, k.Axes, k.Mesh})
		if (k.Rule == nil) != (k.Word == "precision") || (k.Precision == nil) == (k.Word == "precision") || !k.Pos.IsValid() {
			t.Errorf("`%s` is %+v", k.Text, k)
		}
	}
	if want := []kept{
		{"shard", "shard batch over (dp, ep)", []string{"batch"}, []string{"dp", "ep"}}, {"precision", "precision { compute = bf16 }", nil, nil},
		{"accumulate", "accumulate = 2", nil, nil}, {"pipeline", "pipeline blocks over pp {\n  schedule     = 1f1b\n  microbatches = 2\n}", nil, []string{"pp"}},
		{"recompute", "recompute auto", nil, nil}, {"zero", "zero 3 over dp { prefetch = 2 }", nil, []string{"dp"}},
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("kept\n%q\nwant\n%q", got, want)
	}
	if z, ok := l.Kept("zero")[0].Rule.(*layout.Zero); !ok || z.Level != 3 || z.Prefetch != 2 || l.Kept("precision")[0].Precision.Compute.String() != "bf16" {
		t.Errorf("kept %+v", l.Keep)
	}
}

// The texts of kept directives, behind a mesh, are a layout; and its rules are those kept.
func TestKeptTextIsALayout(t *testing.T) {
	p := gptWith(t, `layout best auto {
  mesh on h100 : 2 x 2
  keep shard batch over dp
  keep shard ffn of blocks.*.mlp over tp
  keep recompute Block { keep = [attn] // one
  }
  keep two_level = 64 KiB
  keep offload optimizer to host { piece = 4 MiB }
}`)
	l, errs := p.Auto("best", nil)
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	if l.File || l.Machine != "h100" || l.Memory != 0 || !reflect.DeepEqual(l.Minimize, []string{"step_time"}) {
		t.Errorf("read as %+v", l)
	}
	var lines []string
	var rules []string
	for _, k := range l.Keep {
		lines = append(lines, k.Text)
		k.Rule.Place(diag.Pos{})
		rules = append(rules, layout.Encode(k.Rule).String())
	}
	q := gptWith(t, "layout found {\nmesh dp = 2, tp = 2\n"+strings.Join(lines, "\n")+"\n}")
	r, errs := q.Lower(lang.Options{Layout: "found"})
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, q.Source))
	}
	var found []string
	for _, x := range layout.Of(r.Module).Rules {
		x.Place(diag.Pos{})
		found = append(found, layout.Encode(x).String())
	}
	if !reflect.DeepEqual(found, rules) {
		t.Errorf("kept\n%s\nfound\n%s", strings.Join(rules, "\n"), strings.Join(found, "\n"))
	}
}

// Auto layouts are none of those that are compiled, and the others are as without them.
func TestAutoAndOrdinary(t *testing.T) {
	p := gptWith(t, "layout best auto { mesh on h100 : 2 }")
	r, errs := p.Lower(lang.Options{})
	if len(errs) > 0 || r.Auto != nil {
		t.Fatal(errs)
	}
	for _, name := range r.Layouts {
		if name == "best" {
			t.Error("an auto layout is among those to compile")
		}
	}
	if _, errs := p.Lower(lang.Options{Layout: "best", Sample: true}); len(errs) != 1 || errs[0].Code != "E0430" {
		t.Errorf("sampling by an auto layout: %v", errs)
	}
	if _, errs := p.Auto(r.Layouts[0], nil); len(errs) != 1 || errs[0].Code != "E0430" {
		t.Errorf("choosing for an ordinary layout: %v", errs)
	}
}
