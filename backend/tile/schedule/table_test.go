package schedule

import (
	"strings"
	"testing"
)

const some = `ptc schedules 1
target cpu:x86-64-v3
00000000000000000000000000000001 rows=96 cols=768 over=256 dot=fma(6x16x1) # gemm_3 blocks.0.mlp
0000000000000000000000000000000a
`

// TestTable reads a text and writes it again.
func TestTable(t *testing.T) {
	table, err := ParseTable(some)
	if err != nil {
		t.Fatal(err)
	}
	if got := table.String(); got != some {
		t.Errorf("found\n%s", got)
	}
	if s, ok := table.Of("00000000000000000000000000000001"); !ok || s.Rows != 96 || s.Dot != (Dot{FMA, 6, 16, 1}) {
		t.Errorf("found %v, %t", s, ok)
	}
	if _, ok := table.Of("00000000000000000000000000000002"); ok {
		t.Error("found a kernel that is not there")
	}
	if _, ok := (*Table)(nil).Of(""); ok || (*Table)(nil).Keys() != nil {
		t.Error("found a kernel in no table")
	}
}

func TestRefusedTables(t *testing.T) {
	for text, want := range map[string]string{
		"":                                               "line 1: found \"\"; expected",
		"ptc schedules 2\n":                              "line 1",
		"ptc schedules 1\n":                              "found no target",
		"ptc schedules 1\ntarget a b\n":                  "line 2: found \"target a b\"; expected one target",
		"ptc schedules 1\ntarget a\ntarget a":            "line 3",
		"ptc schedules 1\ntarget a\nxy rows=1":           "line 3: found \"xy\"; expected the 32",
		some + "0000000000000000000000000000000a":        "line 5: found kernel 0000000000000000000000000000000a twice",
		some + "0000000000000000000000000000000b rows=x": "line 5: schedule: rows is",
		strings.Repeat("#", MaxBytes+1):                  "expected at most 16777216",
	} {
		if _, err := ParseTable(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: found %v; expected %q", text, err, want)
		}
	}
}

// FuzzTable reads any text without a panic, and what it takes it writes so that it reads
// the same.
func FuzzTable(f *testing.F) {
	f.Add(some)
	f.Add("ptc schedules 1\ntarget ref\n# nothing\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ParseTable(text)
		if err != nil {
			return
		}
		again, err := ParseTable(table.String())
		if err != nil || again.String() != table.String() {
			t.Errorf("%q is read as %q: %v", text, table, err)
		}
	})
}
