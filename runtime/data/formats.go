package data

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ptc/internal/units"
	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/checkpoint/folderlock"
	"ptc/runtime/storage"
)

// leaveOutCompanions drops what is next to tokens and describes them: the
// manifest and the tokenizer that it names, the index of a file that is listed itself, the lock of a process that
// prepares the folder, and what a process that was killed has left of a file that it had begun.
func leaveOutCompanions(files []textFile) []textFile {
	listed := map[string]bool{}
	drop := map[string]bool{}
	for _, f := range files {
		listed[f.path] = true
		if name := filepath.Base(f.path); name != ManifestName && name != PartialName {
			continue
		}
		drop[f.path] = true
		if m, err := readManifest(f.path); err == nil && m.TokenizerFile != "" { // what is wrong is told where tokens are read by it
			drop[storage.Sibling(f.path, m.TokenizerFile)] = true
			for _, name := range m.TemplateFiles {
				drop[storage.Sibling(f.path, name)] = true
			}
		}
	}
	return slices.DeleteFunc(files, func(f textFile) bool {
		bin, index := strings.CutSuffix(f.path, ".idx")
		name := filepath.Base(f.path)
		return drop[f.path] || index && listed[bin+".bin"] || atomicfile.Temporary(name) || name == folderlock.Name
	})
}

// openStore opens a file of tokens by what its name and its first bytes say.
func openStore(f textFile, dtype string, vocab int) (*store, error) {
	if bin, ok := strings.CutSuffix(f.path, ".idx"); ok {
		f.path, f.name = bin+".bin", strings.TrimSuffix(f.name, ".idx")+".bin"
	}
	file, err := storage.Open(f.path)
	if err != nil {
		return nil, &Error{Path: f.name, Msg: "cannot read", Err: cause(err)}
	}
	s, err := formatOf(f, file, file.Size(), dtype, vocab)
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return s, nil
}

func formatOf(f textFile, file io.ReaderAt, size int64, dtype string, vocab int) (*store, error) {
	head := make([]byte, min(size, llmcHeader))
	if _, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, &Error{Path: f.name, Msg: "cannot read", Err: cause(err)}
	}
	s := &store{file: file, name: f.name, vocab: vocab}
	if index, ok := strings.CutSuffix(f.path, ".bin"); ok {
		there, err := storage.Exists(index + ".idx")
		if err != nil {
			return nil, &Error{Path: f.name, Msg: "cannot look for its index .idx", Err: cause(err)}
		}
		if there {
			s.indexed = true
			return s, s.megatron(index+".idx", size)
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte(npyMagic)):
		return s, s.npy(head, size)
	case isLLMC(head):
		return s, s.llmc(head, size)
	case dtype == "auto" && likeLLMC(head, size):
		return s, &Error{Path: s.name, Msg: fmt.Sprintf("it looks like an llm.c file with the magic number %d, but only %d and %d are supported", binary.LittleEndian.Uint32(head), llmcGPT2, llmcLlama3),
			Hint: "write it with llm.c's dev/data, or give dtype where it has numbers and nothing else"}
	case dtype == "auto" && megatronName(f.path):
		return s, &Error{Path: s.name, Msg: "it is named like a Megatron file, but its index .idx is not next to it",
			Hint: "put the index there, or give dtype if the file has only numbers"}
	}
	return s, s.raw(f, size, dtype)
}

// lostIndex reports a file without an index among files that have theirs: it would be read as
// numbers and nothing else.
func lostIndex(stores []*store) error {
	indexed := slices.IndexFunc(stores, func(s *store) bool { return s.indexed })
	guessed := slices.IndexFunc(stores, func(s *store) bool { return s.guessed })
	if indexed < 0 || guessed < 0 {
		return nil
	}
	return &Error{Path: stores[guessed].name, Msg: "its index .idx is not next to it, but that of " + stores[indexed].name + " is",
		Hint: "put the index there, or give dtype if the file has only numbers"}
}

// megatronName is whether Megatron's preparation calls its files so: it puts what was read and what
// a sequence is behind their name.
func megatronName(path string) bool {
	return strings.HasSuffix(path, "_document.bin") || strings.HasSuffix(path, "_sentence.bin")
}

// raw is tokens and nothing else, as nanoGPT's prepare.py writes them
// (np.memmap of uint16).
func (s *store) raw(f textFile, size int64, dtype string) error {
	s.bare = true
	conversations := false
	if dtype == "auto" {
		m, err := readManifest(storage.Sibling(f.path, manifestName))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &Error{Path: f.name, Msg: "the " + manifestName + " next to it cannot be used", Err: err}
		}
		if err != nil {
			if err := unfinished(f); err != nil {
				return err
			}
		}
		if dtype = "u16"; err == nil {
			dtype, s.tokenizer = m.DType, "sha256:"+m.Tokenizer
			conversations, s.pairs = m.Format == ConversationFormat, m.Pairs
		} else if s.vocab > 1<<16 {
			return &Error{Path: s.name, Msg: fmt.Sprintf("its dtype is not given, and u16, the default, has no token above 65535, but the vocabulary has %d", s.vocab),
				Hint: "give dtype = u32, or dtype = u16 if it is that"}
		} else {
			s.guessed = true
		}
	}
	s.number, _ = findNumber(dtype)
	if conversations {
		s.number = marked
	}
	if size%int64(s.number.bytes) != 0 {
		return errorf("the file has %s, which is not a whole number of tokens of %s", units.Bytes(size), dtype).in(s.name, "give dtype, or leave the file out")
	}
	s.n = size / int64(s.number.bytes)
	if s.guessed {
		return s.widerThan(dtype, size)
	}
	return nil
}

// widerThan reports numbers that were taken for u16 where nothing says so, and whose every second one is 0: those
// of a wider type, as np.array gives them to tofile.
func (s *store) widerThan(dtype string, size int64) error {
	head := make([]byte, min(size, 4<<10)/8*8)
	if len(head) < 128 {
		return nil
	}
	if _, err := s.file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return &Error{Path: s.name, Msg: "cannot read", Err: cause(err)}
	}
	zero := [4]bool{true, true, true, true} // of each four numbers
	for i := 0; i < len(head); i += 2 {
		zero[i/2%4] = zero[i/2%4] && head[i] == 0 && head[i+1] == 0
	}
	wide := ""
	switch zero {
	case [4]bool{false, true, false, true}:
		wide = "u32"
	case [4]bool{false, true, true, true}:
		wide = "u64"
	default:
		return nil
	}
	return &Error{Path: s.name, Msg: fmt.Sprintf("its dtype is not given, and as %s, the default, only every %s number is not 0: it looks like %s", dtype, map[string]string{"u32": "second one", "u64": "fourth one"}[wide], wide),
		Hint: "give dtype = " + wide + ", or dtype = " + dtype + " where it is that"}
}

// llm.c's files have a header of 256 32-bit numbers: a magic number, a version
// and the number of tokens (github.com/karpathy/llm.c, dev/data/data_common.py).
const (
	llmcHeader = 256 * 4
	llmcGPT2   = 20240520 // version 1, u16
	llmcLlama3 = 20240801 // version 7, u32
)

// isLLMC is whether a file begins with one of the magic numbers, of any version.
func isLLMC(head []byte) bool {
	if len(head) < 8 {
		return false
	}
	magic := binary.LittleEndian.Uint32(head)
	return magic == llmcGPT2 || magic == llmcLlama3
}

// likeLLMC is whether a file has a header as llm.c's are, with another date for a magic number: the tokens that it
// counts are those that the file has.
func likeLLMC(head []byte, size int64) bool {
	if len(head) < llmcHeader {
		return false
	}
	magic, n := binary.LittleEndian.Uint32(head), int64(binary.LittleEndian.Uint32(head[8:]))
	return magic/1_0000 >= 2023 && magic/1_0000 < 2100 && n > 0 && (size-llmcHeader == 2*n || size-llmcHeader == 4*n)
}

func (s *store) llmc(head []byte, size int64) error {
	want := uint32(1)
	s.number, _ = findNumber("u16")
	if binary.LittleEndian.Uint32(head) == llmcLlama3 {
		s.number, _ = findNumber("u32")
		want = 7
	}
	if version := binary.LittleEndian.Uint32(head[4:]); version != want || len(head) < llmcHeader {
		return errorf("it looks like an llm.c file of version %d, but only version %d with a header of %d bytes is supported", version, want, llmcHeader).in(s.name, "write it with llm.c's dev/data, or without a header")
	}
	s.offset, s.n = llmcHeader, int64(binary.LittleEndian.Uint32(head[8:]))
	if bytes := s.offset + s.n*int64(s.number.bytes); bytes != size {
		return errorf("the header says %s, which are %s, but the file has %s", units.Count(s.n, "token"), units.Bytes(bytes), units.Bytes(size)).in(s.name, "")
	}
	return nil
}

// npy is an array with one axis in NumPy's format.
func (s *store) npy(head []byte, size int64) error {
	a, err := readNPY(head, size)
	if err != nil {
		return &Error{Path: s.name, Msg: err.Error()}
	}
	var ok bool
	if s.number, ok = findNumber(a.dtype); !ok || len(a.shape) != 1 {
		return errorf("the array has the type %s and the shape %v, but tokens are integers along one axis", a.dtype, a.shape).in(s.name, "")
	}
	s.offset, s.n = a.offset, a.shape[0]
	if a.foreign() {
		ordered, err := a.spool(s.file)
		if err != nil {
			return &Error{Path: s.name, Msg: "cannot be read", Err: cause(err)}
		}
		if c, ok := s.file.(io.Closer); ok {
			_ = c.Close() // was only read
		}
		s.file, s.offset = ordered, 0
	}
	return nil
}
