package docs_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ptc/backend/cpu/choose"
	"ptc/backend/cpu/emit"
	"ptc/backend/cpu/llvm/target"
	"ptc/backend/cpu/lower"
	"ptc/backend/kernel"
	"ptc/backend/nest"
	"ptc/compiler"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/lang"
	"ptc/passes"
	"ptc/passes/pass"
	"ptc/runtime/explain"
)

// TestDumps: every line of IR, of the loop/tile form, of remarks, of timelines, of `ptc explain`
// and of `ptc check` that a page shows is one that the compiler prints for the
// example and the layouts of architecture.md, or a line of the golden of the pass
// that the page tells of. `…` stands for anything, and what follows three spaces
// in IR, or `//` in the loop/tile form, is a note.
func TestDumps(t *testing.T) {
	all := pages(t)
	e := example(t, all["architecture.md"])
	printed := e.printed(t)
	shown, tour := 0, 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == "language.md" {
			continue // its blocks are syntax
		}
		for _, l := range linesShown(all[name], name != "../README.md") {
			shown++
			if name == "architecture.md" {
				tour++
			}
			if !printed.has(l) {
				t.Errorf("%s: nothing prints\n  %s", name, l)
			}
		}
	}
	if tour < 40 || shown < 180 {
		t.Errorf("%d lines are shown, %d of them in architecture.md", shown, tour)
	}
}

// TestNumbersOfPasses: where a page names a pass by its number, it has that number.
func TestNumbersOfPasses(t *testing.T) {
	for name, text := range pages(t) {
		for _, m := range regexp.MustCompile(`\b(\d\d)-([a-z]+(?:-[a-z]+)*)|(?:### |, )(\d\d) ([a-z-]+)`).FindAllStringSubmatch(text, -1) {
			number, pass := m[1]+m[3], m[2]+m[4]
			if i := passes.Index(pass); i > 0 && number != fmt.Sprintf("%02d", i) {
				t.Errorf("%s: %s is pass %d, not %s", name, pass, i, number)
			}
		}
	}
}

var (
	shownIR     = regexp.MustCompile(`^\s*((%|arg |func @|meta |result |_ = ).*?)\s*($|[┐│┘]|\s{3})`)
	shownRemark = regexp.MustCompile(`^([a-z-]+: (@|grad |auto|device |blocks).*)`)
	shownCheck  = regexp.MustCompile(`^(\d\d-[a-z-]+ .*)`)
	shownSlots  = regexp.MustCompile(`^(device \d+ .*)`)
)

// linesShown are the lines of what ptc prints in the blocks of no language.
func linesShown(text string, reports bool) []string {
	var out []string
	for i, block := range strings.Split(text, "\n```") {
		if i%2 == 0 || !strings.HasPrefix(block, "\n") {
			continue // between blocks, or a block of a language
		}
		// A block of one kind is told by what it begins with.
		form := strings.HasPrefix(block, "\nkernel ") || strings.HasPrefix(block, "\ntile ")
		report := reports && (strings.HasPrefix(block, "\n  model ") || strings.HasPrefix(block, "\nCommunication in a step"))
		for _, l := range strings.Split(block, "\n") {
			switch l = strings.TrimRight(l, " "); {
			case strings.Trim(l, " …") == "":
			case form:
				l, _, _ = strings.Cut(l, "//")
				out = append(out, strings.TrimSpace(l))
			case report:
				out = append(out, strings.TrimSpace(l))
			default:
				if shownCheck.MatchString(l) {
					l = strings.Join(strings.Fields(l), " ")
				}
				for _, re := range []*regexp.Regexp{shownIR, shownRemark, shownCheck, shownSlots} {
					if m := re.FindStringSubmatch(l); m != nil {
						out = append(out, m[1])
						break
					}
				}
			}
		}
	}
	return out
}

// printed are lines without the space around them.
type printed map[string]bool

func (p printed) add(text string) {
	for _, l := range strings.Split(text, "\n") {
		p[strings.TrimSpace(l)] = true
	}
}

func (p printed) has(l string) bool {
	if !strings.Contains(l, "…") {
		return p[l]
	}
	var quoted []string
	for _, part := range strings.Split(l, "…") {
		quoted = append(quoted, regexp.QuoteMeta(strings.TrimSpace(part)))
	}
	re := regexp.MustCompile("^" + strings.Join(quoted, `\s*.*\s*`) + "$")
	for x := range p {
		if strings.HasPrefix(x, strings.TrimSpace(l[:strings.Index(l, "…")])) && re.MatchString(x) {
			return true
		}
	}
	return false
}

// tour is the example of a page: the source with the layouts that the page adds to
// it, and the sizes of the command.
type tour struct {
	source []byte
	set    []lang.Override
}

func example(t *testing.T, page string) tour {
	source, err := os.ReadFile(filepath.Join(root, "examples/gpt/gpt.ptl"))
	if err != nil {
		t.Fatal(err)
	}
	_, added, ok := strings.Cut(page, "```ptl\nlayout ")
	if !ok {
		t.Fatal("architecture.md adds no layouts")
	}
	added, _, _ = strings.Cut(added, "```")
	e := tour{source: append(source, "\nlayout "+added...)}
	for _, m := range regexp.MustCompile(`--set (\w+)=(\d+)`).FindAllStringSubmatch(page, 6) {
		e.set = append(e.set, lang.Override{Key: m[1], Value: m[2]})
	}
	return e
}

// printed is what ptc prints of the example, and the golden of two levels.
func (e tour) printed(t *testing.T) printed {
	p := printed{}
	golden, err := os.ReadFile(filepath.Join(root, "passes/collectives/testdata/nodes.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	p.add(string(golden))
	timelines, err := filepath.Glob(filepath.Join(root, "*/*/testdata/1f1b.txtar"))
	if err != nil || len(timelines) != 1 {
		t.Fatalf("goldens of 1F1B: %v (%v)", timelines, err)
	}
	if golden, err = os.ReadFile(timelines[0]); err != nil {
		t.Fatal(err)
	}
	p.add(string(golden))
	for _, name := range []string{"single", "data", "tensor", "pipe", "ring", "spill", "narrow"} {
		m := e.dumps(t, name, p)
		if name == "single" {
			p.add(tiles(t, m))
		}
	}
	for _, name := range []string{"single", "tensor"} {
		plan, _, err := compiler.Compile(e.options(name))
		if err != nil {
			t.Fatal(err)
		}
		p.add(explain.Text(plan, "summary"))
		p.add(explain.Text(plan, "communication"))
	}
	report, _, err := compiler.Check(e.options("single"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Rows { // as ptc check aligns them, but for the spaces
		p.add(fmt.Sprintf("%02d-%s %s %d %.3g %.3g %s", r.Index, r.Pass, r.Kind, r.Compared, r.Diff, r.Tol, r.Worst))
	}
	return p
}

func (e tour) options(layout string) compiler.Options {
	o := compiler.Options{File: "gpt.ptl", Source: e.source, Layout: layout, Target: "ref"}
	for _, s := range e.set {
		o.Set = append(o.Set, s.Key+"="+s.Value)
	}
	return o
}

// dumps adds the module after each pass, and the remarks; it returns the last.
func (e tour) dumps(t *testing.T, layout string, to printed) *ir.Module {
	p, errs := lang.Load("gpt.ptl", e.source, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	r, errs := p.Lower(lang.Options{Set: e.set, Layout: layout})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	to.add(ir.Print(r.Module))
	dump := func(_ int, _ string, m *ir.Module, _ time.Duration) error { to.add(ir.Print(m)); return nil }
	c := pass.Context{Target: pass.Target{Attention: true}} // as the reference has it
	if err := passes.Run(&c, r.Module, &passes.Options{Hooks: []passes.Hook{dump}}); err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Remarks {
		to.add(r.Pass + ": " + r.Text)
	}
	return r.Module
}

// tiles are the tile program and the loop/tile form of the kernels that kernels.md shows.
func tiles(t *testing.T, m *ir.Module) string {
	to, err := target.Resolve("cpu:x86-64-v3")
	if err != nil {
		t.Fatal(err)
	}
	machine := emit.Machine(to)
	row, err := fusion.Analyze(m.Func("row_0"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := nest.Program("row_0", row, choose.Schedule(row, int64(machine.Lanes(kernel.F32))))
	if err != nil {
		t.Fatal(err)
	}
	f := m.Func("gemm_1")
	k, err := lower.Kernel(f.Name, f, machine, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.String() + k.String()
}
