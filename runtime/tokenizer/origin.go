package tokenizer

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Range is the bytes [From, To) of a text.
type Range struct{ From, To int }

// origins are the ranges of the bytes of a text: each byte is of its character.
func origins(text string) []Range {
	out := make([]Range, len(text))
	for i := 0; i < len(text); {
		_, n := utf8.DecodeRuneInString(text[i:])
		for k := range n {
			out[i+k] = Range{i, i + n}
		}
		i += n
	}
	return out
}

// piece is a part of a split.
func (s *split) piece(from, to int) split {
	p := split{text: s.text[from:to], first: s.first && from == 0}
	if s.origin != nil {
		p.origin = s.origin[from:to]
	}
	return p
}

// whole is the range that a part of a split is of.
func (s *split) whole(from, to int) []Range {
	if s.origin == nil || from == to {
		return nil
	}
	return []Range{{s.origin[from].From, s.origin[to-1].To}}
}

// prepend puts in what is of the first character.
func (s *split) prepend(text string) {
	if s.origin != nil && s.text != "" {
		s.origin = append(repeat(s.origin[0], len(text)), s.origin...)
	}
	s.text = text + s.text
}

func repeat(r Range, n int) []Range {
	out := make([]Range, n)
	for i := range out {
		out[i] = r
	}
	return out
}

// each replaces every byte of the text by what to gives.
func (s *split) each(to func(i int) string) {
	var b strings.Builder
	var origin []Range
	for i := range len(s.text) {
		one := to(i)
		b.WriteString(one)
		if s.origin != nil {
			origin = append(origin, repeat(s.origin[i], len(one))...)
		}
	}
	s.text = b.String()
	if s.origin != nil {
		s.origin = origin
	}
}

// spellBytes is toByteChars.
func (s *split) spellBytes() {
	if s.origin == nil {
		s.text = toByteChars(s.text)
		return
	}
	s.each(func(i int) string { return byteChars[s.text[i]] })
}

func (s *split) replaceSpaces(by string) {
	if s.origin == nil {
		s.text = strings.ReplaceAll(s.text, " ", by)
		return
	}
	s.each(func(i int) string {
		if s.text[i] == ' ' {
			return by
		}
		return s.text[i : i+1]
	})
}

var errMoved = errors.New("its normalizer changes the text so that tokens cannot be mapped to characters")

// normalize applies a normalizer and follows characters through it. What the rules of
// tokenizers do to a text they do to each cluster of a base and its marks, or to spaces
// in a row, and some put something before the text: that this holds of the text
// is checked. The text then has at most most bytes.
func (s *split) normalize(n normalizer, most int) error {
	all, err := n(s.text, most)
	if err != nil {
		return err
	}
	if s.origin == nil || all == s.text {
		s.text = all
		return nil
	}
	for _, runs := range []bool{false, true} {
		if text, origin := s.follow(n, runs, len(all)); text == all {
			s.text, s.origin = text, origin
			return nil
		}
	}
	return errMoved
}

// follow normalizes clusters one by one; with runs, spaces in a row are one, and
// what they become is of the last. It ends where the text has more bytes than it may.
func (s *split) follow(n normalizer, runs bool, most int) (string, []Range) {
	of := func(text string) string {
		to, _ := n(text, mostOf(len(text))) // one that is too long is none, and so not what is looked for
		return to
	}
	before, _ := strings.CutSuffix(of("a"), "a")
	origin := repeat(s.origin[0], len(before))
	b := strings.Builder{}
	b.WriteString(before)
	state := -1
	for rest := s.text; rest != "" && b.Len() <= most; {
		at := len(s.text) - len(rest)
		var c string
		if blank := len(rest) - len(strings.TrimLeft(rest, " ")); runs && blank > 0 {
			c, rest, state = rest[:blank], rest[blank:], -1
		} else {
			c, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		}
		one := strings.TrimPrefix(of(c), before)
		b.WriteString(one)
		var each []Range // where the characters of a cluster become what they are alone
		spelled := ""
		for i, r := range c {
			alone := strings.TrimPrefix(of(string(r)), before)
			spelled += alone
			each = append(each, repeat(s.origin[at+i], len(alone))...)
		}
		switch {
		case one == c:
			origin = append(origin, s.origin[at:at+len(c)]...)
		case spelled == one:
			origin = append(origin, each...)
		case runs:
			origin = append(origin, repeat(s.origin[at+len(c)-1], len(one))...)
		default:
			origin = append(origin, repeat(Range{s.origin[at].From, s.origin[at+len(c)-1].To}, len(one))...)
		}
	}
	return b.String(), origin
}
