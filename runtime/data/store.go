package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
)

// number is how a token is kept in a file.
type number struct {
	name   string
	bytes  int
	signed bool
	marked bool // the upper bits are no part of the token
}

// numbers are the types that tokens may have; all little-endian.
var numbers = []number{{name: "u8", bytes: 1}, {name: "u16", bytes: 2}, {name: "u32", bytes: 4}, {name: "u64", bytes: 8},
	{name: "i8", bytes: 1, signed: true}, {name: "i16", bytes: 2, signed: true}, {name: "i32", bytes: 4, signed: true}, {name: "i64", bytes: 8, signed: true}}

func findNumber(name string) (number, bool) {
	for _, n := range numbers {
		if n.name == name {
			return n, true
		}
	}
	return number{}, false
}

// bits reads a number, and extends its sign.
func (n number) bits(b []byte) (v uint64) {
	switch n.bytes {
	case 1:
		v = uint64(b[0])
	case 2:
		v = uint64(binary.LittleEndian.Uint16(b))
	case 4:
		v = uint64(binary.LittleEndian.Uint32(b))
	default:
		v = binary.LittleEndian.Uint64(b)
	}
	if n.signed {
		v = uint64(int64(v<<(64-8*n.bytes)) >> (64 - 8*n.bytes))
	}
	return v
}

// at reads a token; what does not fit 32 bits is -1, which no vocabulary has.
func (n number) at(b []byte) int32 {
	v := n.bits(b)
	if n.marked {
		v &= tokenBits
	}
	if v > math.MaxInt32 {
		return -1
	}
	return int32(v)
}

// store is the tokens of a file, which stay there: they are read where a batch
// needs them, so that a corpus may be larger than memory. To read and not to map
// the file makes an error of one that is cut short, where a mapping would be a
// fault; what is read again is in the system's cache either way.
type store struct {
	file   io.ReaderAt
	name   string // for errors
	offset int64  // of the first token
	number number
	n      int64 // tokens
	vocab  int   // tokens must be below it; 0: any

	// indexed is whether an index says what the file has, and guessed whether nothing does, so that
	// its type is the usual one.
	indexed, guessed bool

	// bare is whether the file has numbers and nothing else.
	bare bool

	// failed is what a check that goes on behind the run has found to be wrong.
	failed atomic.Pointer[Error]

	// pairs is whether every two conversations are the answers to one prompt.
	pairs bool

	tokenizer string // that the tokens are of, as far as that is known

	// docs are the first tokens of documents, ascending; nil where the format
	// does not say, so that the file is one.
	docs []int64

	// prompts are the tokens that no target is, where records have a prompt:
	// ranges, ascending.
	prompts []tokenRange
}

// tokenRange is the tokens [from, to).
type tokenRange struct{ from, to int64 }

// pieces are read at once, in memory that is used again.
var pieces = sync.Pool{New: func() any { return new([1 << 14]byte) }}

func (s *store) len() int64 { return s.n }

func (s *store) copyTo(dst []int32, pos int64) error { return s.copyAs(s.number, s.vocab, dst, pos) }

// copyAs reads numbers of the file as those of a type, below vocab where that is above 0.
func (s *store) copyAs(number number, vocab int, dst []int32, pos int64) error {
	if e := s.failed.Load(); e != nil {
		return e
	}
	buf := pieces.Get().(*[1 << 14]byte)
	defer pieces.Put(buf)
	most := len(buf) / number.bytes
	for len(dst) > 0 {
		n := min(len(dst), most)
		raw := buf[:n*number.bytes]
		if err := s.readAt(raw, pos*int64(number.bytes)); err != nil {
			return err
		}
		for i := range dst[:n] {
			v := number.at(raw[i*number.bytes:])
			if v < 0 || vocab > 0 && int(v) >= vocab {
				return s.badToken(pos+int64(i), raw[i*number.bytes:][:number.bytes])
			}
			dst[i] = v
		}
		dst, pos = dst[n:], pos+int64(n)
	}
	return nil
}

// readAt reads bytes from a place behind the first token.
func (s *store) readAt(raw []byte, at int64) error {
	return readFull(s.file, s.name, raw, s.offset+at)
}

// readFull reads bytes of a file that had them when it was opened.
func readFull(file io.ReaderAt, name string, raw []byte, at int64) error {
	got, err := file.ReadAt(raw, at)
	if got == len(raw) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the file was truncated since it was opened")
	}
	return &Error{Path: name, Msg: "cannot read", Err: cause(err)}
}

func (s *store) badToken(pos int64, raw []byte) error {
	v := fmt.Sprint(s.number.bits(raw))
	if s.number.signed {
		v = fmt.Sprint(int64(s.number.bits(raw)))
	}
	e := errorf("token %d is %s, read as %s", pos, v, s.number.name)
	if s.vocab > 0 {
		e.Msg += fmt.Sprintf(", but the vocabulary has %d", s.vocab)
	}
	return e.in(s.name, "was it made with another tokenizer, or with another dtype?")
}
