package data

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"ptc/runtime/chat"
	"ptc/runtime/storage"
	"ptc/runtime/tokenizer"
)

// Decoder is a tokenizer that can tell what tokens stand for.
type Decoder interface {
	Tokenizer
	// Stream begins to decode.
	Stream() Stream
}

// Stream gives the text of tokens as they come.
type Stream interface {
	// Next is the text that one more token completes; it may be empty.
	Next(id int32) []byte
	// Rest is what is held back of an incomplete character at the end.
	Rest() []byte
}

// TokenizerOf is the tokenizer that a run of the plan's data has: that of its
// option, or the one with which the shards of tokens were made, as the manifest
// next to them says. file is one that the user names, which must be the same where
// the plan or the manifest tells; empty: none is named. nil without an error: the
// data has no tokenizer. The error is an *Error.
func TokenizerOf(kind string, opts []Option, file string, b Batch) (Decoder, error) {
	name, hash, folders := locate(kind, opts, file, b)
	if name == "" {
		return nil, nil
	}
	t, err := findTokenizer(name, hash, folders...)
	if err != nil {
		return nil, asError(kind, err)
	}
	d, _ := t.(Decoder)
	return d, nil
}

// locate says what TokenizerOf looks for, and in which folders.
func locate(kind string, opts []Option, file string, b Batch) (name, hash string, folders []string) {
	name, hash = tokenizerOption(kind, opts)
	folders = []string{b.Folder}
	if name == "" && file == "" || name == "" && hash == "" {
		if m, folder := manifestOf(opts, b); m != nil {
			name, hash = m.TokenizerFile, m.Tokenizer
			folders = append(folders, folder)
		}
	}
	if file != "" {
		name, folders = file, nil
	}
	return name, hash, folders
}

// TemplateOf is the chat template next to the tokenizer that TokenizerOf finds, with what
// the plan's data says of it where o does not. The error is an *Error.
func TemplateOf(kind string, opts []Option, file string, b Batch, o chat.Options) (*chat.Template, error) {
	name, hash, folders := locate(kind, opts, file, b)
	if name == "" {
		return nil, asError(kind, errorf("the data has no tokenizer, and so no chat template next to one"))
	}
	c := chatOptions{tokenOptions: tokenOptions{tokenizer: name, hash: hash}}
	for _, x := range opts {
		switch {
		case kind != "chat" && kind != "preferences":
		case x.Key == "template":
			c.template = x.Value
		case x.Key == "date":
			c.date = x.Value
		}
	}
	if o.File != "" {
		c.template = o.File
	}
	t, err := findTemplate(c, o.Now, folders)
	if err != nil {
		return nil, asError(kind, err)
	}
	return t, nil
}

// tokenizerOption is what the options say of a tokenizer; those of a mixture have
// the first that any of its sources has, as their tokens must mean the same.
func tokenizerOption(kind string, opts []Option) (name, hash string) {
	if kind == "text" {
		name = bytesTokenizer{}.Name()
	}
	if kind == "mix" {
		for k := 1; ; k++ {
			kind, _, own := sourceOptions(opts, k)
			if kind == "" {
				return "", ""
			}
			if name, hash = tokenizerOption(kind, own); name != "" {
				return name, hash
			}
		}
	}
	for _, o := range opts {
		switch o.Key {
		case "tokenizer":
			name = o.Value
		case "tokenizer_sha256":
			hash = o.Value
		}
	}
	return name, hash
}

// sourceOptions are the options of the source of a number, from 1, in a mixture,
// whose keys begin with that number and a dot; no kind: there is no such source.
func sourceOptions(opts []Option, number int) (kind, weight string, own []Option) {
	for _, o := range opts {
		key, ok := strings.CutPrefix(o.Key, strconv.Itoa(number)+".")
		switch {
		case !ok:
		case key == "kind":
			kind = o.Value
		case key == "weight":
			weight = o.Value
		default:
			own = append(own, Option{key, o.Value})
		}
	}
	return kind, weight, own
}

// manifestOf is the manifest next to the shards, if they are here and have one.
func manifestOf(opts []Option, b Batch) (m *Manifest, folder string) {
	for _, o := range opts {
		if o.Key != "" && o.Key != "files" && !strings.HasSuffix(o.Key, ".files") {
			continue
		}
		files, err := findFiles([]string{o.Value}, nil, b.Vars)
		if err != nil {
			continue
		}
		for _, f := range files {
			if m, err := readManifest(storage.Sibling(f.path, manifestName)); err == nil {
				if storage.Remote(f.path) {
					return m, ""
				}
				return m, filepath.Dir(f.path)
			} else if !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
	}
	return nil, ""
}

// Stream is Decoder's.
func (f fileTokenizer) Stream() Stream { return f.t.Stream() }

var _ Stream = (*tokenizer.Stream)(nil)

// Stream is Decoder's.
func (bytesTokenizer) Stream() Stream { return byteStream{} }

// byteStream gives bytes as they come: a program that reads them puts characters
// together.
type byteStream struct{}

func (byteStream) Next(id int32) []byte { return []byte{byte(id)} }
func (byteStream) Rest() []byte         { return nil }
