package tokenizer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// decoderChain makes pieces of text of tokens.
type decoderChain func([]string) []string

// parseDecoder reads a component; nil stands for none.
func parseDecoder(raw json.RawMessage) (decoderChain, error) {
	if absent(raw) {
		return nil, nil
	}
	name, err := typeOf(raw, "decoder")
	if err != nil {
		return nil, err
	}
	c := struct {
		Decoders    []json.RawMessage `json:"decoders"`
		Prefix      string            `json:"prefix"`
		Cleanup     bool              `json:"cleanup"`
		Suffix      string            `json:"suffix"`
		Replacement string            `json:"replacement"`
		Scheme      string            `json:"prepend_scheme"`
		AddPrefix   *bool             `json:"add_prefix_space"`
		Content     string            `json:"content"`
		Start       int               `json:"start"`
		Stop        int               `json:"stop"`
		Pad         string            `json:"pad_token"`
		Word        string            `json:"word_delimiter_token"`
	}{Prefix: "##", Suffix: "</w>", Scheme: "always"}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("its decoder is not read: %w", err)
	}
	switch name {
	case "Sequence":
		return decoderSequence(c.Decoders)
	case "ByteLevel":
		return func(in []string) []string { return mapped(in, fromByteChars) }, nil
	case "WordPiece":
		return func(in []string) []string { return wordPieceText(in, c.Prefix, c.Cleanup) }, nil
	case "BPEDecoder":
		return func(in []string) []string {
			for i := range in {
				with := " "
				if i == len(in)-1 {
					with = ""
				}
				in[i] = strings.ReplaceAll(in[i], c.Suffix, with)
			}
			return in
		}, nil
	case "Metaspace":
		strip := c.Scheme != "never" && (c.AddPrefix == nil || *c.AddPrefix)
		return func(in []string) []string {
			for i := range in {
				with := " "
				if i == 0 && strip {
					with = ""
				}
				in[i] = strings.ReplaceAll(in[i], c.Replacement, with)
			}
			return in
		}, nil
	case "Replace":
		r, err := parseReplace(raw)
		return func(in []string) []string {
			return mapped(in, func(s string) string {
				if to, err := r(s, max(len(s), mostToken)); err == nil { // else it stays
					return to
				}
				return s
			})
		}, err
	case "Fuse":
		return func(in []string) []string { return []string{strings.Join(in, "")} }, nil
	case "Strip":
		return func(in []string) []string {
			return mapped(in, func(s string) string { return stripChars(s, c.Content, c.Start, c.Stop) })
		}, nil
	case "ByteFallback":
		return func(in []string) []string { return mapped(in, fromByteToken) }, nil
	}
	return nil, unknown("decoder", name)
}

func decoderSequence(list []json.RawMessage) (decoderChain, error) {
	var all []decoderChain
	for _, raw := range list {
		d, err := parseDecoder(raw)
		if err != nil {
			return nil, err
		}
		if d != nil {
			all = append(all, d)
		}
	}
	return func(s []string) []string {
		for _, d := range all {
			s = d(s)
		}
		return s
	}, nil
}

func mapped(in []string, f func(string) string) []string {
	for i := range in {
		in[i] = f(in[i])
	}
	return in
}

// fromByteToken gives the byte that a token such as <0x0A> stands for. Bytes that
// make no character stay, where the reference puts U+FFFD for each.
func fromByteToken(s string) string {
	if b, ok := byteToken(s); ok {
		return string([]byte{b})
	}
	return s
}

func byteToken(s string) (byte, bool) {
	if len(s) != 6 || !strings.HasPrefix(s, "<0x") || s[5] != '>' {
		return 0, false
	}
	v, err := strconv.ParseUint(s[3:5], 16, 8)
	return byte(v), err == nil
}

// stripChars drops up to so many of a character at the start and at the end.
func stripChars(s, char string, start, stop int) string {
	for ; start > 0 && char != "" && strings.HasPrefix(s, char); start-- {
		s = s[len(char):]
	}
	for ; stop > 0 && char != "" && strings.HasSuffix(s, char); stop-- {
		s = s[:len(s)-len(char)]
	}
	return s
}

// cleanups put back what splitting at punctuation has torn apart in English text.
var cleanups = [][2]string{{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"},
	{" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}}

func wordPieceText(in []string, prefix string, cleanup bool) []string {
	for i := range in {
		if i > 0 {
			if s, ok := strings.CutPrefix(in[i], prefix); ok {
				in[i] = s
			} else {
				in[i] = " " + in[i]
			}
		}
		if cleanup {
			for _, c := range cleanups {
				in[i] = strings.ReplaceAll(in[i], c[0], c[1])
			}
		}
	}
	return in
}

// parsePostProcessor gives the tokens that are put before and behind a text.
func parsePostProcessor(raw json.RawMessage) (before, behind []int32, err error) {
	if absent(raw) {
		return nil, nil, nil
	}
	name, err := typeOf(raw, "post_processor")
	if err != nil {
		return nil, nil, err
	}
	var c struct {
		Processors []json.RawMessage `json:"processors"`
		Single     []struct {
			Sequence     *struct{ ID string }
			SpecialToken *struct{ ID string }
		} `json:"single"`
		Special map[string]struct{ IDs []int32 } `json:"special_tokens"`
		Sep     json.RawMessage                  `json:"sep"`
		Cls     json.RawMessage                  `json:"cls"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, nil, fmt.Errorf("its post_processor is not read: %w", err)
	}
	switch name {
	case "ByteLevel": // offsets alone
		return nil, nil, nil
	case "Sequence":
		for _, p := range c.Processors {
			b, e, err := parsePostProcessor(p)
			if err != nil {
				return nil, nil, err
			}
			before, behind = append(append([]int32{}, b...), before...), append(behind, e...)
		}
		return before, behind, nil
	case "BertProcessing", "RobertaProcessing":
		cls, err1 := tokenNumber(c.Cls)
		sep, err2 := tokenNumber(c.Sep)
		if err1 != nil || err2 != nil {
			return nil, nil, fmt.Errorf("its post_processor does not name sep and cls with their numbers")
		}
		return []int32{cls}, []int32{sep}, nil
	case "TemplateProcessing":
		to, seen := &before, false
		for _, p := range c.Single {
			switch {
			case p.Sequence != nil && seen:
				return nil, nil, fmt.Errorf("its post_processor puts the text in twice")
			case p.Sequence != nil:
				to, seen = &behind, true
			case p.SpecialToken != nil:
				*to = append(*to, c.Special[p.SpecialToken.ID].IDs...)
			}
		}
		return before, behind, nil
	}
	return nil, nil, unknown("post_processor", name)
}

// tokenNumber reads ["[SEP]", 102].
func tokenNumber(raw json.RawMessage) (int32, error) {
	var both [2]json.RawMessage
	var id int32
	if err := json.Unmarshal(raw, &both); err != nil {
		return 0, err
	}
	err := json.Unmarshal(both[1], &id)
	return id, err
}
