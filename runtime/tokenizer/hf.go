package tokenizer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// hfFile is tokenizer.json (github.com/huggingface/tokenizers). Truncation and
// padding are not of the text's tokens, and are not looked at.
type hfFile struct {
	AddedTokens   []hfAdded       `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         json.RawMessage `json:"model"`
}

// hfAdded is a token that is found in the text before the model sees it.
type hfAdded struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// model gives the tokens of a word.
type model interface {
	tokens() map[string]int32
	encodeWord(word string, out []int32) ([]int32, error)
}

func parseHF(raw []byte) (*Tokenizer, error) {
	var f hfFile
	if err := checkDepth(raw); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("it is not a valid tokenizer.json: %w", err)
	}
	if absent(f.Model) {
		return nil, errors.New("it has no model: is it a tokenizer.json?")
	}
	name, m, err := parseModel(f.Model)
	if err != nil {
		return nil, err
	}
	e := &hfEncoder{model: m}
	if e.normalize, err = parseNormalizer(f.Normalizer); err != nil {
		return nil, err
	}
	if e.cut, err = parsePreTokenizer(f.PreTokenizer); err != nil {
		return nil, err
	}
	all := maps.Clone(m.tokens())
	for _, a := range f.AddedTokens {
		all[a.Content] = a.ID
	}
	t, err := newTokenizer("tokenizer.json, "+name, all)
	if err != nil {
		return nil, err
	}
	for _, a := range f.AddedTokens {
		t.vocab[a.ID] = a.Content
		if a.Special {
			t.special[a.ID] = true
		}
	}
	if err := e.addTokens(f.AddedTokens); err != nil {
		return nil, err
	}
	t.encode = e
	chain, err := parseDecoder(f.Decoder)
	if err != nil {
		return nil, err
	}
	t.decode = func(t *Tokenizer, ids []int32) []byte { return []byte(strings.Join(chain(t.texts(ids)), "")) }
	if chain == nil {
		t.decode = func(t *Tokenizer, ids []int32) []byte { return []byte(strings.Join(t.texts(ids), " ")) }
	}
	if t.before, t.behind, err = parsePostProcessor(f.PostProcessor); err != nil {
		return nil, err
	}
	e.trims, err = parseTrimmers(f.PostProcessor)
	return t, err
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// typeOf reads the type of a component.
func typeOf(raw json.RawMessage, what string) (string, error) {
	var c struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return "", fmt.Errorf("its %s is not read: %w", what, err)
	}
	return c.Type, nil
}

// unknown says that a component is none of those that are known here.
func unknown(what, name string) error {
	return fmt.Errorf("its %s %q is not known here", what, clip(name))
}

// split is a part of the text on its way to the model: text, or a token already.
type split struct {
	text  string
	id    int32
	token bool
	first bool // at the start of the text

	// origin is the range of the whole text that each byte is of, where that is asked
	// for; of a token, one range.
	origin []Range
}

// hfEncoder finds added tokens, normalizes what is between them, cuts it into
// words, and gives these to the model.
type hfEncoder struct {
	normalize  normalizer // nil: the text as it is
	cut        cutter     // nil: all of it is a word
	model      model
	raw, after added // looked for before and after normalization
	trims      []trimmer
}

// added finds added tokens.
type added struct {
	trie *trie
	list []hfAdded
}

func (e *hfEncoder) addTokens(list []hfAdded) error {
	e.raw.trie, e.after.trie = newTrie(), newTrie()
	// Of two with the same text the one with the higher number counts.
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b hfAdded) int { return cmp.Compare(a.ID, b.ID) })
	for _, a := range list {
		to, text := &e.raw, a.Content
		if a.Normalized {
			if to = &e.after; e.normalize != nil {
				var err error
				if text, err = e.normalize(text, mostOf(len(text))); err != nil {
					return fmt.Errorf("its added token %q: %w", clip(a.Content), err)
				}
			}
		}
		to.trie.add(text, int32(len(to.list)))
		to.list = append(to.list, a)
	}
	return nil
}

// find cuts a text at the added tokens that it spells out, the leftmost and of
// those the longest.
func (a *added) find(s split, out []split) []split {
	text, done := s.text, 0
	plain := func(to int) {
		if to > done {
			out = append(out, s.piece(done, to))
		}
	}
	for at := 0; at < len(text); {
		n, i := a.trie.longest(text[at:])
		if n == 0 {
			at++
			continue
		}
		t, from, to := &a.list[i], at, at+n
		at = to
		if t.SingleWord && (endsWithWord(text[:from]) || startsWithWord(text[to:])) {
			continue
		}
		if t.LStrip {
			from = max(done, len(trimRight(text[:from])))
		}
		if t.RStrip {
			to = len(text) - len(trimLeft(text[to:]))
		}
		plain(from)
		out = append(out, split{id: t.ID, token: true, origin: s.whole(from, to)})
		done = to
		at = max(at, done)
	}
	plain(len(text))
	return out
}

func (e *hfEncoder) encode(text []byte) ([]int32, error) {
	out := make([]int32, 0, len(text)/3)
	err := e.each(split{text: validText(text), first: true}, func(w split) (err error) {
		if w.token {
			out = append(out, w.id)
		} else {
			out, err = e.model.encodeWord(w.text, out)
		}
		return err
	})
	return out, err
}

// each gives the added tokens of a text and the words between them, in order.
func (e *hfEncoder) each(text split, take func(w split) error) error {
	var found []split
	most := mostOf(len(text.text)) // of all parts
	for _, p := range e.raw.find(text, nil) {
		if p.token {
			found = append(found, p)
			continue
		}
		if e.normalize != nil {
			if err := p.normalize(e.normalize, most); err != nil {
				return err
			}
			most -= len(p.text)
		}
		found = e.after.find(p, found)
	}
	for _, p := range found {
		words := []split{p}
		if e.cut != nil && !p.token {
			var err error
			if words, err = e.cut(words); err != nil {
				return err
			}
		}
		for _, w := range words {
			if w.text == "" && !w.token {
				continue
			}
			if err := take(w); err != nil {
				return err
			}
		}
	}
	return nil
}
