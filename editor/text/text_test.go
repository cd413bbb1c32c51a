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

// TestShift: an offset that is not inside of an edit has the same text before or
// behind it, and comes back.
func TestShift(t *testing.T) {
	dice := rand.New(rand.NewSource(1))
	letters := []string{"a", "b", "\n", "ö", "\U0001F600"}
	word := func(n int) string {
		var b strings.Builder
		for range dice.Intn(n) {
			b.WriteString(letters[dice.Intn(len(letters))])
		}
		return b.String()
	}
	for range 2000 {
		before, behind := word(6), word(6)
		old, now := before+word(4)+behind, before+word(4)+behind
		s := Between(old, now)
		for i := range len(now) + 1 {
			o, ok := s.Old(i)
			if !ok {
				continue
			}
			if o < 0 || o > len(old) || old[:o] != now[:i] && old[o:] != now[i:] {
				t.Fatalf("%q to %q: %d was at %d", old, now, i, o)
			}
			if back, ok := s.New(o); !ok || back != i && o != s.prefix { // where text was put in, the place has two
				t.Fatalf("%q to %q: %d was at %d, which is at %d", old, now, i, o, back)
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
