package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func nfc(s string) string  { return normalForm(norm.NFC, s) }
func nfd(s string) string  { return normalForm(norm.NFD, s) }
func nfkc(s string) string { return normalForm(norm.NFKC, s) }
func nfkd(s string) string { return normalForm(norm.NFKD, s) }

// mostMarks is the number of characters that do not begin one of which the
// library starts a new sequence by itself, as the Stream-Safe Text Format of UAX
// #15 does; the other programs do not.
const mostMarks = 30

// normalForm is one of Unicode's normal forms. Text with longer sequences of marks
// than real text has is normalized here.
func normalForm(f norm.Form, s string) string {
	if f.IsNormalString(s) && !manyMarks(s) {
		return s
	}
	if !manyMarks(s) {
		return f.String(s)
	}
	return compose(f, decompose(f, s))
}

// manyMarks looks at decompositions, since they are what is counted.
func manyMarks(s string) bool {
	n := 0
	for i := 0; i < len(s); {
		p := norm.NFKD.PropertiesString(s[i:])
		size := max(1, p.Size())
		if s[i] < 0x80 || p.CCC() == 0 && p.LeadCCC() == 0 && p.TrailCCC() == 0 {
			n = 0
		} else if n += utf8.RuneCount(p.Decomposition()) + 1; n >= mostMarks {
			return true
		}
		i += size
	}
	return false
}

// decompose writes each character by its parts, with marks in the order of their
// classes (The Unicode Standard, 3.11, D108 and D109).
func decompose(f norm.Form, s string) []rune {
	k := f
	if f == norm.NFC {
		k = norm.NFD
	} else if f == norm.NFKC {
		k = norm.NFKD
	}
	var out []rune
	for _, r := range s {
		out = append(out, []rune(k.String(string(r)))...)
	}
	for i := 0; i < len(out); {
		end := i
		for end < len(out) && ccc(out[end]) != 0 {
			end++
		}
		if end == i {
			i++
			continue
		}
		slices.SortStableFunc(out[i:end], func(a, b rune) int { return int(ccc(a)) - int(ccc(b)) })
		i = end
	}
	return out
}

func ccc(r rune) uint8 { return norm.NFC.PropertiesString(string(r)).CCC() }

// compose joins a starter with the marks behind it that are not blocked (D115 to
// D117); which two make one, the library knows.
func compose(f norm.Form, in []rune) string {
	if f == norm.NFD || f == norm.NFKD {
		return string(in)
	}
	var out []rune
	starter, last := -1, uint8(0)
	for _, r := range in {
		c := ccc(r)
		if starter >= 0 && (last == 0 && starter == len(out)-1 || last != 0 && last < c) {
			if one := []rune(norm.NFC.String(string([]rune{out[starter], r}))); len(one) == 1 {
				out[starter] = one[0]
				continue
			}
		}
		if last = c; c == 0 {
			starter = len(out)
		}
		out = append(out, r)
	}
	return string(out)
}

// trimLeft and trimRight drop white space.
func trimLeft(s string) string  { return strings.TrimLeftFunc(s, isSpace) }
func trimRight(s string) string { return strings.TrimRightFunc(s, isSpace) }
