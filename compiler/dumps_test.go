package compiler

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"ptc/ir"
	"ptc/passes"
	"ptc/passes/pass"
)

// dumps is the text of the module before and after each pass, by its place in
// the table of passes.
func dumps(t *testing.T, name string) []string {
	t.Helper()
	src, err := os.ReadFile("../examples/" + name + "/" + name + ".ptl")
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(passes.Table)+1)
	hook := func(i int, _ string, text func() string, _ time.Duration) error { out[i] = text(); return nil }
	if _, _, err := Compile(Options{File: name + ".ptl", Source: src, Set: small[name], Target: "ref", VerifyEach: true, Hooks: []Hook{hook}}); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every dump of every example reads back to itself, and each pass makes of the
// dump before it the dump after it.
func TestDumps(t *testing.T) {
	for name := range small {
		t.Run(name, func(t *testing.T) {
			all := dumps(t, name)
			for i, text := range all {
				if text == "" {
					t.Fatalf("no dump after pass %d", i)
				}
				again, _, err := Opt("dump.ptir", []byte(text), nil, "")
				if err != nil {
					t.Fatalf("after pass %d: %v", i, err)
				}
				if again != text {
					t.Errorf("the dump after pass %d reads back as another", i)
				}
				if i == len(passes.Table) {
					break
				}
				p := passes.Table[i].Name
				next, _, err := Opt("dump.ptir", []byte(text), []string{p}, "ref")
				if err != nil {
					t.Fatalf("%s: %v", p, err)
				}
				if renumbered(next) != renumbered(all[i+1]) {
					t.Errorf("%s makes of the dump something else than in the compilation", p)
				}
			}
		})
	}
}

var number = regexp.MustCompile(`%\d+`)

// renumbered counts values from 0 in each function, in the order of the text:
// numbers that a pass used up and dropped are not in a dump.
func renumbered(text string) string {
	funcs := strings.SplitAfter(text, "\nend\n")
	for i, f := range funcs {
		seen := map[string]string{}
		funcs[i] = number.ReplaceAllStringFunc(f, func(v string) string {
			if seen[v] == "" {
				seen[v] = fmt.Sprintf("%%%d", len(seen))
			}
			return seen[v]
		})
	}
	return strings.Join(funcs, "")
}

// sabotage replaces a pass by itself and what harm then does, for one test.
func sabotage(t *testing.T, name string, harm func(m *ir.Module)) {
	t.Helper()
	p := &passes.Table[passes.Index(name)-1]
	run := p.Run
	p.Run = func(c *pass.Context, m *ir.Module) error {
		err := run(c, m)
		harm(m)
		return err
	}
	t.Cleanup(func() { p.Run = run })
}

// scale doubles the first constant that is a decay or a share.
func scale(m *ir.Module) {
	for _, f := range m.Funcs {
		for _, o := range f.Ops {
			if v := o.Attrs.Float("value", 0); o.Name == "const" && v > 0.1 && v < 1 {
				o.Attrs = o.Attrs.With("value", ir.Float(2*v))
				return
			}
		}
	}
}

// Check names the pass that changes the result, whichever it is.
func TestCheckNamesTheBrokenPass(t *testing.T) {
	src, err := os.ReadFile("../examples/mlp/mlp.ptl")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{File: "mlp.ptl", Source: src, Set: []string{"batch=3", "hidden=5"}, Target: "ref"}
	good, _, err := Check(o)
	if err != nil {
		t.Fatal(err)
	}
	if bad := good.First(); bad != nil || len(good.Rows) < len(passes.Table) {
		t.Fatalf("%+v", good)
	}
	for _, name := range []string{"simplify", "autodiff", "cleanup", "precision", "partition", "fuse", "memory"} {
		t.Run(name, func(t *testing.T) {
			sabotage(t, name, scale)
			// What a pass must keep is proved before anything is executed.
			if p := &passes.Table[passes.Index(name)-1]; p.Keeps {
				var bug *Bug
				if _, _, err := Check(o); !errors.As(err, &bug) || !strings.Contains(err.Error(), "pass "+name+" left an invalid module") {
					t.Errorf("the proof says %v", err)
				}
				p.Keeps = false
				t.Cleanup(func() { p.Keeps = true })
			}
			bad, _, err := Check(o)
			if err != nil {
				t.Fatal(err)
			}
			if row := bad.First(); row == nil || row.Pass != name {
				t.Errorf("first row with a difference: %+v", row)
			}
		})
	}
}

// A pass that leaves an invalid module is a bug, not a mistake of the user's.
func TestInvalidModulesAreBugs(t *testing.T) {
	src, err := os.ReadFile("../examples/mlp/mlp.ptl")
	if err != nil {
		t.Fatal(err)
	}
	drop := func(m *ir.Module) { m.Funcs[0].Ops = m.Funcs[0].Ops[1:] }
	for name, each := range map[string]bool{"cleanup": true, "memory": true, "order": false} {
		t.Run(name, func(t *testing.T) {
			sabotage(t, name, drop)
			_, _, err := Compile(Options{File: "mlp.ptl", Source: src, Target: "ref", VerifyEach: each})
			bug, ok := err.(*Bug)
			if !ok {
				t.Fatalf("%v", err)
			}
			if each && !strings.Contains(bug.Error(), name) {
				t.Errorf("%v does not name %s", bug, name)
			}
		})
	}
}
