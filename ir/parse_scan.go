package ir

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"ptc/internal/diag"
)

func (p *parser) space() {
	for p.at < len(p.line) && (p.line[p.at] == ' ' || p.line[p.at] == '\t') {
		p.at++
	}
}

// word takes the longest run of characters of identifiers, which may be empty.
func (p *parser) word() string {
	if p.bad {
		return ""
	}
	p.space()
	start := p.at
	p.at += wordLen(p.line[start:])
	return p.line[start:p.at]
}

// ident takes an identifier; want says what it would name.
func (p *parser) ident(want string) string {
	p.space()
	if !p.bad && !startsIdent(p.line[p.at:]) {
		p.fail(codeSyntax, "unexpected "+p.found(), want)
	}
	return p.word()
}

// accept takes c if it is next.
func (p *parser) accept(c byte) bool {
	p.space()
	if p.bad || p.at == len(p.line) || p.line[p.at] != c {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(c byte) {
	if !p.accept(c) && !p.bad {
		p.fail(codeSyntax, "unexpected "+p.found(), "`"+string(rune(c))+"`")
	}
}

// quoted takes a string as Go quotes it.
func (p *parser) quoted() string {
	p.space()
	if p.bad {
		return ""
	}
	if p.at == len(p.line) || p.line[p.at] != '"' {
		p.fail(codeSyntax, "unexpected "+p.found(), "a quoted string")
		return ""
	}
	q, err := strconv.QuotedPrefix(p.line[p.at:])
	if err == nil {
		var s string
		if s, err = strconv.Unquote(q); err == nil {
			p.at += len(q)
			return s
		}
	}
	p.fail(codeLiteral, "this string does not end or has a bad escape", "a string as Go quotes it, on one line")
	return ""
}

// endLine holds that nothing but a comment is left on the line.
func (p *parser) endLine() {
	p.space()
	if !p.bad && p.at < len(p.line) && !strings.HasPrefix(p.line[p.at:], "//") {
		p.fail(codeSyntax, "unexpected "+p.found(), "the end of the line")
	}
}

// found names what is next, for a message.
func (p *parser) found() string {
	p.space()
	if p.at >= len(p.line) {
		return "end of line"
	}
	if n := wordLen(p.line[p.at:]); n > 0 {
		return "`" + clip(p.line[p.at:p.at+n]) + "`"
	}
	r, n := utf8.DecodeRuneInString(p.line[p.at:])
	if r == utf8.RuneError && n <= 1 || !strconv.IsPrint(r) {
		return "byte " + strconv.QuoteToASCII(p.line[p.at:p.at+n])
	}
	return "`" + string(r) + "`"
}

// clip keeps a message short whatever the text holds.
func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

// fail reports a mistake at the next byte.
func (p *parser) fail(code, msg, want string) {
	p.failAt(p.at, code, msg, want, "")
}

// failAt reports a mistake that starts at byte at of the line and ends before
// the next byte to read.
func (p *parser) failAt(at int, code, msg, want, hint string) {
	if p.bad {
		return
	}
	p.bad = true
	p.report(&diag.Error{
		Code: code, Pos: diag.Pos{File: p.file, Line: p.num, Col: at + 1}, Len: max(1, p.at-at),
		Msg: msg, Want: want, Hint: hint,
	})
}

func (p *parser) report(e *diag.Error) {
	p.errs = append(p.errs, e)
}

// note adds the place of a related line to the last diagnostic.
func (p *parser) note(msg string, line int) {
	e := p.errs[len(p.errs)-1]
	e.Note = append(e.Note, diag.Note{Pos: diag.Pos{File: p.file, Line: line, Col: 1}, Msg: msg})
}
