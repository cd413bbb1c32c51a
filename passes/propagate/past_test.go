package propagate

import (
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/passes/pass"
	"ptc/passes/propagate/factor"
)

// A propagation that knows what an earlier one chose, by fewer policies or with other states between
// the instances of stacks, makes the same of a function as one that does not.
func TestPastChangesNothing(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	reused := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(data), "-- before.ptir --\n")
		text, _, _ = strings.Cut(text, "\n-- ")
		m, bad := ir.Parse(file, []byte(text+"\n"))
		if len(bad) > 0 {
			t.Fatal(bad)
		}
		m.Level = ir.Sharded
		l := rulesOf(&pass.Context{}, m)
		var always []maker
		for _, p := range policies {
			if p.always != nil {
				always = append(always, p.always)
			}
		}
		for _, f := range m.Funcs {
			for seed := range int64(20) {
				first := l.once(f, always, nil, nil)
				by := append(slices.Clone(always), deferAnywhere(first, rand.New(rand.NewSource(seed))))
				anew, known := l.once(f, by, nil, nil), l.once(f, by, nil, first)
				same(t, file, m, anew, known)
				same(t, file, m, l.once(f, by, anew.flow.Left, nil), l.once(f, by, anew.flow.Left, known))
				reused += known.flow.Known()
			}
		}
	}
	if reused == 0 {
		t.Error("no choice is known")
	}
}

// deferAnywhere passes partial sums through operations by chance.
func deferAnywhere(t *trial, r *rand.Rand) maker {
	through := map[factor.Choice]bool{}
	for _, o := range t.ops {
		for _, m := range t.flow.Mesh {
			if len(o.Results) > 0 && r.Intn(4) == 0 {
				through[factor.Choice{Value: o.Results[0].ID, Mesh: m.Name}] = true
			}
		}
	}
	about := values(through)
	return func(*trial) factor.Policy { return &deferred{through: through, about: about} }
}

func same(t *testing.T, file string, m *ir.Module, a, b *trial) {
	t.Helper()
	text := func(f *ir.Func) string {
		n := m.Clone()
		n.Funcs = []*ir.Func{f}
		return ir.Print(n)
	}
	if x, y := text(a.f), text(b.f); x != y {
		t.Fatalf("%s: anew\n%s\nand with what is known\n%s", file, x, y)
	}
	if a.sent != b.sent || len(a.flow.Left) != len(b.flow.Left) {
		t.Fatalf("%s: %d bytes, and with what is known %d", file, a.sent, b.sent)
	}
}
