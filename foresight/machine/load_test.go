package machine

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/internal/golden"
	"ptc/lang/syntax"
)

// TestMistakes: every mistake is an error with its line and what to do, and the file without it loads.
func TestMistakes(t *testing.T) {
	golden.Run(t, "testdata/mistakes.txtar", func(t *testing.T, c *golden.Case) {
		right := c.Input("machine.ptm")
		if _, errs := Load("small.ptm", []byte(right)); len(errs) > 0 {
			t.Fatal(errs)
		}
		var out strings.Builder
		for line := range strings.Lines(c.Input("edits")) {
			old, new, ok := strings.Cut(strings.TrimSpace(line), " =>")
			if !ok || !strings.Contains(right, old) {
				t.Fatalf("the machine has no %q", line)
			}
			src := strings.Replace(right, old, strings.TrimSpace(new), 1)
			m, errs := Load("small.ptm", []byte(src))
			if m != nil || len(errs) == 0 {
				t.Errorf("%q is no mistake", line)
			}
			for _, e := range errs {
				if !e.Pos.IsValid() || e.Want+e.Hint == "" {
					t.Errorf("%q: an error without a place or a remedy: %v", line, e)
				}
			}
			fmt.Fprintf(&out, "# %s\n%s", strings.TrimSpace(line), diag.Plain.Render(errs, func(string) (string, bool) { return src, true }))
		}
		c.Output("mistakes", out.String())
	})
}

// TestNamed: the machines that come with ptc load, and their files are as ptc fmt has them.
func TestNamed(t *testing.T) {
	want := []string{"a100_80", "b200", "gb200", "h100", "h200", "host", "tpu_v5p"}
	if got := Names(); !reflect.DeepEqual(got, want) {
		t.Errorf("the machines are %v, want %v", got, want)
	}
	hashes := map[string]string{}
	for _, name := range Names() {
		m, err := Named(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if m.Name != name {
			t.Errorf("machine %s is in %s%s", m.Name, name, Extension)
		}
		if other := hashes[m.Hash]; other != "" || len(m.Hash) != 64 {
			t.Errorf("%s has the hash %q, as %q has", name, m.Hash, other)
		}
		hashes[m.Hash] = name
		text, err := Source(name)
		if err != nil {
			t.Fatal(err)
		}
		if out, errs := syntax.Format(name, []byte(text)); len(errs) > 0 || string(out) != text {
			t.Errorf("%s%s is not as ptc fmt has it (%v)", name, Extension, errs)
		}
		if n := strings.Count(text, " from "); n < len(m.Sources) {
			t.Errorf("%s has %d numbers, and names %d sources", name, len(m.Sources), n)
		}
	}
	if _, err := Named("h1000"); err == nil || !strings.Contains(err.Error(), "did you mean `h100`?") {
		t.Errorf("an unknown machine: %v", err)
	}
}

// TestValues: numbers arrive in SI units, each where it belongs.
func TestValues(t *testing.T) {
	m, err := Named("h100")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"peak", m.Device.Peak["bf16"].Value, 989.5e12},
		{"share", m.Device.Share["bf16"].Value, 0.803},
		{"vector", m.Device.Vector["f32"].Value, 66.9e12},
		{"memory", m.Device.Memory.Value, 81559 << 20},
		{"bandwidth", m.Device.Bandwidth.Value, 3.35e12},
		{"share memory", m.Device.MemoryShare.Value, 0.92},
		{"cache", m.Device.Cache.Value, 50 << 20},
		{"launch", m.Device.Launch.Value, 1.5e-6},
		{"start", m.Device.Start["simple"].Value, 8.4e-6},
		{"host link", m.Host.Link.Value, 63e9},
		{"host memory", m.Host.Memory.Value, 2e12},
		{"node", m.Levels[0].Link.Value, 450e9},
		{"node share", m.Levels[0].Share["simple"].Value, 0.824},
		{"fabric latency", m.Levels[1].Latency["ll"].Value, 2.7e-6},
		{"oversubscription", m.Levels[2].Oversubscription.Value, 7},
		{"power", m.Power.Value, 1275},
		{"price", m.Price.Value * 3600, 3},
		{"mtbf", m.MTBF.Value, 50700 * 3600},
	} {
		if math.Abs(c.got-c.want) > 1e-12*math.Abs(c.want) {
			t.Errorf("%s is %g, want %g", c.what, c.got, c.want)
		}
	}
	if m.Device.Processors != 132 || m.Host.Devices != 8 || m.Levels[0].Ranks != 8 || m.Levels[1].Ranks != 0 || !m.Levels[0].Reduces || m.Levels[1].Reduces {
		t.Errorf("%+v", m)
	}
	if got := m.Protocols(); !reflect.DeepEqual(got, []string{"ll", "ll128", "simple"}) {
		t.Errorf("protocols %v", got)
	}
}

// TestHash: the layout of a file does not count, its numbers do.
func TestHash(t *testing.T) {
	text, err := Source("host")
	if err != nil {
		t.Fatal(err)
	}
	hash := func(src string) string {
		m, errs := Load("x.ptm", []byte(src))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return m.Hash
	}
	one := hash(text)
	if hash(strings.ReplaceAll(text, " = ", "  =   ")) != one {
		t.Error("spaces change the hash")
	}
	if hash(strings.Replace(text, "320 GFLOP/s", "321 GFLOP/s", 1)) == one {
		t.Error("a number does not change the hash")
	}
}

// TestTable: the rows are complete, and no two have the same words.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range table {
		key := e.Section + " " + e.Key + " " + e.Of
		if seen[key] || !strings.HasSuffix(e.Help, ".") || e.at == nil {
			t.Errorf("row %q", key)
		}
		seen[key] = true
		if _, ok := quantities[e.Unit]; !ok || e.Kind() == Number && e.lo >= e.hi {
			t.Errorf("row %q: unit %q, bounds %g to %g", key, e.Unit, e.lo, e.hi)
		}
		for _, u := range e.Units() {
			src := fmt.Sprintf("machine m { x = 1 %s from \"y\" }", u)
			f, errs := syntax.Parse("x", []byte(src))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			_, of, per := syntax.Decls[*syntax.Machine](f)[0].Items[0].(*syntax.Fact).Value.(*syntax.Measure).SI()
			if q := quantities[e.Unit]; q.of != of || q.per != per {
				t.Errorf("row %q offers %s, which is %s per %s", key, u, of, per)
			}
		}
	}
}

// TestLarge: a file that is no description is refused before it costs anything.
func TestLarge(t *testing.T) {
	for _, src := range [][]byte{bytes.Repeat([]byte("machine m { }\n"), 100<<20/14), make([]byte, 100<<20)} {
		if _, errs := Load("big.ptm", src); len(errs) != 1 || errs[0].Code != "E0110" && errs[0].Code != "E0107" {
			t.Errorf("%v", errs)
		}
	}
}

func TestPicoseconds(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		want    PS
	}{{0, 0}, {2.5e-6, 2_500_000}, {1e-12, 1}, {0.4e-12, 0}, {-1, 0}, {1, 1e12}, {math.Inf(1), 8640000e12}} {
		if got := Picoseconds(c.seconds); got != c.want {
			t.Errorf("%g s are %d ps, want %d", c.seconds, got, c.want)
		}
	}
	if PS(2_500_000).Seconds() != 2.5e-6 {
		t.Error(PS(2_500_000).Seconds())
	}
}
