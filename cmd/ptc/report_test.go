package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/runtime/explain"
	"ptc/runtime/report"
)

// TestReportAndDocument: the page is written under the plan's name, and has the document
// that explain prints.
func TestReportAndDocument(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "--target", "ref", "-o", "a.bin", "-q")...)
	must(t, "report", "a.bin")
	page := read(t, "a.html")
	must(t, "report", "a.bin", "-o", "b.html")
	if page != read(t, "b.html") || !strings.Contains(page, "default-src 'none'") {
		t.Error("two pages of one plan differ, or have no policy")
	}
	if both := must(t, "report", "a.bin", "--compare", "a.bin", "-o", "-").out; !strings.Contains(both, "The two plans have the same figures.") {
		t.Error("a plan differs from itself")
	}
	var d struct {
		Version int
		Model   string
		Report  report.Report
	}
	if err := json.Unmarshal([]byte(must(t, "explain", "a.bin", "--json").out), &d); err != nil {
		t.Fatal(err)
	}
	if d.Version != explain.Version || d.Report.Version != report.Version || d.Report.Memory == nil || len(d.Report.Texts) == 0 || d.Model == "" {
		t.Errorf("the document is of versions %d and %d", d.Version, d.Report.Version)
	}
	for _, c := range []struct {
		code int
		args []string
	}{{exitUsage, []string{"report"}}, {3, []string{"report", "p/README.md", "-o", "c.html"}}, {3, []string{"report", "a.bin", "--compare", "none.bin", "-o", "c.html"}},
		{3, []string{"report", "a.bin", "-o", "no/folder.html"}}} {
		if r := ptc(t, c.args...); r.code != c.code {
			t.Errorf("%v: exit code %d\n%s", c.args, r.code, r.err)
		}
	}
	if _, err := os.Stat("c.html"); err == nil {
		t.Error("a page of nothing was written")
	}
}

// TestLogs: a run tells every sink that is given, and text or JSON besides.
func TestLogs(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "--target", "ref", "-o", "a.bin", "-q")...)
	r := must(t, "run", "a.bin", "--steps", "3", "--log", "json", "--log", "json:log.jsonl", "--log", "csv:log.csv", "--log", "tb:runs/a", "--log", "prom:127.0.0.1:0", "--serve", ":0")
	if !strings.Contains(r.err, "metrics at http://127.0.0.1:") || !strings.Contains(r.err, "this run is shown at http://127.0.0.1:") {
		t.Errorf("says %q", r.err)
	}
	if r.out != read(t, "log.jsonl") || strings.Count(r.out, `"event":"step"`) != 3 {
		t.Errorf("printed\n%s\nand the file has\n%s", r.out, read(t, "log.jsonl"))
	}
	if n := strings.Count(read(t, "log.csv"), "\n"); n < 4 {
		t.Errorf("%d lines of CSV", n)
	}
	if names, _ := filepath.Glob("runs/a/*tfevents*"); len(names) != 1 {
		t.Errorf("%d event files", len(names))
	}
	if out := must(t, "run", "a.bin", "--steps", "1", "--log", "csv:log.csv").out; !strings.Contains(out, "loss ") || strings.Contains(out, "{") {
		t.Errorf("with a file, it prints\n%s", out)
	}
	write(t, "other.csv", "a,b\n")
	for _, c := range []struct {
		code int
		say  string
		args []string
	}{
		{exitUsage, "csv takes a target, as csv:FILE", []string{"--log", "csv:"}},
		{exitUsage, "tb:DIR", []string{"--log", "wandb:x"}},
		{exitUsage, "./run.csv is told already, by csv:run.csv", []string{"--log", "csv:run.csv", "--log", "json:./run.csv"}},
		{3, "other columns", []string{"--log", "csv:other.csv"}},
		{3, "is no address", []string{"--serve", "nowhere"}},
		{3, "is no address", []string{"--log", "prom:nowhere"}},
	} {
		if r := ptc(t, append([]string{"run", "a.bin", "--steps", "1"}, c.args...)...); r.code != c.code || !strings.Contains(r.err, c.say) {
			t.Errorf("%v: exit code %d\n%s", c.args, r.code, r.err)
		}
	}
}

// TestInputsAreKept: an output does not replace the file that it is made of.
func TestInputsAreKept(t *testing.T) {
	small := project(t)
	source := read(t, "p/model.ptl")
	if r := ptc(t, with(small, "compile", "p/model.ptl", "--target", "ref", "-o", "./p/model.ptl", "-q")...); r.code != exitUsage || read(t, "p/model.ptl") != source {
		t.Errorf("code %d, %s", r.code, r.err)
	}
	must(t, with(small, "compile", "p/model.ptl", "--target", "ref", "-o", "a.bin", "-q")...)
	plan := read(t, "a.bin")
	if r := ptc(t, "report", "a.bin", "-o", "a.bin"); r.code != exitUsage || read(t, "a.bin") != plan {
		t.Errorf("code %d, %s", r.code, r.err)
	}
}
