package corpus

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

// packed is so many spaces and a record, compressed.
func packed(t *testing.T, spaces int) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	blank := bytes.Repeat([]byte(" "), 1<<20)
	for range spaces >> 20 {
		if _, err := z.Write(blank); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := z.Write([]byte("{\"text\":\"x\"}\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestBombs: a small file that becomes a large one is refused, and one that becomes a few times as long is read.
func TestBombs(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, raw []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, raw, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	read := func(path string) error { return Read(path, Columns{}, func(Document) error { return nil }) }
	for _, name := range []string{"a.txt.zst", "a.jsonl.zst"} {
		if err := read(put(name, packed(t, 96<<20))); err == nil || !strings.Contains(err.Error(), "decompress the file first") {
			t.Errorf("%s: %v", name, err)
		}
		if err := read(put(name, packed(t, 16<<20))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	type row struct {
		Text []int64 `parquet:"text,list,zstd"`
	}
	for _, n := range []int{maxValues + 1<<19, 1000} {
		var b bytes.Buffer
		if err := parquet.Write(&b, []row{{make([]int64, n)}}); err != nil {
			t.Fatal(err)
		}
		err := read(put("a.parquet", b.Bytes()))
		if large := n > maxValues; large != (err != nil) || large && !strings.Contains(err.Error(), "smaller row groups") {
			t.Errorf("%d values in %d bytes: %v", n, b.Len(), err)
		}
	}
}
