package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func isSpace(r rune) bool { return unicode.IsSpace(r) }

// isWord is \w of Unicode's regular expressions (UTS #18, annex C).
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc) || r == 0x200c || r == 0x200d
}

func startsWithWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && isWord(r)
}

func endsWithWord(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return s != "" && isWord(r)
}

// isPunctuation is BERT's: what ASCII calls so, and Unicode's class P.
func isPunctuation(r rune) bool {
	return r < 0x80 && (r >= '!' && r <= '/' || r >= ':' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~') ||
		unicode.Is(unicode.P, r)
}

// byteChars are the characters that stand for bytes in files of byte-level BPE:
// printable ones for themselves, the others from U+0100 on. GPT-2's encoder.py,
// bytes_to_unicode.
var byteChars, charBytes = func() (to [256]string, from map[rune]byte) {
	from = map[rune]byte{}
	next := rune(256)
	for b := range rune(256) {
		r := b
		if !(b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r, next = next, next+1
		}
		to[b], from[r] = string(r), byte(b)
	}
	return to, from
}()

func toByteChars(s string) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/2)
	for i := range len(s) {
		b.WriteString(byteChars[s[i]])
	}
	return b.String()
}

// fromByteChars gives the bytes that a token stands for; a token with another
// character stands for itself.
func fromByteChars(token string) string {
	out := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := charBytes[r]
		if !ok {
			return token
		}
		out = append(out, b)
	}
	return string(out)
}
