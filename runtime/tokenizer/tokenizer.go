package tokenizer

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ptc/internal/regular"
	"ptc/internal/units"
)

// MaxFile bounds the file of a tokenizer; the largest in use have some 40 MB.
const MaxFile = 256 << 20

// maxVocab bounds the number of tokens.
const maxVocab = 1 << 24

// Tokenizer turns text into tokens. Its methods may be called concurrently.
type Tokenizer struct {
	hash  string
	kind  string
	vocab []string // the text of each token as the file has it; "" where a number has no token
	ids   map[string]int32

	// special are tokens that stand for no text, such as the end of a document.
	special map[int32]bool
	encode  encoder
	decode  func(t *Tokenizer, ids []int32) []byte

	// before and behind are what EncodeSpecial puts around a text.
	before, behind []int32
}

// encoder is one kind of tokenizer.
type encoder interface {
	encode(text []byte) ([]int32, error)
}

// Open reads a tokenizer from a file.
func Open(path string) (*Tokenizer, error) {
	raw, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := Parse(path, raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// FileOf is the file of a tokenizer: of a folder, as transformers writes it, the
// tokenizer.json in it.
func FileOf(path string) string {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return filepath.Join(path, "tokenizer.json")
	}
	return path
}

// ReadFile reads the bytes of a tokenizer's file, which are not too many. The path may
// be that of its folder.
func ReadFile(path string) ([]byte, error) {
	path = FileOf(path)
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > MaxFile {
		return nil, fmt.Errorf("%s is longer than %s, the limit for a tokenizer", path, units.Bytes(MaxFile))
	}
	return raw, nil
}

// Parse makes a tokenizer of a file's bytes. The name tells apart what the bytes
// do not: ranks of tiktoken say nothing of the pattern that cuts text, which goes
// by the file's name.
func Parse(name string, raw []byte) (t *Tokenizer, err error) {
	trimmed := bytes.TrimLeft(raw, " \t\r\n\ufeff")
	switch {
	case len(trimmed) > 0 && trimmed[0] == '{':
		t, err = parseHF(raw)
	case looksLikeRanks(raw):
		t, err = parseRanks(name, raw)
	default:
		t, err = parseSentencePiece(raw)
	}
	if err != nil {
		return nil, err
	}
	t.hash = Hash(raw)
	return t, nil
}

// Hash is what a plan and a manifest call a tokenizer by: the SHA-256 of its
// file, in hexadecimal digits.
func Hash(raw []byte) string { return fmt.Sprintf("%x", sha256.Sum256(raw)) }

// Encode gives the tokens of a text. Nothing is added at its start or end.
// Special tokens that the text spells out are themselves with tokenizer.json, as
// there, and text with the other formats.
func (t *Tokenizer) Encode(text []byte) ([]int32, error) { return t.encode.encode(text) }

// EncodeSpecial adds what the file's post-processor puts around a text, such as
// a token for its start.
func (t *Tokenizer) EncodeSpecial(text []byte) ([]int32, error) {
	ids, err := t.Encode(text)
	if err != nil {
		return nil, err
	}
	out := append([]int32{}, t.before...)
	return append(append(out, ids...), t.behind...), nil
}

// Decode gives the text of tokens; numbers that are no token are left out. Bytes
// of tokens that make no whole character stay as they are.
func (t *Tokenizer) Decode(ids []int32) []byte { return t.decode(t, ids) }

// Vocab is the number that all tokens are below.
func (t *Tokenizer) Vocab() int { return len(t.vocab) }

// Special gives the number of a token by its text, such as "<|endoftext|>".
func (t *Tokenizer) Special(name string) (int32, bool) {
	id, ok := t.ids[name]
	return id, ok
}

// IsSpecial says whether a token stands for no text.
func (t *Tokenizer) IsSpecial(id int32) bool { return t.special[id] }

// Hash is the SHA-256 of the file, in hexadecimal digits.
func (t *Tokenizer) Hash() string { return t.hash }

// Kind names the format and the model, such as "tokenizer.json, BPE".
func (t *Tokenizer) Kind() string { return t.kind }

// text is a token as the file has it.
func (t *Tokenizer) text(id int32) (string, bool) {
	if id < 0 || int(id) >= len(t.vocab) || t.vocab[id] == "" {
		return "", false
	}
	return t.vocab[id], true
}

func (t *Tokenizer) texts(ids []int32) []string {
	var out []string
	for _, id := range ids {
		if s, ok := t.text(id); ok {
			out = append(out, s)
		}
	}
	return out
}

// newTokenizer makes room for tokens of these numbers.
func newTokenizer(kind string, tokens map[string]int32) (*Tokenizer, error) {
	t := &Tokenizer{kind: kind, ids: tokens, special: map[int32]bool{}}
	for s, id := range tokens {
		if id < 0 || id >= maxVocab {
			return nil, fmt.Errorf("token %q has the number %d, which must be from 0 to %d", clip(s), id, maxVocab-1)
		}
		if int(id) >= len(t.vocab) {
			t.vocab = append(t.vocab, make([]string, int(id)+1-len(t.vocab))...)
		}
		// Two texts with one number: the one that sorts first, as maps have no order.
		if old := t.vocab[id]; old == "" || s < old {
			t.vocab[id] = s
		}
	}
	if len(t.vocab) == 0 {
		return nil, fmt.Errorf("it has no tokens")
	}
	return t, nil
}

// clip shortens what a message quotes of a file.
func clip(s string) string {
	if len(s) <= 60 {
		return s
	}
	return strings.ToValidUTF8(s[:57], "") + "…"
}
