package data

import (
	"maps"
	"slices"
	"strings"
)

// Tokenizer turns text into tokens below Vocab.
type Tokenizer interface {
	Name() string
	Vocab() int

	// Separator is the token put after each file.
	Separator() int32

	// Encode hands the tokens of a whole file to emit, piece by piece; emit
	// does not keep the pieces.
	Encode(text []byte, emit func([]int32) error) error
}

var tokenizers = map[string]Tokenizer{}

// RegisterTokenizer adds a tokenizer. It is called from init only.
func RegisterTokenizer(t Tokenizer) {
	if _, dup := tokenizers[t.Name()]; dup {
		panic("data: tokenizer " + t.Name() + " registered twice")
	}
	tokenizers[t.Name()] = t
}

// Decoder is a tokenizer that can tell what a token stands for.
type Decoder interface {
	Tokenizer
	// Decode is the text of a token, which may be a part of a character.
	Decode(id int32) []byte
}

// FindTokenizer is the tokenizer of a plan's data; empty stands for bytes. The error is
// an *Error.
func FindTokenizer(name string) (Tokenizer, error) {
	if name == "" {
		name = bytesTokenizer{}.Name()
	}
	t, err := findTokenizer(name)
	if err != nil {
		return nil, asError("tokenizer", err)
	}
	return t, nil
}

func findTokenizer(name string) (Tokenizer, error) {
	if t, ok := tokenizers[name]; ok {
		return t, nil
	}
	e := errorf("there is no tokenizer %q", name)
	e.Hint = "known: " + strings.Join(slices.Sorted(maps.Keys(tokenizers)), ", ")
	return nil, e
}

func init() { RegisterTokenizer(bytesTokenizer{}) }

// bytesTokenizer makes each byte a token. NUL, which text does not hold, ends a
// file.
type bytesTokenizer struct{}

func (bytesTokenizer) Name() string     { return "bytes" }
func (bytesTokenizer) Vocab() int       { return 256 }
func (bytesTokenizer) Separator() int32 { return 0 }

func (bytesTokenizer) Decode(id int32) []byte { return []byte{byte(id)} }

func (bytesTokenizer) Encode(text []byte, emit func([]int32) error) error {
	var piece [4096]int32
	for len(text) > 0 {
		n := min(len(text), len(piece))
		for i, b := range text[:n] {
			piece[i] = int32(b)
		}
		if err := emit(piece[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}
