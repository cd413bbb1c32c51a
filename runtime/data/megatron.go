package data

import (
	"encoding/binary"
	"fmt"
	"io"

	"ptc/internal/units"
	"ptc/runtime/storage"
)

// megatronMagic begins the index of Megatron's indexed datasets. Behind it
// are a version (u64, 1), a code of the tokens' type (u8), the number of sequences
// and of documents' bounds (u64 both), the lengths of the sequences (i32), where
// they begin in the file next to it, in bytes (i64), and the sequences at which
// documents begin, with the number of sequences as the last one (i64).
// github.com/NVIDIA/Megatron-LM, megatron/core/datasets/indexed_dataset.py.
const megatronMagic = "MMIDIDX\x00\x00"

// megatronNumbers are the types by their codes; 6 and 7 are floats.
var megatronNumbers = map[byte]string{1: "u8", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 8: "u16"}

// maxMegatronIndex bounds an index, which is read into memory.
const maxMegatronIndex = 4 << 30

const megatronHead = len(megatronMagic) + 8 + 1 + 8 + 8

// megatron reads the index of the file.
func (s *store) megatron(path string, size int64) error {
	raw, err := readAll(path, maxMegatronIndex)
	if err == nil {
		err = s.megatronIndex(raw, size)
	}
	if err != nil {
		return &Error{Path: s.name, Msg: "its index .idx cannot be used", Err: cause(err)}
	}
	return nil
}

func (s *store) megatronIndex(raw []byte, size int64) error {
	if len(raw) < megatronHead || string(raw[:len(megatronMagic)]) != megatronMagic {
		return fmt.Errorf("it is not one of Megatron's")
	}
	head := raw[len(megatronMagic):]
	if v := binary.LittleEndian.Uint64(head); v != 1 {
		return fmt.Errorf("version %d is not known", v)
	}
	var ok bool
	if s.number, ok = findNumber(megatronNumbers[head[8]]); !ok {
		return fmt.Errorf("its elements have type %d, which is no whole number", head[8])
	}
	sequences, bounds := binary.LittleEndian.Uint64(head[9:]), binary.LittleEndian.Uint64(head[17:])
	body := uint64(len(raw) - megatronHead)
	if sequences > body/12 || bounds > body/8 || sequences*12+bounds*8 > body {
		return fmt.Errorf("it is cut short: %d sequences and %d bounds of documents do not fit %d bytes", sequences, bounds, body)
	}
	lengths := raw[megatronHead:]
	pointers := lengths[4*sequences:]
	docs := pointers[8*sequences:]
	starts := make([]int64, sequences+1)
	for i := range sequences {
		n := int32(binary.LittleEndian.Uint32(lengths[4*i:]))
		at := int64(binary.LittleEndian.Uint64(pointers[8*i:]))
		if n < 0 || at != starts[i]*int64(s.number.bytes) {
			return fmt.Errorf("sequence %d does not begin where the one before ends", i)
		}
		starts[i+1] = starts[i] + int64(n)
	}
	s.n = starts[sequences]
	if want := s.n * int64(s.number.bytes); want != size {
		return fmt.Errorf("it says %s, which are %s, and the file has %s", units.Count(s.n, "token"), units.Bytes(want), units.Bytes(size))
	}
	last := int64(0)
	for i := range bounds {
		d := int64(binary.LittleEndian.Uint64(docs[8*i:]))
		if d < last || d > int64(sequences) {
			return fmt.Errorf("document %d begins at sequence %d of %d", i, d, sequences)
		}
		if last = d; starts[d] < s.n {
			s.docs = append(s.docs, starts[d])
		}
	}
	return nil
}

// readAll reads a file of at most limit bytes.
func readAll(path string, limit int64) ([]byte, error) {
	f, err := storage.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("it is longer than %s", units.Bytes(limit))
	}
	return raw, err
}
