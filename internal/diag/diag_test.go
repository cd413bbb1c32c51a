package diag

import (
	"regexp"
	"strings"
	"testing"
)

func TestParsePos(t *testing.T) {
	for _, p := range []Pos{{"a.ptl", 3, 7}, {"dir/b c.ptl", 10, 1}, {"x:1", 2, 3}} {
		if got := ParsePos(p.String()); got != p {
			t.Errorf("%v read back as %v", p, got)
		}
	}
	for _, s := range []string{"", "-", "a.ptl", "a.ptl:3", "a:b:c", "a:0:1"} {
		if got := ParsePos(s); got.IsValid() {
			t.Errorf("%q is the place %v", s, got)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"embed", "heads", "batch", "seq"}
	for _, c := range []struct{ name, want string }{
		{"embd", "embed"}, {"embedd", "embed"}, {"hedas", "heads"}, {"BATCH", "batch"}, {"sequence", ""}, {"", ""}, {"vocab", ""},
	} {
		if got, _ := Nearest(c.name, names); got != c.want {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRender(t *testing.T) {
	src := "model M {\n\tx = dot(a, b, over = embd)\n}\n"
	l := List{
		{Code: "E0203", Pos: Pos{"m.ptl", 2, 24}, Len: 4, Msg: "unknown axis `embd`", Want: "one of batch, embed", Hint: "did you mean `embed`?",
			Note: []Note{{Pos{"m.ptl", 1, 7}, "declared here"}}},
	}
	got := Plain.Render(l, func(string) (string, bool) { return src, true })
	want := strings.Join([]string{
		"error[E0203]: unknown axis `embd`",
		"  --> m.ptl:2:24",
		"  |",
		"2 | \tx = dot(a, b, over = embd)",
		"  | \t                      ^^^^ expected one of batch, embed",
		"note: declared here",
		"  --> m.ptl:1:7",
		"  |",
		"1 | model M {",
		"  |       ^",
		"  = did you mean `embed`?", ""}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if s := Plain.Render(List{{Msg: "a\x1b[31mb", Pos: Pos{"m.ptl", 9, 9}}}, func(string) (string, bool) { return "", false }); strings.Contains(s, "\x1b") || !strings.Contains(s, "m.ptl:9:9") {
		t.Error(s)
	}
}

// TestColors: without its colors the rendering is the plain one.
func TestColors(t *testing.T) {
	l := List{{Code: "E0203", Pos: Pos{"m.ptl", 1, 3}, Len: 2, Msg: "m", Want: "w", Hint: "h", Note: []Note{{Pos{"m.ptl", 1, 1}, "n"}}}}
	source := func(string) (string, bool) { return "a bc\n", true }
	plain, colored := Plain.Render(l, source), ANSI.Render(l, source)
	if colored == plain || regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colored, "") != plain {
		t.Errorf("in color\n%s\nplain\n%s", colored, plain)
	}
}
