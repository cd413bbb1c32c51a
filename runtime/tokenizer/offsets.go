package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// EncodeRanges gives the tokens of a text, as Encode does, and the bytes of the text
// that each token is of, as the library tokenizers counts them (in bytes, where that
// counts characters): a token that has some bytes of a character is of the character, and
// one of a base and marks that the normalizer makes one character is of all of these.
// Of a tokenizer whose file is no tokenizer.json it is an error.
func (t *Tokenizer) EncodeRanges(text []byte) (ids []int32, ranges []Range, err error) {
	e, ok := t.encode.(*hfEncoder)
	if !ok {
		return nil, nil, errors.New("its format does not map tokens to characters; use a tokenizer.json")
	}
	whole := split{text: validText(text), first: true}
	whole.origin = origins(whole.text)
	err = e.each(whole, func(w split) error {
		if w.token {
			ids, ranges = append(ids, w.id), append(ranges, w.origin[0])
			return nil
		}
		from := len(ids)
		if ids, err = e.model.encodeWord(w.text, ids); err != nil {
			return err
		}
		ranges = t.wordRanges(w, ids[from:], ranges)
		return nil
	})
	for _, trim := range e.trims {
		trim.apply(t, ids, ranges)
	}
	return ids, ranges, err
}

// affixes are what the tokens of a model have around the text: before those that are
// not the first of a word, and behind the last.
type affixes interface {
	affixes() (before, behind string)
}

func (b *bpe) affixes() (before, behind string)       { return b.prefix, b.end }
func (w *wordPiece) affixes() (before, behind string) { return w.prefix, "" }

// wordRanges adds the ranges of a word's tokens: what their texts spell, one after
// another. A token that spells nothing of the word is one for what is unknown, and is
// of the characters up to the next one that spells.
func (t *Tokenizer) wordRanges(w split, ids []int32, out []Range) []Range {
	before, behind := "", ""
	if a, ok := t.encode.(*hfEncoder).model.(affixes); ok {
		before, behind = a.affixes()
	}
	at := 0
	spelled := func(i, at int) int { // the bytes at a place that a token spells
		piece := t.vocab[ids[i]]
		if i > 0 {
			piece = strings.TrimPrefix(piece, before)
		}
		if i == len(ids)-1 {
			piece = strings.TrimSuffix(piece, behind)
		}
		switch rest := w.text[at:]; {
		case piece != "" && strings.HasPrefix(rest, piece):
			return len(piece)
		case rest != "" && piece == fmt.Sprintf("<0x%02X>", rest[0]):
			return 1
		}
		return 0
	}
	for i := range ids {
		from := at
		if n := spelled(i, at); n > 0 {
			at += n
		} else if i == len(ids)-1 {
			at = len(w.text)
		} else {
			for at < len(w.text) {
				_, n := utf8.DecodeRuneInString(w.text[at:])
				if at += n; spelled(i+1, at) > 0 || ids[i+1] == ids[i] {
					break
				}
			}
		}
		if from == at { // nothing is left
			from = max(0, at-1)
		}
		out = append(out, Range{w.origin[from].From, w.origin[max(from, at-1)].To})
	}
	return out
}

// trimmer is a post-processor that leaves spaces at the ends of tokens out of their
// ranges: process_offsets of ByteLevel in the library tokenizers.
type trimmer struct{ prefix bool }

func (m trimmer) apply(t *Tokenizer, ids []int32, ranges []Range) {
	blank := func(r rune) bool { return r == 'Ġ' || unicode.IsSpace(r) }
	for i, id := range ids {
		text, r := t.vocab[id], &ranges[i]
		left := utf8.RuneCountInString(text) - utf8.RuneCountInString(strings.TrimLeftFunc(text, blank))
		right := utf8.RuneCountInString(text) - utf8.RuneCountInString(strings.TrimRightFunc(text, blank))
		if left > 0 {
			if m.prefix && (i == 0 || r.From == 0) {
				left = 0
			}
			r.From = min(r.From+left, r.To)
		}
		if right > 0 && r.To >= right {
			r.To = max(r.To-right, r.From)
		}
	}
}

// parseTrimmers finds them in the post-processor.
func parseTrimmers(raw json.RawMessage) ([]trimmer, error) {
	if absent(raw) {
		return nil, nil
	}
	c := struct {
		Type       string            `json:"type"`
		Trim       *bool             `json:"trim_offsets"`
		Prefix     *bool             `json:"add_prefix_space"`
		Processors []json.RawMessage `json:"processors"`
	}{}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("its post_processor is not read: %w", err)
	}
	switch c.Type {
	case "Sequence":
		var all []trimmer
		for _, p := range c.Processors {
			one, err := parseTrimmers(p)
			if err != nil {
				return nil, err
			}
			all = append(all, one...)
		}
		return all, nil
	case "ByteLevel", "RobertaProcessing":
		if c.Trim == nil || *c.Trim {
			return []trimmer{{c.Prefix == nil || *c.Prefix}}, nil
		}
	}
	return nil, nil
}
