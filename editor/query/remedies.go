package query

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"ptc/internal/diag"
	"ptc/lang/syntax"
)

// remedies lists the hints that state an edit. The edit is nil where the text does not
// have what the hint is about. Hints with a part left open, such as `x = x + …`, have no
// row: an editor cannot fill it in.
var remedies = []struct {
	hint *regexp.Regexp
	edit func(s site, hint []string) *fix
}{
	{regexp.MustCompile("^did you mean `([^`]+)`\\?"), meant},
	{regexp.MustCompile("^write `(\")`$"), quoted},
	{regexp.MustCompile("^write `([^`\\s…]+)`( for a comment)?$"), written},
	{regexp.MustCompile("^write an ordinary (space)$"), func(s site, _ []string) *fix { return s.instead(" ", "a space") }},
	{regexp.MustCompile("^add `(import [\\w.]+)`$"), imported},
	{regexp.MustCompile("^put a space between a number and its unit: `([^`]+)`$"), func(s site, hint []string) *fix { return s.replace(hint[1]) }},
	{regexp.MustCompile("^`(\\w+)` is what is also called (\\w+)$"), func(s site, hint []string) *fix { return s.only(hint[2], hint[1]) }},
	{regexp.MustCompile("^`=` gives a value, `==` compares$"), func(s site, _ []string) *fix { return s.only("==", "=") }},
	{regexp.MustCompile("^`==` compares$"), func(s site, _ []string) *fix { return s.only("=", "==") }},
	{regexp.MustCompile(`^a string is written "([^"…]+)"$`), func(s site, hint []string) *fix { return s.only(hint[1], `"`+hint[1]+`"`) }},
	{regexp.MustCompile("^an axis is named: `over = axis`$"), over},
	{regexp.MustCompile("^members are called by their names alone"), alone},
	{regexp.MustCompile("^items of a block are separated by a space"), separated},
	{regexp.MustCompile("^the size of an axis follows `=`"), sized},
	{regexp.MustCompile("^a number begins with a digit"), begun},
	{regexp.MustCompile("^a constant is `let name = expression`"), constant},
	{regexp.MustCompile("^`(shard \\w+ over \\w+)` shards the batch$"), sharded},
	{regexp.MustCompile("^`(shard \\w+ over \\([\\w, ]+\\))` shards it over both$"), both},
}

// instead replaces what is underlined, which the title calls `word` or by a name.
func (s site) instead(text, name string) *fix {
	_, n := utf8.DecodeRuneInString(s.src[s.from:]) // a lexer's mistake underlines one byte
	to := max(s.to, s.from+n)
	return &fix{"Replace `" + s.src[s.from:to] + "` with " + name, []change{{s.from, to, text}}}
}

// replace replaces what is underlined by a word of the language.
func (s site) replace(text string) *fix { return s.instead(text, "`"+text+"`") }

// only replaces what is underlined if it is one word.
func (s site) only(word, text string) *fix {
	if s.found() != word {
		return nil
	}
	return s.replace(text)
}

// ticked are the words that a message quotes.
var ticked = regexp.MustCompile("`([^`]+)`|\"([^\"]+)\"")

// meant replaces the misspelt word that the message names: in what is underlined, or
// else behind a place that a note shows, such as the call that passes it.
func meant(s site, hint []string) *fix {
	for _, m := range ticked.FindAllStringSubmatch(s.Msg, -1) {
		word := m[1] + m[2]
		for _, part := range append([]change{{from: s.from, to: s.to}}, s.noted...) {
			if at := wordIn(s.src[part.from:part.to], word); at >= 0 {
				s.from = part.from + at
				s.to = s.from + len(word)
				return s.replace(hint[1])
			}
		}
	}
	// A message may show the misspelt word in another form, such as `a.0.w` for `a.{i}.w`.
	var near []change
	for _, t := range syntax.Tokens([]byte(s.found())) {
		if _, ok := diag.Nearest(t.Text, []string{hint[1]}); ok && t.Class == syntax.ClassName && t.Text != hint[1] {
			near = append(near, change{from: s.from + t.Pos.Offset, to: s.from + t.End()})
		}
	}
	if len(near) != 1 {
		return nil
	}
	s.from, s.to = near[0].from, near[0].to
	return s.replace(hint[1])
}

// wordIn is where a word stands in a text, by itself and once; else -1.
func wordIn(text, word string) int {
	at := -1
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return at
		}
		i += from
		from = i + len(word)
		last, _ := utf8.DecodeLastRuneInString(text[:i])
		next, _ := utf8.DecodeRuneInString(text[from:])
		if ofWord(last) || ofWord(next) {
			continue
		}
		if at >= 0 {
			return -1
		}
		at = i
	}
}

func ofWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r))
}

// written writes a sign or word of the language for one of another.
func written(s site, hint []string) *fix {
	f := s.replace(hint[1])
	c := &f.edits[0]
	if first, _ := utf8.DecodeRuneInString(c.text); ofWord(first) { // x&&y
		if r, _ := utf8.DecodeLastRuneInString(s.src[:c.from]); ofWord(r) {
			c.text = " " + c.text
		}
		if r, _ := utf8.DecodeRuneInString(s.src[c.to:]); ofWord(r) {
			c.text += " "
		}
	}
	return f
}

// closing are the quotes that end a string, by the one that begins it.
var closing = map[rune]string{'“': "”", '‘': "’", '\'': "'’", '`': "`", '”': "“"}

// quoted writes ordinary quotes: both of a string, where the other is on the line.
func quoted(s site, _ []string) *fix {
	open, n := utf8.DecodeRuneInString(s.src[s.from:])
	f := &fix{"Write `\"`", []change{{s.from, s.from + n, `"`}}}
	rest, _, _ := strings.Cut(s.src[s.from+n:], "\n")
	if at := strings.IndexAny(rest, closing[open]); at >= 0 && open != '”' {
		_, m := utf8.DecodeRuneInString(rest[at:])
		f.edits = append(f.edits, change{s.from + n + at, s.from + n + at + m, `"`})
	}
	line := s.src[strings.LastIndexByte(s.src[:s.from], '\n')+1 : s.from]
	if at := strings.LastIndex(line, "“"); open == '”' && at >= 0 {
		from := s.from - len(line) + at
		f.edits = append([]change{{from, from + len("“"), `"`}}, f.edits...)
	}
	return f
}

// imported adds an import behind the last one, or else at the top.
func imported(s site, hint []string) *fix {
	c := change{text: hint[1] + "\n\n"}
	if s.tree != nil {
		for _, d := range s.tree.Decls {
			if x, ok := d.(*syntax.Import); ok {
				c.from = x.EndPos.Offset
				c.text = "\n" + hint[1]
			}
		}
	}
	c.to = c.from
	return &fix{"Add `" + hint[1] + "`", []change{c}}
}

// separated removes a comma between items of a block.
func separated(s site, _ []string) *fix {
	if s.found() != "," {
		return nil
	}
	c := change{s.from, s.to, " "}
	if r, _ := utf8.DecodeRuneInString(s.src[s.to:]); unicode.IsSpace(r) {
		c.text = ""
	}
	return &fix{"Remove `,`", []change{c}}
}

// over names the argument that other frameworks call axis or dim.
func over(s site, _ []string) *fix {
	switch s.found() {
	case "axis", "axes", "dim", "dims":
		return s.replace("over")
	}
	return nil // keepdims, which has no counterpart
}

// alone removes the name of the instance before a member.
func alone(s site, _ []string) *fix {
	if !strings.HasPrefix(s.src[s.to:], ".") {
		return nil
	}
	return &fix{"Remove `" + s.found() + ".`", []change{{s.from, s.to + 1, ""}}}
}

// sized writes `=` before the size of an axis.
func sized(s site, _ []string) *fix {
	f := s.only(":", "=")
	if f == nil {
		return nil
	}
	c := &f.edits[0]
	if r, _ := utf8.DecodeLastRuneInString(s.src[:s.from]); !unicode.IsSpace(r) {
		c.text = " " + c.text
	}
	if r, _ := utf8.DecodeRuneInString(s.src[s.to:]); !unicode.IsSpace(r) {
		c.text += " "
	}
	return f
}

// begun writes the digit before a fraction.
func begun(s site, _ []string) *fix {
	if r, _ := utf8.DecodeRuneInString(s.src[s.to:]); s.found() != "." || !unicode.IsDigit(r) {
		return nil
	}
	return &fix{"Write `0.`", []change{{s.from, s.from, "0"}}}
}

// constant declares a constant of a module.
func constant(s site, _ []string) *fix {
	head := strings.TrimRight(s.src[:s.from], " \t")
	name := strings.TrimRightFunc(head, ofWord)
	if s.found() != "=" || len(name) == len(head) {
		return nil
	}
	return &fix{"Declare `" + head[len(name):] + "` with `let`", []change{{len(name), len(name), "let "}}}
}
