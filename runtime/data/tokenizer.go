package data

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ptc/runtime/tokenizer"
)

// Tokenizer turns text into tokens below Vocab.
type Tokenizer interface {
	Name() string
	Vocab() int

	// Separator is the token put after each file; -1: none.
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

// findTokenizer gives a registered tokenizer by its name, or opens a file: from
// the current directory, or in one of the folders, such as that of the plan. hash is the file's SHA-256 as it was
// when the plan was compiled, empty where it was not there.
func findTokenizer(name, hash string, folders ...string) (Tokenizer, error) {
	if t, ok := tokenizers[name]; ok {
		return t, nil
	}
	paths := []string{name}
	for _, folder := range folders {
		if folder != "" && !filepath.IsAbs(name) {
			paths = append(paths, filepath.Join(folder, name))
		}
	}
	var wrong *Error
	for _, path := range paths {
		t, err := tokenizer.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, &Error{Path: path, Msg: "the tokenizer cannot be used", Err: cause(err)}
		}
		if hash == "" || t.Hash() == hash {
			return fileTokenizer{t}, nil
		}
		wrong = &Error{Path: path, Msg: fmt.Sprintf("this is another tokenizer (%.12s) than the plan was compiled with (%.12s)", t.Hash(), hash),
			Hint: "compile the plan again, or put the file back"}
	}
	if wrong != nil {
		return nil, wrong
	}
	return nil, &Error{Path: name, Msg: "there is no such file of a tokenizer",
		Hint: "it is looked for from the current directory and next to the plan; known: " + strings.Join(slices.Sorted(maps.Keys(tokenizers)), ", ")}
}

// fileTokenizer is a tokenizer of a file. It puts nothing between documents.
type fileTokenizer struct{ t *tokenizer.Tokenizer }

func (f fileTokenizer) Name() string     { return "sha256:" + f.t.Hash() }
func (f fileTokenizer) Vocab() int       { return f.t.Vocab() }
func (f fileTokenizer) Separator() int32 { return -1 }

func (f fileTokenizer) Encode(text []byte, emit func([]int32) error) error {
	ids, err := f.t.Encode(text)
	if err != nil {
		return err
	}
	return emit(ids)
}

func init() { RegisterTokenizer(bytesTokenizer{}) }

// bytesTokenizer makes each byte a token. NUL, which text does not hold, ends a
// file.
type bytesTokenizer struct{}

func (bytesTokenizer) Name() string     { return "bytes" }
func (bytesTokenizer) Vocab() int       { return 256 }
func (bytesTokenizer) Separator() int32 { return 0 }

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
