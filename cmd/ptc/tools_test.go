package main

import (
	"encoding/json"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
)

func TestNew(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("empty", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b", "empty"} {
		must(t, "new", dir)
		must(t, "fmt", "--check", dir+"/model.ptl")
		must(t, "compile", dir+"/model.ptl", "-o", "x.bin", "-q", "--target", "ref", "--verify-each")
		if r := ptc(t, "new", dir); r.code != exitInput {
			t.Errorf("a second time: exit code %d", r.code)
		}
	}
}

func TestFmt(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "new", "p")
	want := read(t, "p/model.ptl")
	ugly := strings.ReplaceAll(strings.ReplaceAll(want, "    ", "\t\t"), " = ", "=")
	write(t, "ugly.ptl", ugly)
	if err := os.Chmod("ugly.ptl", 0o600); err != nil {
		t.Fatal(err)
	}

	r := ptc(t, "fmt", "--check", "ugly.ptl", "p/model.ptl")
	if r.code != exitInput || r.out != "ugly.ptl\n" || read(t, "ugly.ptl") != ugly {
		t.Errorf("fmt --check: exit code %d, output %q", r.code, r.out)
	}
	r = must(t, "fmt", "--diff", "ugly.ptl")
	if got := patch(t, ugly, r.out); got == ugly || read(t, "ugly.ptl") != ugly {
		t.Errorf("fmt --diff changes nothing, or the file:\n%s", r.out)
	} else {
		must(t, "fmt", "ugly.ptl")
		if read(t, "ugly.ptl") != got {
			t.Errorf("fmt --diff prints something else than what fmt does")
		}
	}
	if st, err := os.Stat("ugly.ptl"); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("fmt changed the file's mode to %v (%v)", st.Mode(), err)
	}
	must(t, "fmt", "--check", "ugly.ptl")
	if r := ptcIn(t, ugly, "fmt", "-"); r.code != exitOK || r.out != read(t, "ugly.ptl") {
		t.Errorf("fmt -: exit code %d\n%s", r.code, r.err)
	}
}

func TestFmtGoesOnAfterABadFile(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "bad.ptl", "module {")
	write(t, "ugly.ptl", "config{a=1}")
	r := ptc(t, "fmt", "bad.ptl", "none.ptl", "ugly.ptl")
	if r.code != exitInput || !strings.Contains(r.err, "bad.ptl:1:8") || !strings.Contains(r.err, "none.ptl") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
	if read(t, "bad.ptl") != "module {" || read(t, "ugly.ptl") == "config{a=1}" {
		t.Error("the wrong file was formatted")
	}
}

// splitLines keeps the line ends.
func splitLines(s string) []string {
	return slices.DeleteFunc(strings.SplitAfter(s, "\n"), func(l string) bool { return l == "" })
}

// patch applies a unified difference, and fails where it does not fit.
func patch(t *testing.T, text, diff string) string {
	t.Helper()
	lines := splitLines(text)
	var out []string
	at := 0
	if diff == "" {
		return text
	}
	body := splitLines(diff)[2:]
	for i := 0; i < len(body); i++ {
		l := body[i]
		if strings.HasPrefix(l, "@@ -") {
			from := 0
			for _, c := range strings.TrimPrefix(l, "@@ -") {
				if c < '0' || c > '9' {
					break
				}
				from = 10*from + int(c-'0')
			}
			for ; at < from-1; at++ {
				out = append(out, lines[at])
			}
			continue
		}
		line := l[1:]
		if i+1 < len(body) && strings.HasPrefix(body[i+1], `\ No newline`) {
			line = strings.TrimSuffix(line, "\n")
			body = append(body[:i+1], body[i+2:]...)
		}
		if l[0] != '+' {
			if at >= len(lines) || lines[at] != line {
				t.Fatalf("line %d does not fit %q:\n%s", at+1, line, diff)
			}
			at++
		}
		if l[0] != '-' {
			out = append(out, line)
		}
	}
	return strings.Join(append(out, lines[at:]...), "")
}

func TestUnified(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 500 {
		random := func() string {
			var b strings.Builder
			for range r.Intn(30) {
				b.WriteString(string(rune('a'+r.Intn(3))) + "\n")
			}
			if r.Intn(4) == 0 {
				b.WriteString("end without a newline")
			}
			return b.String()
		}
		a, b := random(), random()
		if got := patch(t, a, udiff.Unified("x", "x (formatted)", a, b)); got != b {
			t.Fatalf("from %q the difference leads to %q, not %q:\n%s", a, got, b, udiff.Unified("x", "x (formatted)", a, b))
		}
	}
	// The fewest lines, in hunks with three lines around.
	var lines []string
	for i := range 40 {
		lines = append(lines, strings.Repeat("x", i)+"\n")
	}
	before := strings.Join(lines, "")
	lines[5], lines[30] = "five\n", "thirty\n"
	diff := udiff.Unified("x", "x (formatted)", before, strings.Join(lines, ""))
	if !strings.Contains(diff, "@@ -3,7 +3,7 @@\n") || !strings.Contains(diff, "@@ -28,7 +28,7 @@\n") || strings.Count(diff, "\n") != 2+2*(1+8) {
		t.Errorf("the difference is\n%s", diff)
	}
	// Too different to be compared line by line.
	long, other := strings.Repeat("a\n", 2000), strings.Repeat("b\n", 2000)
	if patch(t, long, udiff.Unified("x", "x (formatted)", long, other)) != other {
		t.Error("the difference of long texts is wrong")
	}
}

func TestDoctor(t *testing.T) {
	var h health
	if err := json.Unmarshal([]byte(must(t, "doctor", "--json").out), &h); err != nil {
		t.Fatal(err)
	}
	if h.Target == "" || h.CPU.Cores < 1 || len(h.Findings) != len(probes) {
		t.Errorf("doctor says %+v", h)
	}
	text := must(t, "doctor").out
	for _, f := range h.Findings {
		if !strings.Contains(text, f.Name) || f.Detail == "" || f.Found != (f.Install == "") {
			t.Errorf("finding %+v, in\n%s", f, text)
		}
		want := exitOK
		if !f.Found {
			want = exitInput
		}
		if r := ptc(t, "doctor", "--require", f.Name); r.code != want {
			t.Errorf("doctor --require %s: exit code %d, found %v", f.Name, r.code, f.Found)
		}
		if f.Name == "llvm" && f.Found != strings.HasPrefix(h.Target, "cpu:") {
			t.Errorf("with llvm found %v the target is %s", f.Found, h.Target)
		}
	}
}
