package text

import (
	"math/rand"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestPositions(t *testing.T) {
	x := New("aö\U0001F600b\r\nc\rd\n")
	for _, c := range []struct {
		offset int
		want   Position
	}{
		{0, Position{0, 0}}, {1, Position{0, 1}}, {3, Position{0, 2}}, {7, Position{0, 4}}, {8, Position{0, 5}},
		{10, Position{1, 0}}, {11, Position{1, 1}}, {12, Position{2, 0}}, {13, Position{2, 1}}, {14, Position{3, 0}},
	} {
		if got := x.Position(c.offset); got != c.want {
			t.Errorf("offset %d is at %v, want %v", c.offset, got, c.want)
		}
		if got := x.Offset(c.want); got != c.offset {
			t.Errorf("%v is offset %d, want %d", c.want, got, c.offset)
		}
	}
	for p, want := range map[Position]int{{0, 3}: 3, {0, 99}: 8, {9, 0}: 14, {-1, 4}: 0, {1, -3}: 10} {
		if got := x.Offset(p); got != want {
			t.Errorf("%v is offset %d, want %d", p, got, want)
		}
	}
	if got := x.At(2, 3); got != 12 {
		t.Errorf("a carriage return ended a line of the compiler: %d", got)
	}
}

// TestShift: what is before and behind an edit is where its text is, and comes back.
func TestShift(t *testing.T) {
	dice := rand.New(rand.NewSource(1))
	lines := func(letters string, n int) string {
		var b strings.Builder
		for range dice.Intn(n) {
			b.WriteString(strings.Repeat(string(letters[dice.Intn(len(letters))]), 1+dice.Intn(3)) + "ö\n")
		}
		return b.String()
	}
	for range 2000 {
		a, b, c := lines("abc", 5), lines("def", 5), lines("ghi", 5)
		old, now := a+lines("x", 3)+b+lines("x", 3)+c, a+lines("y", 3)+b+lines("y", 3)+c
		s := Between(old, now)
		for _, part := range []string{a, b, c} {
			from, was := strings.Index(now, part), strings.Index(old, part)
			for i := range len(part) {
				if o, ok := s.Old(from + i); !ok || o != was+i {
					t.Fatalf("%q to %q: %d was at %d (%v), want %d", old, now, from+i, o, ok, was+i)
				}
				if n, ok := s.New(was + i); !ok || n != from+i {
					t.Fatalf("%q to %q: %d is at %d (%v), want %d", old, now, was+i, n, ok, from+i)
				}
			}
		}
		for i := range len(now) {
			if o, ok := s.Old(i); ok && (o < 0 || o >= len(old) || old[o] != now[i]) {
				if o != len(old) && now[i] != 'y' {
					t.Fatalf("%q to %q: %d was at %d", old, now, i, o)
				}
			}
		}
	}
}

func TestApply(t *testing.T) {
	r := Range{Position{0, 1}, Position{1, 0}}
	got := Apply(New("ab\ncd"), []Edit{{&r, "X"}, {nil, "é!"}, {&Range{Position{0, 1}, Position{0, 0}}, ""}}).String
	if diff := cmp.Diff("!", got); diff != "" {
		t.Error(diff)
	}
}

func FuzzText(f *testing.F) {
	f.Add("aö\U0001F600b\r\nc\rd\n", 1, 3, 0, 1, "x\r")
	f.Add("\xff\xfe", 0, 1, 5, 5, "")
	f.Fuzz(func(t *testing.T, s string, line, char, line2, char2 int, put string) {
		x := New(s)
		for i := range len(s) + 1 {
			if p := x.Position(i); utf8.ValidString(s) && (i == len(s) || utf8.RuneStart(s[i])) && !(i > 0 && s[i-1] == '\r' && i < len(s) && s[i] == '\n') {
				if got := x.Offset(p); got != i {
					t.Fatalf("%q: offset %d is at %v, which is offset %d", s, i, p, got)
				}
			}
		}
		Apply(x, []Edit{{&Range{Position{line, char}, Position{line2, char2}}, put}})
	})
}
