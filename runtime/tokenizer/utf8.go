package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// validText replaces what is not UTF-8 by U+FFFD: each longest start of a
// character at once, as The Unicode Standard says in chapter 3.9, "U+FFFD
// Substitution of Maximal Subparts", and as Python's errors="replace" does. Go
// would replace byte by byte.
func validText(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	var b strings.Builder
	b.Grow(len(text) + 16)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n <= 1 {
			n = subpart(text)
			b.WriteString("\uFFFD")
		} else {
			b.Write(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// subpart is the length of the longest start of a character at the start of text,
// where no whole one is; 1 if the first byte starts none.
func subpart(text []byte) int {
	lo, hi, want := byte(0x80), byte(0xbf), 0
	switch c := text[0]; {
	case c >= 0xc2 && c <= 0xdf:
		want = 2
	case c >= 0xe0 && c <= 0xef:
		want = 3
		if c == 0xe0 {
			lo = 0xa0
		} else if c == 0xed {
			hi = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		want = 4
		if c == 0xf0 {
			lo = 0x90
		} else if c == 0xf4 {
			hi = 0x8f
		}
	}
	n := 1
	for n < want && n < len(text) && text[n] >= lo && text[n] <= hi {
		n, lo, hi = n+1, 0x80, 0xbf
	}
	return n
}

// incomplete is the number of bytes at the end of text that are the start of a
// character, of which the rest may follow.
func incomplete(text []byte) int {
	for n := 1; n <= min(3, len(text)); n++ {
		tail := text[len(text)-n:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}
