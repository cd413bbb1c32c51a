package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is.
type kind int

const (
	end       kind = iota // of the source
	text                  // between tags
	open                  // {{
	closed                // }}
	tagOpen               // {%
	tagClosed             // %}
	name
	str
	integer
	float
	mark // an operator or a bracket
)

// token is a piece of a template. Its text is a string's value where it is one.
type token struct {
	kind kind
	text string
	line int
}

func (t token) is(m string) bool   { return t.kind == mark && t.text == m }
func (t token) word(w string) bool { return t.kind == name && t.text == w }

// describe is what a message calls the token.
func (t token) describe() string {
	switch t.kind {
	case end:
		return "the end of the template"
	case text:
		return "text"
	case closed:
		return "}}"
	case tagClosed:
		return "%}"
	case str:
		return "a string"
	}
	return t.text
}

// lexer cuts a template into tokens. White space around tags is as jinja2/lexer.py has
// it with trim_blocks and lstrip_blocks: the first line feed behind {% … %} and {# … #}
// goes, and so does white space before them at the start of a line; a minus takes all
// white space on its side, and a plus none.
type lexer struct {
	src    string
	at     int
	line   int
	tokens []token
	starts bool // the last tag ended with a line feed, or there is none yet
}

func lex(src string) []token {
	src = strings.ReplaceAll(strings.ReplaceAll(src, "\r\n", "\n"), "\r", "\n")
	src = strings.TrimSuffix(src, "\n") // keep_trailing_newline is false
	l := &lexer{src: src, line: 1, starts: true}
	for l.at < len(l.src) {
		l.next()
	}
	l.add(end, "")
	return l.tokens
}

func (l *lexer) add(k kind, s string) { l.tokens = append(l.tokens, token{k, s, l.line}) }

// advance goes to a place and counts lines.
func (l *lexer) advance(to int) {
	l.line += strings.Count(l.src[l.at:to], "\n")
	l.at = to
}

// next takes text up to a tag, and the tag.
func (l *lexer) next() {
	from := l.at
	at := from
	for {
		i := strings.IndexByte(l.src[at:], '{')
		if i < 0 || at+i+1 >= len(l.src) {
			l.add(text, l.src[from:])
			l.advance(len(l.src))
			return
		}
		if at += i; strings.IndexByte("{%#", l.src[at+1]) >= 0 {
			break
		}
		at++
	}
	data, sign := l.src[from:at], byte(0)
	if at+2 < len(l.src) {
		sign = l.src[at+2]
	}
	opener := l.src[at+1]
	switch {
	case sign == '-':
		data = strings.TrimRightFunc(data, isSpace)
	case opener != '{' && sign != '+':
		line := strings.LastIndexByte(data, '\n') + 1
		if (line > 0 || l.starts) && strings.TrimFunc(data[line:], isSpace) == "" {
			data = data[:line]
		}
	}
	if data != "" {
		l.add(text, data)
	}
	l.advance(at)
	inner := at + 2
	if sign == '-' || sign == '+' {
		inner++
	}
	switch opener {
	case '#':
		l.comment(inner)
	case '{':
		l.add(open, "{{")
		l.tag(inner, closed, "}}")
	case '%':
		if l.raw(inner) {
			return
		}
		l.add(tagOpen, "{%")
		l.tag(inner, tagClosed, "%}")
	}
}

// isSpace is Python's white space in a pattern.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// behind skips what goes with the end of a tag: with a minus all white space, else a
// line feed, unless there is a plus or the tag is {{ … }}.
func (l *lexer) behind(at int, sign byte, trims bool) {
	switch {
	case sign == '-':
		at = len(l.src) - len(strings.TrimLeftFunc(l.src[at:], isSpace))
	case sign != '+' && trims && at < len(l.src) && l.src[at] == '\n':
		at++
	}
	l.starts = at > 0 && l.src[at-1] == '\n'
	l.advance(at)
}

func (l *lexer) comment(from int) {
	i := strings.Index(l.src[from:], "#}")
	if i < 0 {
		fail(l.line, "a comment has no end: #}")
	}
	sign := byte(0)
	if i > 0 {
		sign = l.src[from+i-1]
	}
	l.behind(from+i+2, sign, true)
}

// raw takes {% raw %} … {% endraw %}, whose inside is text.
func (l *lexer) raw(from int) bool {
	at, ok := skipWord(l.src, from, "raw")
	if !ok {
		return false
	}
	switch rest := l.src[at:]; {
	case strings.HasPrefix(rest, "-%}"):
		at = len(l.src) - len(strings.TrimLeftFunc(rest[3:], isSpace))
	case strings.HasPrefix(rest, "%}"):
		at += 2
	default:
		return false
	}
	for i := at; ; i++ {
		j := strings.Index(l.src[i:], "{%")
		if j < 0 {
			fail(l.line, "raw has no endraw")
		}
		i += j
		sign, inner := byte(0), i+2
		if inner < len(l.src) && (l.src[inner] == '-' || l.src[inner] == '+') {
			sign = l.src[inner]
			inner++
		}
		past, ok := skipWord(l.src, inner, "endraw")
		if !ok {
			continue
		}
		last := byte(0)
		if past < len(l.src) && (l.src[past] == '-' || l.src[past] == '+') {
			last = l.src[past]
			past++
		}
		if !strings.HasPrefix(l.src[past:], "%}") {
			continue
		}
		data := l.src[at:i]
		if sign == '-' {
			data = strings.TrimRightFunc(data, isSpace)
		} else if line := strings.LastIndexByte(data, '\n') + 1; sign != '+' && line > 0 && strings.TrimFunc(data[line:], isSpace) == "" {
			data = data[:line]
		}
		if data != "" {
			l.add(text, data)
		}
		l.behind(past+2, last, true)
		return true
	}
}

// skipWord skips white space, a word and white space.
func skipWord(src string, from int, word string) (int, bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeftFunc(src[from:], isSpace), word)
	if !ok {
		return from, false
	}
	if r, _ := utf8.DecodeRuneInString(rest); rest != "" && isNameRune(r) {
		return from, false
	}
	return len(src) - len(strings.TrimLeftFunc(rest, isSpace)), true
}

func isNameRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// marks are operators and brackets, the longer first.
var marks = []string{"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";"}

// tag takes what is between {{ and }}, or {% and %}. Within brackets neither ends it.
func (l *lexer) tag(from int, last kind, closer string) {
	l.advance(from)
	var stack []byte
	for l.at < len(l.src) {
		rest := l.src[l.at:]
		if len(stack) == 0 {
			sign := byte(0)
			if rest[0] == '-' || rest[0] == '+' && last == tagClosed {
				sign = rest[0]
			}
			if sign != 0 && strings.HasPrefix(rest[1:], closer) {
				l.add(last, closer)
				l.behind(l.at+1+len(closer), sign, last == tagClosed)
				return
			}
			if strings.HasPrefix(rest, closer) {
				l.add(last, closer)
				l.behind(l.at+len(closer), 0, last == tagClosed)
				return
			}
		}
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case isSpace(r):
			l.advance(l.at + size)
		case r == '"' || r == '\'':
			l.quoted(byte(r))
		case r >= '0' && r <= '9':
			l.number()
		case isNameRune(r):
			n := strings.IndexFunc(rest, func(r rune) bool { return !isNameRune(r) })
			if n < 0 {
				n = len(rest)
			}
			l.add(name, rest[:n])
			l.advance(l.at + n)
		default:
			stack = l.operator(rest, stack)
		}
	}
	fail(l.line, "a tag has no end: %s", closer)
}

func (l *lexer) operator(rest string, stack []byte) []byte {
	for _, m := range marks {
		if !strings.HasPrefix(rest, m) {
			continue
		}
		switch m {
		case "(":
			stack = append(stack, ')')
		case "[":
			stack = append(stack, ']')
		case "{":
			stack = append(stack, '}')
		case ")", "]", "}":
			if n := len(stack); n == 0 || stack[n-1] != m[0] {
				fail(l.line, "the bracket %s was not opened", m)
			}
			stack = stack[:len(stack)-1]
		}
		if len(stack) > maxNested {
			fail(l.line, "more than %d brackets are within each other", maxNested)
		}
		l.add(mark, m)
		l.advance(l.at + len(m))
		return stack
	}
	r, _ := utf8.DecodeRuneInString(rest)
	fail(l.line, "the character %q is not of a template's language", r)
	return stack
}
