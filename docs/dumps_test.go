package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ptc/ir"
	"ptc/lang"
	"ptc/passes"
	"ptc/passes/pass"
)

// TestDumpsOfArchitecture: every line of the IR that architecture.md shows is a
// line of a dump of the model and the layouts that it names, or of a golden of
// the pass that it tells of; `…` stands for anything, and what follows three
// spaces is a note.
func TestDumpsOfArchitecture(t *testing.T) {
	text := pages(t)["architecture.md"]
	shown := dumpLines(text)
	if len(shown) < 80 {
		t.Fatalf("architecture.md shows %d lines of dumps", len(shown))
	}
	lines := strings.Split(dumpsOf(t, text), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	for _, l := range shown {
		var quoted []string
		for _, part := range strings.Split(l, "…") {
			quoted = append(quoted, regexp.QuoteMeta(strings.TrimSpace(part)))
		}
		re := regexp.MustCompile("^" + strings.Join(quoted, `\s*.*\s*`) + "$")
		if !slices.ContainsFunc(lines, re.MatchString) {
			t.Errorf("no dump has\n  %s", l)
		}
	}
	for _, m := range regexp.MustCompile(`\b(\d\d)[ -]([a-z]+(?:-[a-z]+)*)`).FindAllStringSubmatch(text+pages(t)["../README.md"], -1) {
		if i := passes.Index(m[2]); i > 0 && m[1] != string([]byte{'0' + byte(i/10), '0' + byte(i%10)}) {
			t.Errorf("%s is pass %d, not %s", m[2], i, m[1])
		}
	}
}

// dumpLines are the lines of IR in the blocks of no language.
func dumpLines(text string) []string {
	var out []string
	line := regexp.MustCompile(`^\s*((%|arg |func @|meta |result |_ = ).*?)\s*($|[┐│┘]|\s{3})`)
	tile := regexp.MustCompile(`: f32x\d|= load `) // the loop/tile form
	fence, in := "", false
	for _, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, "```") {
			in, fence = !in, l
			continue
		}
		if m := line.FindStringSubmatch(l); in && fence == "```" && m != nil && !tile.MatchString(l) {
			out = append(out, m[1])
		}
	}
	return out
}

// dumpsOf runs the example with the sizes of the command and with the layouts
// that the page adds to it.
func dumpsOf(t *testing.T, page string) string {
	source, err := os.ReadFile(filepath.Join(root, "examples/gpt/gpt.ptl"))
	if err != nil {
		t.Fatal(err)
	}
	_, added, ok := strings.Cut(page, "```ptl\nlayout ")
	if !ok {
		t.Fatal("architecture.md adds no layouts")
	}
	added, _, _ = strings.Cut(added, "```")
	source = append(source, "\nlayout "+added...)
	var set []lang.Override
	for _, m := range regexp.MustCompile(`--set (\w+)=(\d+)`).FindAllStringSubmatch(page, 6) {
		set = append(set, lang.Override{Key: m[1], Value: m[2]})
	}
	golden, err := os.ReadFile(filepath.Join(root, "passes/collectives/testdata/nodes.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	all := string(golden)
	for _, name := range []string{"single", "data", "tensor", "pipe", "ring", "spill"} {
		p, errs := lang.Load("gpt.ptl", source, nil)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		r, errs := p.Lower(lang.Options{Set: set, Layout: name})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		dump := func(_ int, _ string, m *ir.Module, _ time.Duration) error { all += ir.Print(m); return nil }
		if err := passes.Run(&pass.Context{}, r.Module, &passes.Options{Hooks: []passes.Hook{dump}}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
