package ir

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"ptc/internal/diag"
)

// scanner reads line by line. A mistake marks the line bad: every method then
// returns at once, and the next line starts afresh.
type scanner struct {
	file string
	rest string // text after the current line
	line string // current line without its end
	num  int    // number of the current line, from 1
	at   int    // next byte of line
	bad  bool   // the current line has a mistake
	errs diag.List
}

// next goes to the next line that is not blank or a comment.
func (p *scanner) next() bool {
	for p.rest != "" && len(p.errs) < maxErrors {
		p.line, p.rest, _ = strings.Cut(p.rest, "\n")
		p.line = strings.TrimSuffix(p.line, "\r")
		p.num++
		p.at, p.bad = 0, false
		p.space()
		if p.at < len(p.line) && !strings.HasPrefix(p.line[p.at:], "//") {
			return true
		}
	}
	return false
}

func (p *scanner) space() {
	for p.at < len(p.line) && (p.line[p.at] == ' ' || p.line[p.at] == '\t') {
		p.at++
	}
}

// word takes the longest run of characters of identifiers, which may be empty.
func (p *scanner) word() string {
	if p.bad {
		return ""
	}
	p.space()
	start := p.at
	p.at += wordLen(p.line[start:])
	return p.line[start:p.at]
}

// ident takes an identifier; want says what it would name.
func (p *scanner) ident(want string) string {
	p.space()
	if !p.bad && !startsIdent(p.line[p.at:]) {
		p.fail(codeSyntax, "unexpected "+p.found(), want)
	}
	return p.word()
}

// accept takes c if it is next.
func (p *scanner) accept(c byte) bool {
	p.space()
	if p.bad || p.at == len(p.line) || p.line[p.at] != c {
		return false
	}
	p.at++
	return true
}

func (p *scanner) expect(c byte) {
	if !p.accept(c) && !p.bad {
		p.fail(codeSyntax, "unexpected "+p.found(), "`"+string(rune(c))+"`")
	}
}

// quoted takes a string as Go quotes it.
func (p *scanner) quoted() string {
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
func (p *scanner) endLine() {
	p.space()
	if !p.bad && p.at < len(p.line) && !strings.HasPrefix(p.line[p.at:], "//") {
		p.fail(codeSyntax, "unexpected "+p.found(), "the end of the line")
	}
}

// found names what is next, for a message.
func (p *scanner) found() string {
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
func (p *scanner) fail(code, msg, want string) {
	p.failAt(p.at, code, msg, want, "")
}

// failAt reports a mistake that starts at byte at of the line and ends before
// the next byte to read.
func (p *scanner) failAt(at int, code, msg, want, hint string) {
	if p.bad {
		return
	}
	p.bad = true
	p.report(&diag.Error{
		Code: code, Pos: diag.Pos{File: p.file, Line: p.num, Col: at + 1}, Len: max(1, p.at-at),
		Msg: msg, Want: want, Hint: hint,
	})
}

func (p *scanner) report(e *diag.Error) {
	p.errs = append(p.errs, e)
}

// note adds the place of a related line to the last diagnostic.
func (p *scanner) note(msg string, line int) {
	e := p.errs[len(p.errs)-1]
	e.Note = append(e.Note, diag.Note{Pos: diag.Pos{File: p.file, Line: line, Col: 1}, Msg: msg})
}
