package data

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ptc/internal/units"
	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/storage"
)

// leaveOutCompanions drops what lies beside tokens and describes them: the
// manifest and the tokenizer that it names, the index of a file that is listed itself,
// and what a process that was killed has left of a file that it had begun.
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
			drop[storage.Beside(f.path, m.TokenizerFile)] = true
		}
	}
	return slices.DeleteFunc(files, func(f textFile) bool {
		bin, index := strings.CutSuffix(f.path, ".idx")
		return drop[f.path] || index && listed[bin+".bin"] || atomicfile.Temporary(filepath.Base(f.path))
	})
}

// openStore opens a file of tokens by what its name and its first bytes say.
func openStore(f textFile, dtype string) (*store, error) {
	if bin, ok := strings.CutSuffix(f.path, ".idx"); ok {
		f.path, f.name = bin+".bin", strings.TrimSuffix(f.name, ".idx")+".bin"
	}
	file, err := storage.Open(f.path)
	if err != nil {
		return nil, &Error{Path: f.name, Msg: "cannot read", Err: cause(err)}
	}
	s, err := formatOf(f, file, file.Size(), dtype)
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return s, nil
}

func formatOf(f textFile, file io.ReaderAt, size int64, dtype string) (*store, error) {
	head := make([]byte, min(size, llmcHeader))
	if _, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, &Error{Path: f.name, Msg: "cannot read", Err: cause(err)}
	}
	s := &store{file: file, name: f.name}
	if index, ok := strings.CutSuffix(f.path, ".bin"); ok {
		there, err := storage.Exists(index + ".idx")
		if err != nil {
			return nil, &Error{Path: f.name, Msg: "cannot look for its index .idx", Err: cause(err)}
		}
		if there {
			return s, s.megatron(index+".idx", size)
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte(npyMagic)):
		return s, s.npy(head, size)
	case isLLMC(head):
		return s, s.llmc(head, size)
	}
	return s, s.raw(f, size, dtype)
}

// raw is tokens and nothing else, as nanoGPT's prepare.py writes them
// (np.memmap of uint16).
func (s *store) raw(f textFile, size int64, dtype string) error {
	if dtype == "auto" {
		m, err := readManifest(storage.Beside(f.path, manifestName))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &Error{Path: f.name, Msg: "the " + manifestName + " beside it cannot be used", Err: err}
		}
		if dtype = "u16"; err == nil {
			dtype = m.DType
		}
	}
	s.number, _ = findNumber(dtype)
	if size%int64(s.number.bytes) != 0 {
		e := errorf("the file has %s, which is no whole number of tokens of %s", units.Bytes(size), dtype)
		e.Path, e.Hint = s.name, "give dtype, or leave the file out"
		return e
	}
	s.n = size / int64(s.number.bytes)
	return nil
}

// llm.c's files have a header of 256 32-bit numbers: a magic number, a version
// and the number of tokens (github.com/karpathy/llm.c, dev/data/data_common.py).
const (
	llmcHeader = 256 * 4
	llmcGPT2   = 20240520 // version 1, u16
	llmcLlama3 = 20240801 // version 7, u32
)

func isLLMC(head []byte) bool {
	if len(head) < llmcHeader {
		return false
	}
	magic, version := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:])
	return magic == llmcGPT2 && version == 1 || magic == llmcLlama3 && version == 7
}

func (s *store) llmc(head []byte, size int64) error {
	s.number, _ = findNumber("u16")
	if binary.LittleEndian.Uint32(head) == llmcLlama3 {
		s.number, _ = findNumber("u32")
	}
	s.offset, s.n = llmcHeader, int64(binary.LittleEndian.Uint32(head[8:]))
	if want := s.offset + s.n*int64(s.number.bytes); want != size {
		e := errorf("the header says %s, which are %s, and the file has %s", units.Count(s.n, "token"), units.Bytes(want), units.Bytes(size))
		e.Path = s.name
		return e
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
		e := errorf("the array has the type %s and the shape %v, and tokens are whole numbers along one axis", a.dtype, a.shape)
		e.Path = s.name
		return e
	}
	s.offset, s.n = a.offset, a.shape[0]
	return nil
}
