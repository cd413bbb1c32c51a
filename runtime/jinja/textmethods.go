package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// textMethods are those of Python's str.
var textMethods map[string]method

func init() {
	textMethods = map[string]method{
		"strip":  func(c *call, of Value) Value { return strip(c, of, true, true) },
		"lstrip": func(c *call, of Value) Value { return strip(c, of, true, false) },
		"rstrip": func(c *call, of Value) Value { return strip(c, of, false, true) },
		"split":  func(c *call, of Value) Value { return splitText(c, of.(string), false) },
		"rsplit": func(c *call, of Value) Value { return splitText(c, of.(string), true) },
		"splitlines": func(c *call, of Value) Value {
			c.only("splitlines", "keepends")
			return texts(c, splitLines(of.(string), truth(c.arg(0, "keepends", false))))
		},
		"startswith": func(c *call, of Value) Value { return affix(c, of, strings.HasPrefix) },
		"endswith":   func(c *call, of Value) Value { return affix(c, of, strings.HasSuffix) },
		"removeprefix": func(c *call, of Value) Value {
			return strings.TrimPrefix(of.(string), c.text(c.one("removeprefix"), "removeprefix"))
		},
		"removesuffix": func(c *call, of Value) Value {
			return strings.TrimSuffix(of.(string), c.text(c.one("removesuffix"), "removesuffix"))
		},
		"replace": replaceText,
		"join": func(c *call, of Value) Value {
			var parts []string
			for _, v := range c.s.iterate(c.one("join"), c.line) {
				parts = append(parts, c.text(v, "join"))
			}
			return c.joined(parts, of.(string))
		},
		"find":  func(c *call, of Value) Value { return c.place(of, strings.Index) },
		"rfind": func(c *call, of Value) Value { return c.place(of, strings.LastIndex) },
		"index": func(c *call, of Value) Value {
			at := c.place(of, strings.Index)
			if at < 0 {
				fail(c.line, "what index looks for is not in the text")
			}
			return at
		},
		"count": func(c *call, of Value) Value {
			return int64(strings.Count(of.(string), c.text(c.one("count"), "count")))
		},
		"partition":  func(c *call, of Value) Value { return partition(c, of.(string), false) },
		"rpartition": func(c *call, of Value) Value { return partition(c, of.(string), true) },
		"zfill":      zfill,
		"ljust":      func(c *call, of Value) Value { return justify(c, of.(string), true) },
		"rjust":      func(c *call, of Value) Value { return justify(c, of.(string), false) },
		"isdigit":    all(unicode.IsDigit), "isalpha": all(unicode.IsLetter), "isspace": all(isSpace),
		"isalnum": all(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
		"islower": func(c *call, of Value) Value { c.args = []Value{of}; return tests["lower"](c) },
		"isupper": func(c *call, of Value) Value { c.args = []Value{of}; return tests["upper"](c) },
	}
	for n, f := range map[string]func(string) string{"upper": upper, "lower": lower, "title": title, "capitalize": capitalize} {
		textMethods[n] = func(c *call, of Value) Value {
			c.only(n)
			c.s.pay(len(of.(string)), c.line)
			return f(of.(string))
		}
	}
}

// upper and lower are Python's, with letters that become several.
func upper(s string) string { return cases.Upper(language.Und).String(s) }

func lower(s string) string { return cases.Lower(language.Und).String(s) }

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return titleRune(s[:n]) + lower(s[n:])
}

func titleRune(s string) string { return cases.Title(language.Und, cases.NoLower).String(s) }

// title is Python's: a letter behind another is lower, all others begin a word.
func title(s string) string {
	var b strings.Builder
	behind := false
	for _, r := range s {
		one := string(r)
		if behind {
			b.WriteString(lower(one))
		} else {
			b.WriteString(titleRune(one))
		}
		behind = unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r)
	}
	return b.String()
}

func strip(c *call, of Value, left, right bool) Value {
	c.only("strip", "chars")
	s, out := of.(string), isSpace
	c.s.pay(len(s), c.line)
	if chars := c.arg(0, "chars", nil); chars != nil {
		set := c.text(chars, "strip")
		out = func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	if left {
		s = strings.TrimLeftFunc(s, out)
	}
	if right {
		s = strings.TrimRightFunc(s, out)
	}
	return s
}

func texts(c *call, parts []string) *List {
	c.s.payItems(len(parts), c.line)
	l := &List{items: make([]Value, len(parts))}
	for i, p := range parts {
		l.items[i] = p
	}
	return l
}

func splitText(c *call, s string, fromRight bool) Value {
	c.only("split", "sep", "maxsplit")
	c.s.pay(len(s), c.line)
	most := int(c.integer(c.arg(1, "maxsplit", int64(-1)), "split"))
	if most < 0 {
		most = len(s) + 1
	}
	sep := c.arg(0, "sep", nil)
	if sep == nil {
		return texts(c, fields(s, most, fromRight))
	}
	by := c.text(sep, "split")
	if by == "" {
		fail(c.line, "a text is split at an empty one")
	}
	if !fromRight {
		return texts(c, strings.SplitN(s, by, most+1))
	}
	var out []string
	for ; most > 0; most-- {
		i := strings.LastIndex(s, by)
		if i < 0 {
			break
		}
		out = append([]string{s[i+len(by):]}, out...)
		s = s[:i]
	}
	return texts(c, append([]string{s}, out...))
}

// fields cuts at white space; what is left behind the last cut is one piece.
func fields(s string, most int, fromRight bool) []string {
	all := strings.FieldsFunc(s, isSpace)
	if most >= len(all) {
		return all
	}
	if fromRight {
		s = strings.TrimRightFunc(s, isSpace)
		cut := len(all) - most
		for _, f := range reversed(all[cut:]) {
			s = strings.TrimRightFunc(strings.TrimSuffix(s, f), isSpace)
		}
		return append([]string{s}, all[cut:]...)
	}
	for _, f := range all[:most] {
		s = strings.TrimPrefix(strings.TrimLeftFunc(s, isSpace), f)
	}
	return append(all[:most:most], strings.TrimLeftFunc(s, isSpace))
}

func reversed[T any](s []T) []T {
	out := make([]T, len(s))
	for i, v := range s {
		out[len(s)-1-i] = v
	}
	return out
}

// lineEnds are where splitlines cuts.
const lineEnds = "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"

func splitLines(s string, keep bool) []string {
	var out []string
	for s != "" {
		i := strings.IndexAny(s, lineEnds)
		if i < 0 {
			return append(out, s)
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			n = 2
		}
		line := s[:i]
		if keep {
			line = s[:i+n]
		}
		out, s = append(out, line), s[i+n:]
	}
	return out
}

// affix is startswith or endswith of one text or one of several.
func affix(c *call, of Value, has func(s, part string) bool) Value {
	v := c.one("startswith and endswith")
	l, several := v.(*List)
	if !several {
		return has(of.(string), c.text(v, "startswith and endswith"))
	}
	if l.shape != tuple {
		fail(c.line, "startswith and endswith take a text or a tuple, and are given a %s", typeName(v))
	}
	for _, x := range l.items {
		if has(of.(string), c.text(x, "startswith and endswith")) {
			return true
		}
	}
	return false
}

func replaceText(c *call, of Value) Value {
	c.only("replace", "old", "new", "count")
	old, with := c.text(c.arg(0, "old", nil), "replace"), c.text(c.arg(1, "new", nil), "replace")
	return c.replaced(of.(string), old, with, c.integer(c.arg(2, "count", int64(-1)), "replace"))
}

func (c *call) replaced(s, old, with string, count int64) Value {
	n := strings.Count(s, old)
	if count >= 0 {
		n = int(min(int64(n), count))
	}
	if grown := len(with) - len(old); grown > 0 && n > maxText/grown {
		fail(c.line, "a text has more than %d bytes", maxText)
	}
	c.s.pay(len(s)+max(0, n*(len(with)-len(old))), c.line)
	return strings.Replace(s, old, with, n)
}

// joined puts a text between others.
func (c *call) joined(parts []string, by string) Value {
	n := len(by) * max(0, len(parts)-1)
	for _, p := range parts {
		n += len(p)
	}
	c.s.pay(n, c.line)
	return strings.Join(parts, by)
}

// place is where a text is in another, counted in characters; -1: nowhere.
func (c *call) place(of Value, find func(s, part string) int) int64 {
	s := of.(string)
	c.s.pay(len(s), c.line)
	at := find(s, c.text(c.one("find"), "find"))
	if at < 0 {
		return -1
	}
	return int64(utf8.RuneCountInString(s[:at]))
}

func partition(c *call, s string, last bool) Value {
	by := c.text(c.one("partition"), "partition")
	if by == "" {
		fail(c.line, "a text is split at an empty one")
	}
	parts := []Value{s, "", ""}
	i := strings.Index(s, by)
	if last {
		parts = []Value{"", "", s}
		i = strings.LastIndex(s, by)
	}
	if i >= 0 {
		parts = []Value{s[:i], by, s[i+len(by):]}
	}
	return &List{items: parts, shape: tuple}
}

func zfill(c *call, of Value) Value {
	s := of.(string)
	n := c.integer(c.one("zfill"), "zfill") - int64(utf8.RuneCountInString(s))
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	return sign + c.s.repeat("0", n, c.line).(string) + s
}

func justify(c *call, s string, left bool) Value {
	c.only("justify", "width", "fillchar")
	n := c.integer(c.arg(0, "width", nil), "justify") - int64(utf8.RuneCountInString(s))
	with := c.text(c.arg(1, "fillchar", " "), "justify")
	if utf8.RuneCountInString(with) != 1 {
		fail(c.line, "a text is filled with one character")
	}
	pad := c.s.repeat(with, n, c.line).(string)
	if left {
		return s + pad
	}
	return pad + s
}

// all is a test of every character of a text that is not empty.
func all(is func(rune) bool) method {
	return func(c *call, of Value) Value {
		c.only("the test of a text")
		s := of.(string)
		c.s.pay(len(s), c.line)
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !is(r) })
	}
}
