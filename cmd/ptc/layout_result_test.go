package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/runtime/report"
)

const autoDevices = `
layout best auto {
  mesh on a100_80 : 1 x 4
  keep precision { compute = bf16 }
  allow rows = 2, tp = 1, pp <= 2, recompute in (none), devices in (2, 4)
  minimize step_time
}

layout mine {
  mesh dp = 2
  shard batch over dp
  accumulate = 4
  zero 1 over dp
  precision { compute = bf16 }
}
`

// TestReportSearch: the page of a plan compares it with the best layout of a search, with the simulated step of both, and refuses
// a result that is of something else.
func TestReportSearch(t *testing.T) {
	model, err := os.ReadFile(filepath.Join("..", "..", "examples", "gpt", "gpt.ptl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write(t, "gpt.ptl", string(model)+autoDevices)
	sized := func(args ...string) []string { return append(args, "--set", "layers=2") }
	printed := must(t, sized("layout", "auto", "gpt.ptl", "--layout", "best", "-o", "found.ptl", "--json", "--result", "result.json")...).out
	if printed != read(t, "result.json") {
		t.Error("the file has another result than was printed")
	}
	var r autoResult
	if err := json.Unmarshal([]byte(printed), &r); err != nil {
		t.Fatal(err)
	}
	if r.Devices != 4 || r.USD <= 0 || len(r.Front) == 0 || r.Front[0].PS != r.StepPS || r.Path == "" {
		t.Errorf("the result is %+v", r)
	}
	must(t, sized("compile", "gpt.ptl", "--layout", "mine", "--target", "ref", "-q", "-o", "mine.bin")...)
	must(t, sized("compile", "found.ptl", "--layout", "best", "--target", "ref", "-q", "-o", "best.bin")...)
	of := func(plan string) (*report.Report, string) {
		t.Helper()
		page := must(t, "report", plan, "--search", "result.json", "-o", "-").out
		_, text, _ := strings.Cut(page, `<script type="application/json" id="document">`)
		text, _, _ = strings.Cut(text, "</script>")
		var d struct{ Report report.Report }
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		return &d.Report, page
	}
	mine, page := of("mine.bin")
	if s := mine.Search; s == nil || mine.Forecast == nil || s.Plan.StepS != mine.Forecast.StepS || s.Plan.Devices != 2 || s.Plan.Bytes != mine.Verdict.Arena || s.Best.StepS != r.StepS || len(s.Front) != len(r.Front) {
		t.Errorf("the search is %+v", s)
	}
	if !strings.Contains(page, "Step and devices") || !strings.Contains(page, "longer.") {
		t.Error("the page has no picture of devices, or does not say that the plan takes longer")
	}
	best, page := of("best.bin")
	if s := best.Search; s.Plan.Bytes != s.Best.Bytes || !strings.Contains(page, "This plan takes as long. ") {
		t.Errorf("the best layout as a plan: %+v", s)
	}

	changed := func(name, from, to string) {
		t.Helper()
		if !strings.Contains(printed, from) {
			t.Fatalf("the result has no %s", from)
		}
		write(t, name, strings.Replace(printed, from, to, 1))
	}
	changed("machine.json", r.Hash, strings.Repeat("0", 64))
	changed("file.json", `"a100_80:4"`, `"mine:4"`)
	changed("version.json", `"version": 1`, `"version": 9`)
	changed("entry.json", `"seq"`, `"sequence"`)
	write(t, "cut.json", printed[:len(printed)/2])
	write(t, "empty.json", "{}")
	must(t, "compile", "gpt.ptl", "--layout", "mine", "--target", "ref", "-q", "-o", "other.bin")
	for _, c := range []struct{ plan, file, want string }{
		{"mine.bin", "machine.json", "the forecast is on a100_80:4"},
		{"mine.bin", "file.json", "give that file with --machine"},
		{"mine.bin", "version.json", "has version 9"},
		{"mine.bin", "entry.json", "the plan has no sequence"},
		{"mine.bin", "cut.json", "cut.json is no result of a search"},
		{"mine.bin", "empty.json", "empty.json is no result of a search"},
		{"mine.bin", "none.json", "cannot read none.json"},
		{"other.bin", "result.json", "another config: layers is 2; in the plan it is 4"},
	} {
		if r := ptc(t, "report", c.plan, "--search", c.file, "-o", "x.html"); r.code != exitInput || !strings.Contains(r.err, c.want) {
			t.Errorf("%s of %s: exit code %d: %s", c.file, c.plan, r.code, r.err)
		}
	}
	if r := ptc(t, "report", "mine.bin", "--search", "result.json", "--machine", "a100_80:1x8", "-o", "x.html"); r.code != exitInput || !strings.Contains(r.err, "on a100_80:8") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	if _, err := os.Stat("x.html"); err == nil {
		t.Error("a page was written in spite of an error")
	}
}
