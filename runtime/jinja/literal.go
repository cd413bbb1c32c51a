package jinja

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// quoted takes a string, whose escapes are Python's.
func (l *lexer) quoted(quote byte) {
	src := l.src[l.at:]
	n := 1
	for ; n < len(src) && src[n] != quote; n++ {
		if src[n] == '\\' {
			n++
		}
	}
	if n >= len(src) {
		fail(l.line, "a string has no end")
	}
	l.add(str, unescape(src[1:n], l.line))
	l.advance(l.at + n + 1)
}

// escapes are those of one character.
var escapes = map[byte]string{'\n': "", '\\': "\\", '\'': "'", '"': "\"", 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v"}

func unescape(s string, line int) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]
		one, short := escapes[s[i]]
		switch {
		case short:
			b.WriteString(one)
		case digits > 0:
			r, err := strconv.ParseUint(s[i+1:min(len(s), i+1+digits)], 16, 32)
			if err != nil || i+1+digits > len(s) || !utf8.ValidRune(rune(r)) {
				fail(line, `the escape \%c of a string is not one`, s[i])
			}
			b.WriteRune(rune(r))
			i += digits
		case s[i] >= '0' && s[i] <= '7':
			n := 1
			for n < 3 && i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '7' {
				n++
			}
			r, _ := strconv.ParseUint(s[i:i+n], 8, 32)
			b.WriteRune(rune(r))
			i += n - 1
		case s[i] == 'N':
			fail(line, `the escape \N of a string is not known here`)
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// number takes an integer, or a float with a point or an exponent.
func (l *lexer) number() {
	src := l.src[l.at:]
	digits := func(i int) int { // digits, and underscores between them
		for i < len(src) && (isDigit(src[i]) || src[i] == '_' && i+1 < len(src) && isDigit(src[i+1]) && i > 0 && isDigit(src[i-1])) {
			i++
		}
		return i
	}
	if len(src) > 1 && src[0] == '0' && strings.IndexByte("xXoObB", src[1]) >= 0 {
		n := 2
		for n < len(src) && (isNameRune(rune(src[n])) && src[n] < utf8.RuneSelf) {
			n++
		}
		l.add(integer, src[:n])
		l.advance(l.at + n)
		return
	}
	n, k := digits(0), integer
	afterPoint := l.at > 0 && l.src[l.at-1] == '.'
	if !afterPoint && n+1 < len(src) && src[n] == '.' && isDigit(src[n+1]) {
		n, k = digits(n+1), float
	}
	if e := n; !afterPoint && e < len(src) && (src[e] == 'e' || src[e] == 'E') {
		if e++; e < len(src) && (src[e] == '+' || src[e] == '-') {
			e++
		}
		if past := digits(e); past > e {
			n, k = past, float
		}
	}
	l.add(k, src[:n])
	l.advance(l.at + n)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// numberOf is the value of a number's text.
func numberOf(t token) Value {
	if t.kind == float {
		f, err := strconv.ParseFloat(strings.ReplaceAll(t.text, "_", ""), 64)
		if err != nil {
			fail(t.line, "%s is no number", t.text)
		}
		return f
	}
	base := 0
	if len(t.text) > 1 && t.text[0] == '0' && isDigit(t.text[1]) {
		base = 10
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(t.text, "_", ""), base, 64)
	if err != nil {
		fail(t.line, "%s is no integer of 64 bits", t.text)
	}
	return n
}
