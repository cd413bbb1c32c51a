package diag

import (
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Nearest returns the candidate closest to name by edit distance with
// adjacent transpositions (optimal string alignment), if it is near enough to
// be a slip: at most a third of the longer name, and at least 1.
func Nearest(name string, candidates []string) (string, bool) {
	best, dist := "", -1
	for _, c := range candidates {
		d := distance(strings.ToLower(name), strings.ToLower(c))
		if dist < 0 || d < dist || d == dist && c < best {
			best, dist = c, d
		}
	}
	limit := max(1, max(utf8.RuneCountInString(name), utf8.RuneCountInString(best))/3)
	if dist < 0 || dist > limit || len(name) > 100 {
		return "", false
	}
	return best, true
}

// DidYouMean is "did you mean `x`?" for the nearest candidate, or empty.
func DidYouMean(name string, candidates []string) string {
	if c, ok := Nearest(name, candidates); ok {
		return "did you mean `" + c + "`?" + Spelled(c, name)
	}
	return ""
}

// Spelled tells two names apart that may look the same, as where one has a letter
// as one character and the other as a letter with a combining mark: it writes out
// their characters. It is empty for names without such marks.
func Spelled(a, b string) string {
	if !strings.ContainsFunc(a+b, func(r rune) bool { return unicode.Is(unicode.Mn, r) }) {
		return ""
	}
	return " It is written " + strconv.QuoteToASCII(a) + ", and not " + strconv.QuoteToASCII(b)
}

// OneOf is "one of a, b, c" for a message: sorted, at most twelve.
func OneOf(candidates []string) string {
	c := append([]string(nil), candidates...)
	sort.Strings(c)
	more := ""
	if len(c) > 12 {
		c, more = c[:12], ", …"
	}
	switch len(c) {
	case 0:
		return "none"
	case 1:
		return "`" + c[0] + "`"
	}
	return "one of " + strings.Join(c, ", ") + more
}

func distance(s, t string) int {
	if len(s) > 100 || len(t) > 100 {
		return 100
	}
	a, b := []rune(s), []rune(t)
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
