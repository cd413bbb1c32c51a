package data

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"runtime"

	"ptc/runtime/data/corpus"
	"ptc/runtime/storage"
)

// needsSpool reports whether a file cannot be read at any offset: it has records, or is
// a compressed stream.
func needsSpool(f textFile) bool { return corpus.Structured(f.path) || corpus.Compressed(f.path) }

// spooled reads a file once, and writes its tokens to a temporary file, which has
// no name any more once it is open, so that nothing is left of it whatever
// happens.
func spooled(f textFile, o shardOptions, tok Tokenizer) (*store, error) {
	if !corpus.Structured(f.path) && tok == nil {
		return unpacked(f, o.dtype, o.vocab)
	}
	s := &store{name: f.name, docs: []int64{}}
	s.number, _ = findNumber("i32")
	file, err := toSpool(func(w *bufio.Writer) error {
		return corpus.Read(f.path, corpus.Columns{Text: o.column, Prompt: o.prompt}, func(d corpus.Document) error {
			s.docs = append(s.docs, s.n)
			push := func(ids []int32) error {
				var raw [4]byte
				for _, id := range ids {
					binary.LittleEndian.PutUint32(raw[:], uint32(id))
					if _, err := w.Write(raw[:]); err != nil {
						return err
					}
				}
				s.n += int64(len(ids))
				return nil
			}
			if o.prompt != "" {
				return s.record(d, tok, int32(o.separator), push)
			}
			switch {
			case d.Tokens != nil:
				return push(d.Tokens)
			case tok == nil:
				return errors.New("it has text, but no tokenizer is given")
			}
			if err := tok.Encode(d.Text, push); err != nil || tok.Separator() < 0 {
				return err
			}
			return push([]int32{tok.Separator()})
		})
	})
	if err != nil {
		return nil, &Error{Path: f.name, Msg: "cannot be read", Err: cause(err)}
	}
	s.file = file
	return s, nil
}

// record pushes the tokens of a prompt, of its completion, and of the end of both:
// the user's separator, or the tokenizer's, which a model has to
// learn. The two texts are tokenized separately, so that no token spans both.
// The first token of a record is not a target even without a prompt, because it would be
// predicted from another record.
func (s *store) record(d corpus.Document, tok Tokenizer, separator int32, push func([]int32) error) error {
	from := s.n
	if err := tok.Encode(d.Prompt, push); err != nil {
		return err
	}
	s.prompts = append(s.prompts, tokenRange{from, max(s.n, from+1)})
	if d.Tokens != nil {
		if err := push(d.Tokens); err != nil {
			return err
		}
	} else if err := tok.Encode(d.Text, push); err != nil {
		return err
	}
	if separator < 0 {
		separator = tok.Separator()
	}
	if separator < 0 || s.n == from {
		return nil
	}
	return push([]int32{separator})
}

// unpacked decompresses a file of numbers.
func unpacked(f textFile, dtype string, vocab int) (*store, error) {
	size := int64(0)
	file, err := toSpool(func(w *bufio.Writer) error {
		in, err := storage.Open(f.path)
		if err != nil {
			return err
		}
		defer in.Close()
		r, done, err := corpus.Decompress(in, f.path, in.Size())
		if err != nil {
			return err
		}
		defer done()
		size, err = io.Copy(w, io.LimitReader(r, math.MaxInt64))
		return err
	})
	if err != nil {
		return nil, &Error{Path: f.name, Msg: "cannot be decompressed", Err: cause(err)}
	}
	s, err := formatOf(f, file, size, dtype, vocab)
	if err != nil {
		_ = file.Close()
	}
	return s, err
}

// toSpool returns a temporary file with the output of fill.
func toSpool(fill func(w *bufio.Writer) error) (*os.File, error) {
	file, err := os.CreateTemp("", "ptc-tokens-*")
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" { // there an open file must keep its name
		if err := os.Remove(file.Name()); err != nil {
			_ = file.Close()
			return nil, err
		}
	}
	w := bufio.NewWriterSize(file, 1<<16)
	if err = fill(w); err == nil {
		err = w.Flush()
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
