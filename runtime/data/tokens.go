package data

import (
	"encoding/binary"
	"hash"
)

// tokens is a long sequence of tokens, a byte each where the vocabulary allows.
type tokens struct {
	narrow []uint8
	wide   []int32
}

func (t *tokens) len() int64 { return int64(max(len(t.narrow), len(t.wide))) }

// copyTo writes the tokens from pos on.
func (t *tokens) copyTo(dst []int32, pos int64) error {
	if t.wide != nil {
		copy(dst, t.wide[pos:])
		return nil
	}
	src := t.narrow[pos : pos+int64(len(dst))]
	for i, b := range src {
		dst[i] = int32(b)
	}
	return nil
}

func (t *tokens) hashTo(h hash.Hash) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(t.len()))
	h.Write(n[:])
	h.Write(t.narrow)
	for _, v := range t.wide {
		binary.LittleEndian.PutUint32(n[:4], uint32(v))
		h.Write(n[:4])
	}
}

// tokenize joins the pieces into one sequence, with a separator after each.
// Every token must be below vocab.
func tokenize(pieces []piece, tok Tokenizer, vocab int) (tokens, error) {
	var t tokens
	bytes := 0
	for _, p := range pieces {
		bytes += len(p.text)
	}
	if tok.Vocab() <= 256 {
		t.narrow = make([]uint8, 0, bytes+len(pieces))
	} else {
		t.wide = make([]int32, 0, bytes/4)
	}
	if sep := int(tok.Separator()); sep >= vocab {
		return t, errorf("the separator of tokenizer %s is token %d, but the vocabulary has %d",
			tok.Name(), sep, vocab)
	}
	for _, p := range pieces {
		if len(p.text) == 0 {
			continue
		}
		start := t.len()
		err := tok.Encode(p.text, func(ids []int32) error {
			for _, id := range ids {
				if id < 0 || int(id) >= vocab {
					return errorf("token %d of the file is %d, but the vocabulary has %d",
						t.len()-start, id, vocab).in(p.name, "raise vocab, or leave the file out")
				}
				t.push(id)
			}
			return nil
		})
		if err != nil {
			return t, err
		}
		if sep := tok.Separator(); sep >= 0 {
			t.push(sep)
		}
	}
	return t, nil
}

func (t *tokens) push(id int32) {
	if t.wide != nil {
		t.wide = append(t.wide, id)
	} else {
		t.narrow = append(t.narrow, uint8(id))
	}
}
