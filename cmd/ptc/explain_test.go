package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ptc/runtime/explain"
)

// TestSections: the summary is short, every section is there, and the command line
// refuses what makes no sense.
func TestSections(t *testing.T) {
	plan := compiled(t, gpt(t), "three", "ref")
	summary := must(t, "explain", plan).out
	for _, want := range []string{"dp = 2, pp = 2, tp = 2", "blocks.0.attn gpt.ptl:", "reduce_scatter", "a bubble of ", "device 1  .. F0", "--section remarks has all"} {
		if !strings.Contains(summary, want) {
			t.Errorf("no %q in\n%s", want, summary)
		}
	}
	if n := strings.Count(summary, "\n"); n > 120 {
		t.Errorf("the summary has %d lines", n)
	}
	all := must(t, "explain", plan, "--section", "all").out
	for _, s := range explain.Sections()[1:] {
		out := must(t, "explain", plan, "--section", s).out
		none := "this plan has no " + s + "\n"
		if s == "turns" && out == none {
			continue // they are written out
		}
		if s == "transfers" {
			if out != none {
				t.Errorf("transfers: %q", out)
			}
		} else if !strings.Contains(all, out) || out == "" {
			t.Errorf("section %s is not in all:\n%s", s, out)
		}
	}
	for _, args := range [][]string{{"--section", "kernel"}, {"--section", "all", "--json"}} {
		if r := ptc(t, append([]string{"explain", plan}, args...)...); r.code != exitUsage || r.out != "" {
			t.Errorf("%v: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
}

// TestTraceSaysWhere: each span of a trace has its module and source, kernels their
// work, and an arrow leads to each receive and to each end of what was started.
func TestTraceSaysWhere(t *testing.T) {
	plan := compiled(t, gpt(t), "three", "ref")
	must(t, "run", plan, "--steps", "1", "--trace", "trace.json")
	type event struct {
		Ph, Name, Cat  string
		ID, Pid, Tid   int
		Ts, Dur        float64
		Module, Source string
		Args           struct {
			Module, Source string
			Flop, Bytes    int64
		}
	}
	var trace struct{ TraceEvents []event }
	if err := json.Unmarshal([]byte(read(t, "trace.json")), &trace); err != nil {
		t.Fatal(err)
	}
	at := func(x event) event { // the span that the end of an arrow is bound to
		i := slices.IndexFunc(trace.TraceEvents, func(e event) bool {
			return e.Ph == "X" && e.Pid == x.Pid && e.Tid == x.Tid && e.Ts <= x.Ts && x.Ts <= e.Ts+e.Dur+0.0005 && (x.Ph == "s" || e.Cat == "comm")
		})
		if i < 0 {
			t.Fatalf("no span around %+v", x)
		}
		return trace.TraceEvents[i]
	}
	starts, count := map[int]event{}, map[string]int{}
	modules := 0
	for _, e := range trace.TraceEvents {
		switch {
		case e.Ph == "s":
			starts[e.ID] = e
		case e.Ph == "f":
			if s, ok := starts[e.ID]; !ok || s.Name != e.Name || s.Ts > e.Ts || (s.Name == "send") != (s.Pid != e.Pid) {
				t.Errorf("an arrow from %+v to %+v", starts[e.ID], e)
			}
			kind, _, _ := strings.Cut(at(e).Name, " ")
			count["to "+kind]++
		case e.Ph == "X" && e.Cat != "step":
			kind, _, _ := strings.Cut(e.Name, " ")
			count[kind]++
			if strings.HasPrefix(e.Args.Module, "blocks.") {
				modules++
			}
			if kind != "done" && e.Args.Source == "" || e.Cat == "gemm" && (e.Args.Flop == 0 || e.Args.Bytes == 0) || kind == "send" && e.Args.Bytes == 0 {
				t.Errorf("span %+v", e)
			}
		}
	}
	if count["recv"] == 0 || count["to recv"]+count["to done"] != count["recv"]+count["done"] || count["done"] == 0 || count["to done"] < count["done"] || modules < 100 {
		t.Errorf("%d spans in blocks; spans and arrows: %v", modules, count)
	}
}
