package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cutter cuts splits into smaller ones.
type cutter func([]split) ([]split, error)

// parsePreTokenizer reads a component; nil stands for none.
func parsePreTokenizer(raw json.RawMessage) (cutter, error) {
	if absent(raw) {
		return nil, nil
	}
	name, err := typeOf(raw, "pre_tokenizer")
	if err != nil {
		return nil, err
	}
	c := struct {
		PreTokenizers []json.RawMessage `json:"pretokenizers"`
		AddPrefix     *bool             `json:"add_prefix_space"`
		UseRegex      *bool             `json:"use_regex"`
		Individual    bool              `json:"individual_digits"`
		Behavior      string            `json:"behavior"`
		Delimiter     string            `json:"delimiter"`
		Pattern       json.RawMessage   `json:"pattern"`
		Invert        bool              `json:"invert"`
		Replacement   string            `json:"replacement"`
		Scheme        string            `json:"prepend_scheme"`
		Split         *bool             `json:"split"`
		Length        int               `json:"length"`
	}{Behavior: "Isolated", Scheme: "always", Length: 5}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("its pre_tokenizer is not read: %w", err)
	}
	switch name {
	case "Sequence":
		return cutterSequence(c.PreTokenizers)
	case "ByteLevel":
		return byteLevel(c.AddPrefix == nil || *c.AddPrefix, c.UseRegex == nil || *c.UseRegex)
	case "Whitespace":
		return cutAt(words{}, "Removed", false)
	case "WhitespaceSplit":
		return cutAt(class(isSpace), "Removed", false)
	case "BertPreTokenizer":
		return bertCutter()
	case "Punctuation":
		return cutAt(class(isPunctuation), c.Behavior, false)
	case "Digits":
		if c.Individual {
			return cutAt(class(unicode.IsNumber), "Isolated", false)
		}
		return cutAt(class(unicode.IsNumber), "Contiguous", false)
	case "CharDelimiterSplit":
		return cutAt(literal(c.Delimiter), "Removed", false)
	case "Split":
		p, err := patternOf(c.Pattern)
		if err != nil {
			return nil, err
		}
		return cutAt(p, c.Behavior, c.Invert)
	case "Metaspace":
		if c.AddPrefix != nil && !*c.AddPrefix {
			c.Scheme = "never"
		}
		return metaspace(c.Replacement, c.Scheme, c.Split == nil || *c.Split)
	case "FixedLength":
		return fixedLength(c.Length)
	}
	return nil, unknown("pre_tokenizer", name)
}

func cutterSequence(list []json.RawMessage) (cutter, error) {
	var all []cutter
	for _, raw := range list {
		c, err := parsePreTokenizer(raw)
		if err != nil {
			return nil, err
		}
		if c != nil {
			all = append(all, c)
		}
	}
	return func(s []split) (_ []split, err error) {
		most := mostOf(lengths(s))
		for _, c := range all {
			if s, err = c(s); err != nil {
				return nil, err
			}
			if lengths(s) > most {
				return nil, grown("a pre-tokenizer", most)
			}
		}
		return s, nil
	}, nil
}

// words are what \w+|[^\w\s]+ does not match.
type words struct{}

func (words) find(text string) ([]span, error) {
	kind := func(r rune) int {
		switch {
		case isWord(r):
			return 1
		case isSpace(r):
			return 0
		}
		return 2
	}
	var out []span
	for i, r := range text {
		k, end := kind(r), i+utf8.RuneLen(r)
		if n := len(out); n > 0 && i > 0 && k == kind(lastRune(text[:i])) {
			out[n-1].to = end
			continue
		}
		out = append(out, span{i, end, k == 0})
	}
	return out, nil
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// cutAt cuts where the finder matches; the behavior says what becomes of the
// matches.
func cutAt(f finder, behavior string, invert bool) (cutter, error) {
	arrange, ok := behaviors[behavior]
	if !ok {
		return nil, unknown("behavior", behavior)
	}
	return func(in []split) ([]split, error) {
		var out []split
		for _, s := range in {
			if s.text == "" {
				continue
			}
			spans, err := f.find(s.text)
			if err != nil {
				return nil, err
			}
			if invert {
				for i := range spans {
					spans[i].match = !spans[i].match
				}
			}
			for _, x := range arrange(spans) {
				if x.to > x.from {
					out = append(out, s.piece(x.from, x.to))
				}
			}
		}
		return out, nil
	}, nil
}

// behaviors are what becomes of matches.
var behaviors = map[string]func([]span) []span{
	"Isolated": func(s []span) []span { return s },
	"Removed": func(s []span) []span {
		return slices.DeleteFunc(slices.Clone(s), func(x span) bool { return x.match })
	},
	"Contiguous":         func(s []span) []span { return merged(s, func(match, before bool) bool { return match == before }) },
	"MergedWithPrevious": func(s []span) []span { return merged(s, func(match, before bool) bool { return match && !before }) },
	"MergedWithNext": func(s []span) []span {
		out := make([]span, 0, len(s))
		behind := false
		for _, x := range slices.Backward(s) {
			if n := len(out); n > 0 && x.match && !behind {
				out[n-1].from = x.from
			} else {
				out = append(out, x)
			}
			behind = x.match
		}
		slices.Reverse(out)
		return out
	},
}

// merged joins spans to the ones before them, where join says so of the two.
func merged(s []span, join func(match, before bool) bool) (out []span) {
	before := false
	for _, x := range s {
		if n := len(out); n > 0 && join(x.match, before) {
			out[n-1].to = x.to
		} else {
			out = append(out, x)
		}
		before = x.match
	}
	return out
}

// gpt2Words is the pattern of ByteLevel.
const gpt2Words = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

func byteLevel(prefix, regex bool) (cutter, error) {
	var cut cutter
	if regex {
		p, err := compile(gpt2Words, true)
		if err != nil {
			return nil, err
		}
		if cut, err = cutAt(p, "Isolated", false); err != nil {
			return nil, err
		}
	}
	return func(in []split) (_ []split, err error) {
		if prefix {
			for i := range in {
				if !strings.HasPrefix(in[i].text, " ") {
					in[i].prepend(" ")
				}
			}
		}
		if cut != nil {
			if in, err = cut(in); err != nil {
				return nil, err
			}
		}
		for i := range in {
			in[i].spellBytes()
		}
		return in, nil
	}, nil
}

func bertCutter() (cutter, error) {
	spaces, err := cutAt(class(isSpace), "Removed", false)
	if err != nil {
		return nil, err
	}
	marks, err := cutAt(class(isPunctuation), "Isolated", false)
	return func(in []split) ([]split, error) {
		in, err := spaces(in)
		if err != nil {
			return nil, err
		}
		return marks(in)
	}, err
}

func metaspace(replacement, scheme string, doSplit bool) (cutter, error) {
	if utf8.RuneCountInString(replacement) != 1 {
		return nil, fmt.Errorf("its Metaspace replaces spaces by %q, which is not one character", clip(replacement))
	}
	if scheme != "always" && scheme != "first" && scheme != "never" {
		return nil, unknown("prepend_scheme", scheme)
	}
	cut, err := cutAt(literal(replacement), "MergedWithNext", false)
	return func(in []split) ([]split, error) {
		for i := range in {
			s := &in[i]
			s.replaceSpaces(replacement)
			if !strings.HasPrefix(s.text, replacement) && (scheme == "always" || scheme == "first" && s.first) {
				s.prepend(replacement)
			}
		}
		if !doSplit {
			return in, nil
		}
		return cut(in)
	}, err
}

func fixedLength(n int) (cutter, error) {
	if n < 1 {
		return nil, fmt.Errorf("its FixedLength has the length %d", n)
	}
	return func(in []split) ([]split, error) {
		var out []split
		for _, s := range in {
			from, count := 0, 0
			for i := range s.text {
				if count == n {
					out = append(out, s.piece(from, i))
					from, count = i, 0
				}
				count++
			}
			out = append(out, s.piece(from, len(s.text)))
		}
		return out, nil
	}, nil
}
