package tokenizer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// parseNormalizer reads a component; nil stands for none.
func parseNormalizer(raw json.RawMessage) (normalizer, error) {
	if absent(raw) {
		return nil, nil
	}
	name, err := typeOf(raw, "normalizer")
	if err != nil {
		return nil, err
	}
	if n, ok := plainNormalizers[name]; ok {
		return normal(n), nil
	}
	var c struct {
		Normalizers []json.RawMessage `json:"normalizers"`
		StripLeft   bool              `json:"strip_left"`
		StripRight  bool              `json:"strip_right"`
		Prepend     string            `json:"prepend"`
		Charsmap    string            `json:"precompiled_charsmap"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("its normalizer is not read: %w", err)
	}
	switch name {
	case "Sequence":
		return normalizerSequence(c.Normalizers)
	case "Strip":
		return normal(func(s string) string {
			if c.StripLeft {
				s = trimLeft(s)
			}
			if c.StripRight {
				s = trimRight(s)
			}
			return s
		}), nil
	case "Prepend":
		return normal(func(s string) string {
			if s == "" {
				return s
			}
			return c.Prepend + s
		}), nil
	case "Replace":
		return parseReplace(raw)
	case "BertNormalizer":
		return parseBertNormalizer(raw)
	case "Precompiled":
		blob, err := base64.StdEncoding.DecodeString(c.Charsmap)
		if err != nil {
			return nil, fmt.Errorf("its precompiled_charsmap is not in base64: %w", err)
		}
		m, err := parseCharsmap(blob)
		if err != nil {
			return nil, err
		}
		return m.byGraphemes, nil
	}
	return nil, unknown("normalizer", name)
}

// plainNormalizers take no options.
var plainNormalizers = map[string]func(string) string{
	"NFC": nfc, "NFD": nfd, "NFKC": nfkc, "NFKD": nfkd,
	"Lowercase":    lower,
	"StripAccents": func(s string) string { return drop(s, func(r rune) bool { return unicode.Is(unicode.M, r) }) },
	"Nmt":          nmt,
	"ByteLevel":    toByteChars,
}

func normalizerSequence(list []json.RawMessage) (normalizer, error) {
	var all []normalizer
	for _, raw := range list {
		n, err := parseNormalizer(raw)
		if err != nil {
			return nil, err
		}
		if n != nil {
			all = append(all, n)
		}
	}
	return func(s string, most int) (_ string, err error) {
		for _, n := range all {
			if s, err = n(s, most); err != nil {
				return "", err
			}
		}
		return s, nil
	}, nil
}

// patternOf reads {"String": …} or {"Regex": …}.
func patternOf(raw json.RawMessage) (finder, error) {
	var p struct{ String, Regex *string }
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, fmt.Errorf("its pattern is not read: %w", err)
	}
	switch {
	case p.String != nil:
		return literal(*p.String), nil
	case p.Regex != nil:
		return compile(*p.Regex, true)
	}
	return nil, fmt.Errorf("its pattern is neither String nor Regex")
}

func parseReplace(raw json.RawMessage) (normalizer, error) {
	var c struct {
		Pattern json.RawMessage `json:"pattern"`
		Content string          `json:"content"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("its Replace is not read: %w", err)
	}
	p, err := patternOf(c.Pattern)
	if err != nil {
		return nil, err
	}
	if l, ok := p.(literal); ok && l != "" {
		return func(s string, most int) (string, error) {
			more := len(c.Content) - len(l)
			if more > 0 && strings.Count(s, string(l)) > (most-len(s))/more {
				return "", grown("a Replace", most)
			}
			return strings.ReplaceAll(s, string(l), c.Content), nil
		}, nil
	}
	return func(s string, most int) (string, error) {
		spans, err := p.find(s)
		if err != nil { // it took too long: the text stays, and so is cut as it is
			return s, nil
		}
		var b strings.Builder
		for _, x := range spans {
			part := s[x.from:x.to]
			if x.match {
				part = c.Content
			}
			if b.Len()+len(part) > most {
				return "", grown("a Replace", most)
			}
			b.WriteString(part)
		}
		return b.String(), nil
	}, nil
}

func parseBertNormalizer(raw json.RawMessage) (normalizer, error) {
	c := struct {
		Clean   bool  `json:"clean_text"`
		Chinese bool  `json:"handle_chinese_chars"`
		Accents *bool `json:"strip_accents"`
		Lower   bool  `json:"lowercase"`
	}{true, true, nil, true}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("its BertNormalizer is not read: %w", err)
	}
	accents := c.Lower
	if c.Accents != nil {
		accents = *c.Accents
	}
	return normal(func(s string) string {
		if c.Clean {
			s = cleanText(s)
		}
		if c.Chinese {
			s = spaceHan(s)
		}
		if accents {
			s = drop(nfd(s), func(r rune) bool { return unicode.Is(unicode.Mn, r) })
		}
		if c.Lower {
			s = lower(s)
		}
		return s
	}), nil
}

// cleanText drops control characters and makes all white space spaces.
func cleanText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r == 0 || r == 0xfffd || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, s)
}

// han are the ranges that BERT's code takes for Chinese.
var han = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3400, Hi: 0x4dbf, Stride: 1}, {Lo: 0x4e00, Hi: 0x9fff, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x20000, Hi: 0x2a6df, Stride: 1}, {Lo: 0x2a700, Hi: 0x2b73f, Stride: 1}, {Lo: 0x2b740, Hi: 0x2b81f, Stride: 1},
		{Lo: 0x2b920, Hi: 0x2ceaf, Stride: 1}, {Lo: 0x2f800, Hi: 0x2fa1f, Stride: 1}},
}

func spaceHan(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.Is(han, r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// lower is the lower case of each character; U+0130 is the only one of which that
// is two.
func lower(s string) string {
	s = strings.ReplaceAll(s, "\u0130", "i\u0307")
	return strings.Map(unicode.ToLower, s)
}

func drop(s string, which func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if which(r) {
			return -1
		}
		return r
	}, s)
}

// nmt drops controls and makes rare spaces plain, as SentencePiece's rules nmt_nfkc
// begin.
func nmt(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 1 && r <= 8, r == 0xb, r >= 0xe && r <= 0x1f, r == 0x7f, r == 0x8f, r == 0x9f:
			return -1
		case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, r >= 0x200b && r <= 0x200f,
			r == 0x2028, r == 0x2029, r == 0x2581, r == 0xfeff, r == 0xfffd:
			return ' '
		}
		return r
	}, s)
}

// byGraphemes applies the rules as tokenizer.json's Precompiled does: to a grapheme
// of fewer than 6 bytes as a whole, else to its characters; and a rule for the start
// of either replaces all of it.
func (m *charsmap) byGraphemes(s string, most int) (string, error) {
	var b strings.Builder
	state := -1
	for rest := s; rest != ""; {
		if b.Len() > most { // a rule is as long as the file has it
			return "", grown("a Precompiled", most)
		}
		var g string
		g, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if len(g) < 6 {
			if to, ok := m.shortest(g); ok {
				b.WriteString(to)
				continue
			}
		}
		for _, r := range g {
			if b.Len() > most {
				break
			}
			if to, ok := m.shortest(string(r)); ok {
				b.WriteString(to)
			} else {
				b.WriteRune(r)
			}
		}
	}
	if b.Len() > most {
		return "", grown("a Precompiled", most)
	}
	return b.String(), nil
}
