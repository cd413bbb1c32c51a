package tokenizer

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// span is a range of bytes of a text, and whether a pattern matches there.
type span struct {
	from, to int
	match    bool
}

// finder cuts a text into spans that cover it.
type finder interface {
	find(text string) ([]span, error)
}

// pattern is a regular expression of Oniguruma's (of tokenizer.json) or of Rust's
// fancy-regex (of tiktoken), which have look-ahead, as Go's own has not.
type pattern struct{ re *regexp2.Regexp }

// maxMatch ends a match of a stranger's expression that would take for ever.
const maxMatch = time.Minute

// compile translates an expression. In Oniguruma's, lines says, $ is the end of a
// line; in the other the end of the text.
func compile(text string, lines bool) (*pattern, error) {
	translated, err := translate(text, lines)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q: %w", clip(text), err)
	}
	re, err := regexp2.Compile(translated, regexp2.None)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q is not supported: %w", clip(text), err)
	}
	re.MatchTimeout = maxMatch
	return &pattern{re}, nil
}

func (p *pattern) find(text string) ([]span, error) {
	var out []span
	at, runes := 0, 0 // bytes and characters that are done
	advance := func(to int) int {
		from := at
		for ; runes < to; runes++ {
			_, n := utf8.DecodeRuneInString(text[at:])
			at += n
		}
		return from
	}
	m, err := p.re.FindStringMatch(text)
	for m != nil && err == nil {
		if m.Index > runes {
			from := advance(m.Index)
			out = append(out, span{from, at, false})
		}
		from := advance(m.Index + m.Length)
		out = append(out, span{from, at, true})
		m, err = p.re.FindNextMatch(m)
	}
	if err != nil {
		return nil, fmt.Errorf("a pattern that splits text takes too long: %w", err)
	}
	if at < len(text) || len(out) == 0 {
		out = append(out, span{at, len(text), false})
	}
	return out, nil
}

// literal finds a string.
type literal string

func (l literal) find(text string) ([]span, error) {
	var out []span
	at := 0
	for l != "" {
		i := strings.Index(text[at:], string(l))
		if i < 0 {
			break
		}
		if i > 0 {
			out = append(out, span{at, at + i, false})
		}
		out = append(out, span{at + i, at + i + len(l), true})
		at += i + len(l)
	}
	if at < len(text) || len(out) == 0 {
		out = append(out, span{at, len(text), false})
	}
	return out, nil
}

// class finds characters one by one.
type class func(r rune) bool

func (c class) find(text string) ([]span, error) {
	var out []span
	at := 0
	for i, r := range text {
		if !c(r) {
			continue
		}
		if i > at {
			out = append(out, span{at, i, false})
		}
		at = i + utf8.RuneLen(r)
		out = append(out, span{i, at, true})
	}
	if at < len(text) || len(out) == 0 {
		out = append(out, span{at, len(text), false})
	}
	return out, nil
}

// translator rewrites what regexp2 does not have: possessive quantifiers as atomic
// groups, $ as what it means, and letters of (?i:…) in both cases, with the two
// letters outside of ASCII that fold to ASCII (U+017F and U+212A).
type translator struct {
	in    string
	lines bool
	out   strings.Builder
}

func translate(text string, lines bool) (string, error) {
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("it is not UTF-8")
	}
	t := &translator{in: text, lines: lines}
	rest, err := t.sequence(0, false, 0)
	if err == nil && rest != len(text) {
		err = fmt.Errorf("there is a ) too many")
	}
	return t.out.String(), err
}

// maxNesting bounds groups in groups.
const maxNesting = 100

// sequence translates up to the end or the ) of a group, and gives its place.
func (t *translator) sequence(i int, fold bool, depth int) (int, error) {
	if depth > maxNesting {
		return i, fmt.Errorf("it has more than %d nested groups", maxNesting)
	}
	for i < len(t.in) && t.in[i] != ')' {
		if t.in[i] == '|' {
			t.out.WriteByte('|')
			i++
			continue
		}
		if t.in[i] == '$' {
			if t.lines {
				t.out.WriteString(`(?=\n|\z)`)
			} else {
				t.out.WriteString(`\z`)
			}
			i++
			continue
		}
		start := t.out.Len()
		end, err := t.atom(i, fold, depth)
		if err != nil {
			return i, err
		}
		i = t.quantifier(end, start)
	}
	return i, nil
}

// quantifier copies a quantifier, and makes a possessive one of what was written
// from start on an atomic group.
func (t *translator) quantifier(i, start int) int {
	end := i
	switch {
	case i < len(t.in) && strings.IndexByte("*+?", t.in[i]) >= 0:
		end = i + 1
	case i < len(t.in) && t.in[i] == '{':
		if n := strings.IndexByte(t.in[i:], '}'); n > 0 && strings.Trim(t.in[i+1:i+n], "0123456789,") == "" {
			end = i + n + 1
		}
	}
	if end == i {
		return i
	}
	t.out.WriteString(t.in[i:end])
	if end == len(t.in) || t.in[end] != '+' {
		return end
	}
	// In Oniguruma's Ruby syntax {1,3}+ repeats what {1,3} does; in the other it is
	// possessive, as all others are in both.
	if t.in[i] == '{' && t.lines {
		t.wrap(start, "(?:")
		return t.quantifier(end, start)
	}
	t.wrap(start, "(?>")
	return end + 1
}

// wrap puts what was written from start on into a group.
func (t *translator) wrap(start int, head string) {
	all := t.out.String()
	t.out.Reset()
	t.out.WriteString(all[:start] + head + all[start:] + ")")
}

// atom translates one group, class, escape or character.
func (t *translator) atom(i int, fold bool, depth int) (int, error) {
	switch c := t.in[i]; c {
	case '(':
		return t.group(i, fold, depth)
	case '[':
		return t.class(i, fold)
	case '\\':
		return t.escape(i, false)
	default:
		_, n := utf8.DecodeRuneInString(t.in[i:])
		if fold && isLetter(c) {
			t.out.WriteString("[" + bothCases(c) + "]")
		} else {
			t.out.WriteString(t.in[i : i+n])
		}
		return i + n, nil
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func bothCases(c byte) string {
	s := string([]byte{c | 0x20, c &^ 0x20})
	switch c | 0x20 {
	case 's':
		s += "\u017f"
	case 'k':
		s += "\u212a"
	}
	return s
}

func (t *translator) group(i int, fold bool, depth int) (int, error) {
	heads := []string{"(?i:", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}
	head := "("
	for _, h := range heads {
		if strings.HasPrefix(t.in[i:], h) {
			head = h
		}
	}
	switch {
	case head == "(" && strings.HasPrefix(t.in[i:], "(?"):
		return i, fmt.Errorf("its group %q is not known here", clip(t.in[i:min(len(t.in), i+8)]))
	case head == "(?i:":
		t.out.WriteString("(?:")
	default:
		t.out.WriteString(head)
	}
	end, err := t.sequence(i+len(head), fold || head == "(?i:", depth+1)
	if err != nil {
		return i, err
	}
	if end >= len(t.in) {
		return i, fmt.Errorf("a ) is missing")
	}
	t.out.WriteByte(')')
	return end + 1, nil
}

func (t *translator) class(i int, fold bool) (int, error) {
	t.out.WriteByte('[')
	for i++; i < len(t.in); {
		switch c := t.in[i]; {
		case c == ']':
			t.out.WriteByte(']')
			return i + 1, nil
		case c == '\\':
			end, err := t.escape(i, true)
			if err != nil {
				return i, err
			}
			i = end
		case c == '[' || c == '&' && strings.HasPrefix(t.in[i:], "&&"):
			return i, fmt.Errorf("a class within a class is not known here")
		case fold && isLetter(c):
			if i+1 < len(t.in) && t.in[i+1] == '-' {
				return i, fmt.Errorf("a range of letters in (?i:…) is not known here")
			}
			t.out.WriteString(bothCases(c))
			i++
		default:
			t.out.WriteByte(c)
			i++
		}
	}
	return i, fmt.Errorf("a ] is missing")
}

// escape copies a backslash and what belongs to it.
func (t *translator) escape(i int, inClass bool) (int, error) {
	if i+1 >= len(t.in) {
		return i, fmt.Errorf("nothing follows the last \\")
	}
	_, n := utf8.DecodeRuneInString(t.in[i+1:])
	end := i + 1 + n
	switch t.in[i+1] {
	case 'w', 'W':
		return t.word(i, inClass)
	case 'p', 'P':
		n := strings.IndexByte(t.in[i:], '}')
		if end >= len(t.in) || t.in[end] != '{' || n < 0 {
			return i, fmt.Errorf("a \\p without {…}")
		}
		end = i + n + 1
	case 'b', 'B', 'h', 'H', 'R', 'X', 'K', 'k', 'g', 'G', 'y', 'Y', 'O', 'N', 'Z', 'x', 'u', 'c':
		if t.in[i+1] != 'x' && t.in[i+1] != 'u' {
			return i, fmt.Errorf("the escape \\%c is not known here", t.in[i+1])
		}
		if strings.HasPrefix(t.in[i+1:], "x{") {
			n := strings.IndexByte(t.in[i:], '}')
			if n < 0 || n > 12 {
				return i, fmt.Errorf("a \\x{ without }")
			}
			var r rune
			if _, err := fmt.Sscanf(t.in[i+3:i+n], "%x", &r); err != nil || !utf8.ValidRune(r) {
				return i, fmt.Errorf("the escape %s is not a character", t.in[i:i+n+1])
			}
			t.out.WriteString(escapeRune(r))
			return i + n + 1, nil
		}
	}
	t.out.WriteString(t.in[i:end])
	return end, nil
}

// wordClass is what \w of Oniguruma matches; regexp2's lacks some marks.
const wordClass = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}` + "\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189"

// word translates \w and \W.
func (t *translator) word(i int, inClass bool) (int, error) {
	switch {
	case !inClass && t.in[i+1] == 'w':
		t.out.WriteString("[" + wordClass + "]")
	case !inClass:
		t.out.WriteString("[^" + wordClass + "]")
	case t.in[i+1] == 'w':
		t.out.WriteString(wordClass)
	default:
		return i, fmt.Errorf("\\W within a class is not known here")
	}
	return i + 2, nil
}

// escapeRune writes a character so that it stands for itself.
func escapeRune(r rune) string {
	if r < 0x80 && strings.ContainsRune(`\^$.|?*+()[]{}-`, r) {
		return `\` + string(r)
	}
	return string(r)
}
