package syntax

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"ptc/internal/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

// maxBytes is the largest source that is read: far above any model, and small
// enough that a wrong file is refused before it costs memory.
const maxBytes = 1 << 20

// Lex makes definition a participle lexer.Definition.
func (d definition) Lex(file string, r io.Reader) (lexer.Lexer, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, err
	}
	return d.LexString(file, string(text))
}

// lex cuts a source into tokens, with its spaces and comments, ending in EOF:
// the values of the tokens, joined, are the source, but for the characters
// that errs complains about. It goes on after an error.
func lex(file string, src []byte) (toks []lexer.Token, errs diag.List) {
	s := &scanner{pos: lexer.Position{Filename: file, Line: 1, Column: 1}}
	if s.text = string(src); !s.readable() {
		return []lexer.Token{lexer.EOFToken(s.pos)}, s.errs
	}
	for s.text != "" {
		s.token()
	}
	return append(s.toks, lexer.EOFToken(s.pos)), s.errs
}

// scanner holds the rest of the text and the place where it begins.
type scanner struct {
	text string
	pos  lexer.Position
	toks []lexer.Token
	errs diag.List
}

// readable refuses what is not text at all.
func (s *scanner) readable() bool {
	fail := func(code, msg, want, hint string) bool {
		s.errs = append(s.errs, &diag.Error{Code: code, Pos: Pos(s.pos).Diag(), Msg: msg, Want: want, Hint: hint})
		return false
	}
	if len(s.text) > maxBytes {
		return fail("E0110", fmt.Sprintf("the file has %d bytes", len(s.text)),
			fmt.Sprintf("at most %d", maxBytes), "split it, and import the parts")
	}
	for i, r := range s.text {
		bad := r == 0
		if r == utf8.RuneError {
			_, n := utf8.DecodeRuneInString(s.text[i:])
			bad = n == 1
		}
		if bad {
			b := s.text[i]
			s.skip(i)
			return fail("E0107", fmt.Sprintf("byte 0x%02x is not text", b), "UTF-8 text", "is this a .ptl file?")
		}
	}
	return true
}

// skip moves on by n bytes.
func (s *scanner) skip(n int) {
	span := s.text[:n]
	s.text = s.text[n:]
	s.pos.Offset += n
	if lines := strings.Count(span, "\n"); lines > 0 {
		s.pos.Line += lines
		s.pos.Column = n - strings.LastIndexByte(span, '\n')
	} else {
		s.pos.Column += n
	}
}

func (s *scanner) emit(kind lexer.TokenType, n int) {
	s.toks = append(s.toks, lexer.Token{Type: kind, Value: s.text[:n], Pos: s.pos})
	s.skip(n)
}

func (s *scanner) errorf(code string, n int, want, hint, format string, args ...any) {
	s.errs = append(s.errs, &diag.Error{Code: code, Pos: Pos(s.pos).Diag(), Len: n, Want: want, Hint: hint, Msg: fmt.Sprintf(format, args...)})
}

func (s *scanner) token() {
	r, size := utf8.DecodeRuneInString(s.text)
	switch {
	case isSpace(r) || r == '\uFEFF' && s.pos.Offset == 0:
		n := size
		for n < len(s.text) && isSpace(rune(s.text[n])) {
			n++
		}
		s.emit(tokSpace, n)
	case strings.HasPrefix(s.text, "//"):
		line, _, _ := strings.Cut(s.text, "\n")
		s.emit(tokComment, len(strings.TrimRight(line, " \t\r")))
	case strings.HasPrefix(s.text, "/*"):
		s.blockComment()
	case r == '"':
		s.str()
	case r >= '0' && r <= '9':
		s.number()
	case isLetter(r):
		n := wordLen(s.text)
		s.checkLength(n)
		kind := tokIdent
		if reserved[s.text[:n]] {
			kind = tokKeyword
		}
		s.emit(kind, n)
	default:
		for _, op := range operators {
			if strings.HasPrefix(s.text, op) {
				s.emit(tokOp, len(op))
				return
			}
		}
		s.unknown(r, size)
	}
}

// maxName is the length of a name, in bytes. The names on the way to a parameter
// are joined to its path, which plans and checkpoints hold.
const maxName = 255

func (s *scanner) checkLength(n int) {
	if n > maxName {
		s.errorf("E0223", n, fmt.Sprintf("at most %d bytes", maxName), "", "a name of %d bytes, `%s`", n, clip(s.text[:n]))
	}
}

func isSpace(r rune) bool  { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }
func isLetter(r rune) bool { return r == '_' || unicode.IsLetter(r) }

// wordLen is how many bytes at the start of text are letters and digits.
func wordLen(text string) int {
	for i, r := range text {
		if !isLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			return i
		}
	}
	return len(text)
}

func (s *scanner) blockComment() {
	n := strings.Index(s.text[2:], "*/")
	if n < 0 {
		s.errorf("E0104", 2, "`*/`", "", "this comment is never closed")
		s.skip(len(s.text))
		return
	}
	s.emit(tokComment, n+4)
}

func (s *scanner) str() {
	n, closed := 1, false
	for n < len(s.text) && s.text[n] != '\n' && !closed {
		switch s.text[n] {
		case '\\':
			if n+1 < len(s.text) && s.text[n+1] != '\n' {
				n++
			}
		case '"':
			closed = true
		}
		n++
	}
	if !closed {
		s.errorf("E0104", 1, "`\"` before the end of the line", "", "this string is never closed")
		s.skip(n)
		return
	}
	if _, err := unquote(s.text[:n]); err != nil {
		s.errorf("E0104", n, "", "the escapes are \\n, \\t, \\\\, \\\" and \\u1234", "this string has an escape that does not exist")
	}
	s.emit(tokString, n)
}

// number reads 12, 1_000, 0x1f, 0.5, 3e-4, and words such as 1f1b. After a
// `.` it reads an integer only, so that the path `blocks.0.1` has three parts.
func (s *scanner) number() {
	digits := func(n int) int {
		for n < len(s.text) && (s.text[n] >= '0' && s.text[n] <= '9' || s.text[n] == '_') {
			n++
		}
		return n
	}
	word := wordLen(s.text)
	n, float := digits(0), false
	part := len(s.toks) > 0 && s.toks[len(s.toks)-1].Value == "."
	if !part && n+1 < len(s.text) && s.text[n] == '.' && s.text[n+1] >= '0' && s.text[n+1] <= '9' {
		n, float = digits(n+1), true
	}
	if !part && n < len(s.text) && (s.text[n] == 'e' || s.text[n] == 'E') {
		e := n + 1
		if e < len(s.text) && (s.text[e] == '+' || s.text[e] == '-') {
			e++
		}
		if end := digits(e); end > e && s.text[e] != '_' {
			n, float = end, true
		}
	}
	hex := len(s.text) > 2 && (s.text[:2] == "0x" || s.text[:2] == "0X")
	switch {
	case hex:
		s.numeric(tokInt, word)
	case n < word && word > 0 && !strings.ContainsAny(s.text[:n], ".+-"):
		s.checkLength(word)
		s.emit(tokWord, word)
	case float:
		s.numeric(tokFloat, n+wordLen(s.text[n:]))
	default:
		s.numeric(tokInt, n)
	}
}

// numeric emits a number of n bytes if it has a value.
func (s *scanner) numeric(kind lexer.TokenType, n int) {
	text, most := s.text[:n], "at most 1.8e308"
	var err error
	if kind == tokInt {
		most = fmt.Sprintf("at most %d", math.MaxInt64)
		_, err = parseInt(text)
	} else {
		_, err = parseFloat(text)
	}
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "out of range"):
		s.errorf("E0108", n, most, "", "the number `%s` is out of range", clip(text))
	default:
		s.errorf("E0108", n, "", apart(text), "`%s` is not a number", clip(text))
	}
	s.emit(kind, n)
}

// lookalikes are characters that other languages or word processors use.
var lookalikes = map[rune]string{
	'\u00A0': "an ordinary space", '“': "`\"`", '”': "`\"`", '‘': "`\"`", '’': "`\"`",
	'\'': "`\"`", '`': "`\"`", '–': "`-`", '—': "`-`", '−': "`-`", '×': "`*`", '·': "`*`", '÷': "`/`",
	'→': "`->`", '≤': "`<=`", '≥': "`>=`", '≠': "`!=`", '∞': "`inf`", '^': "`**`",
	'#': "`//` for a comment", '&': "`and`", '|': "`or`", '@': "`dot(x, y, over = axis)` for a product",
}

func (s *scanner) unknown(r rune, size int) {
	if r == '\'' || r == '‘' || r == '’' {
		s.quoted(size)
		return
	}
	hint := ""
	if w := lookalikes[r]; w != "" {
		hint = "write " + w
	}
	shown := fmt.Sprintf("`%c`", r)
	if !unicode.IsGraphic(r) || unicode.IsSpace(r) {
		shown = fmt.Sprintf("%U", r)
	}
	s.errorf("E0106", 1, "", hint, "the character %s has no meaning here", shown)
	s.skip(size)
}

// quoted is a string in single quotes, as other languages have them: one mistake.
func (s *scanner) quoted(size int) {
	line, _, _ := strings.Cut(s.text, "\n")
	n := size
	if end := strings.IndexAny(line[size:], "'’"); end >= 0 {
		_, last := utf8.DecodeRuneInString(line[size+end:])
		n = size + end + last
	}
	s.errorf("E0106", n, "", "write `\"`", "strings need double quotes")
	s.skip(n)
}

// clip shortens a text for a message.
func clip(text string) string {
	if len(text) <= 40 {
		return text
	}
	return string(bytes.ToValidUTF8([]byte(text[:36]), nil)) + "…"
}
