package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/foresight/search"
)

var all = flag.Bool("all", false, "read all rows, not only some")

// TestInSpace: each published layout is in the space of its row, with tensor parallelism over the axes that it names.
func TestInSpace(t *testing.T) {
	n := 0
	for _, r := range rows() {
		if !r.Always && !*all && !strings.Contains(r.Name, "Megatron-Bridge") {
			continue
		}
		n++
		g, err := r.open()
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		path := r.path(g.facts)
		if d := search.Lacks(&search.Space{Facts: g.facts, Cluster: g.cluster, Auto: g.auto}, path); d != "" {
			t.Errorf("%s: the space lacks its %s: %s", r.Name, d, path)
		}
	}
	if n < 8 {
		t.Errorf("%d rows were read", n)
	}
}

// TestPlaced: a layout with replicas and a pipeline is tried in both orders of the mesh, another one as it is.
func TestPlaced(t *testing.T) {
	for _, r := range rows() {
		texts := r.placed()
		both := r.DP > 1 && r.PP > 1
		if both != (len(texts) == 2) || strings.Contains(texts[0], "device memory") {
			t.Errorf("%s: %q", r.Name, texts)
		}
		if both && (!strings.Contains(texts[0], "mesh dp = ") || !strings.Contains(texts[1], "mesh pp = ") || len(texts[0]) != len(texts[1])) {
			t.Errorf("%s: %q", r.Name, texts)
		}
	}
}

// TestWrite: results of this run and of earlier ones are in the order of rows, in the file and in the page.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	file, page := filepath.Join(dir, "r.json"), filepath.Join(dir, "p.md")
	if err := os.WriteFile(page, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	some := rows()[:3]
	at := "8/dp4 pp2 cp1 ep1 tp1//off/2/full/1/none/1f1b 1/cut/dp pp"
	done := []result{{Name: some[2].Name, Machine: "h100", Published: at, StepS: 2, Fits: true, Winner: at, WinnerS: 1, Ratio: 0.5, CPU: 7}}
	before := map[string]result{some[0].Name: {Name: some[0].Name, Machine: "h100", Published: at, StepS: 3, Winner: at, WinnerS: 2, Gap: 0.01}, "another": {}}
	if err := write(done, before, file, page); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	short := "dp 4, pp 2, rows 2, recompute full, zero 1, 1f1b 1"
	want := "before\n" + begin + "\n| model and devices | machine | published layout | s | layout found | s | ratio | CPU-s |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n" +
		"| " + some[0].Name + " | `h100` | " + short + " | 3, does not fit | " + short + " | 2 (gap 1%) | – | 0 |\n" +
		"| " + some[2].Name + " | `h100` | " + short + " | 2 | " + short + " | 1 | 0.500 | 7 |\n\n" + end + "after\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	again, err := read(file)
	if err != nil || len(again) != 2 || again[some[2].Name].CPU != 7 {
		t.Errorf("read again: %v (%v)", again, err)
	}
	if err := os.WriteFile(page, []byte("no marks\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := write(done, before, file, page); err == nil || !strings.Contains(err.Error(), "it lacks the lines") {
		t.Errorf("the error is %v", err)
	}
	if none, err := read(filepath.Join(dir, "none.json")); err != nil || len(none) != 0 {
		t.Errorf("%v (%v)", none, err)
	}
}
