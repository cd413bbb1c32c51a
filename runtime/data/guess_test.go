package data

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuesses: where nothing says what the numbers of a file are, those of a wider type than u16 are refused, and
// so is a header of llm.c with another magic number; what the user says counts.
func TestGuesses(t *testing.T) {
	words := func(bytes, n int) []byte {
		var out []byte
		for i := range n {
			out = append(out, binary.LittleEndian.AppendUint64(nil, uint64(1+i%250))[:bytes]...)
		}
		return out
	}
	header := func(magic uint32, n, bytes int) []byte {
		h := make([]byte, llmcHeader)
		binary.LittleEndian.PutUint32(h, magic)
		binary.LittleEndian.PutUint32(h[4:], 1)
		binary.LittleEndian.PutUint32(h[8:], uint32(n))
		return append(h, words(bytes, n)...)
	}
	for name, c := range map[string]struct {
		raw         []byte
		dtype, want string
	}{
		"u16":                  {words(2, 500), "auto", ""},
		"u32":                  {words(4, 500), "auto", "it looks like u32 (give dtype = u32"},
		"u64":                  {words(8, 500), "auto", "it looks like u64 (give dtype = u64"},
		"u32, as said":         {words(4, 500), "u32", ""},
		"u32, said to be u16":  {words(4, 500), "u16", ""},
		"zeros":                {make([]byte, 1000), "auto", ""},
		"few numbers":          {words(4, 20), "auto", ""},
		"llm.c":                {header(llmcGPT2, 100, 2), "auto", ""},
		"llm.c, another magic": {header(20250101, 100, 2), "auto", "the magic number 20250101"},
		"the same, wide":       {header(20250101, 100, 4), "auto", "the magic number 20250101"},
		"the same, said":       {header(20250101, 100, 2), "u16", ""},
	} {
		path := filepath.Join(t.TempDir(), "a.bin")
		putRaw(t, path, c.raw)
		_, _, err := ReadTokens([]string{path}, c.dtype, 0, 1)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
