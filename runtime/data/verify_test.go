package data

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// preparedFolder is what "ptc data prepare" writes: shards of u16, each of n tokens, and their manifest.
func preparedFolder(t *testing.T, tokenizer string, shards, n int) string {
	t.Helper()
	dir := t.TempDir()
	m := Manifest{Format: ManifestFormat, DType: "u16", Vocab: 256, Tokenizer: tokenizer}
	for i := range shards {
		raw := make([]byte, 2*n)
		for k := range n {
			raw[2*k] = byte(i + k)
		}
		name := fmt.Sprintf("shard-%05d.bin", i)
		putRaw(t, filepath.Join(dir, name), raw)
		m.Shards = append(m.Shards, Shard{Name: name, Tokens: int64(n), Documents: 1, SHA256: fmt.Sprintf("%x", sha256.Sum256(raw))})
		m.Tokens += int64(n)
	}
	putManifest(t, dir, m)
	return dir
}

func putManifest(t *testing.T, dir string, m Manifest) {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	putRaw(t, filepath.Join(dir, ManifestName), text)
}

func putRaw(t *testing.T, path string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(path, raw, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestVerified: a folder that was prepared is read as its manifest says, or not at all.
func TestVerified(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		files  string // below the folder; "" is all
		dtype  string
		want   string
	}{
		"as written":         {change: func(*testing.T, string) {}},
		"a byte":             {want: "SHA-256 differs", change: func(t *testing.T, dir string) { flip(t, filepath.Join(dir, "shard-00001.bin"), 17) }},
		"a shorter shard":    {want: "the file has 49 tokens", change: func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, "shard-00001.bin"), 98) }},
		"half a token":       {want: "not a whole number", change: func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, "shard-00001.bin"), 99) }},
		"another's shard":    {want: "does not list it", change: func(t *testing.T, dir string) { putRaw(t, filepath.Join(dir, "shard-00003.bin"), make([]byte, 10)) }},
		"one that is known":  {files: "/shard-00003.bin", dtype: "u16", change: func(t *testing.T, dir string) { putRaw(t, filepath.Join(dir, "shard-00003.bin"), make([]byte, 10)) }},
		"another type":       {files: "/*.bin", dtype: "u32", want: "says u16", change: func(*testing.T, string) {}},
		"a lock":             {change: func(t *testing.T, dir string) { putRaw(t, filepath.Join(dir, ".lock"), []byte("{}")) }},
		"no manifest yet":    {want: "is incomplete", change: func(t *testing.T, dir string) { rename(t, dir, ManifestName, PartialName) }},
		"no manifest":        {change: func(t *testing.T, dir string) { remove(t, filepath.Join(dir, ManifestName)) }},
		"a broken manifest":  {files: "/*.bin", want: "cannot be used", change: func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, ManifestName), 50) }},
		"another's manifest": {files: "/*.bin", dtype: "u16", change: func(t *testing.T, dir string) { putRaw(t, filepath.Join(dir, ManifestName), []byte(`{"format":"x"}`)) }},
	} {
		dir := preparedFolder(t, "a", 3, 50)
		c.change(t, dir)
		if c.dtype == "" {
			c.dtype = "auto"
		}
		_, _, err := ReadTokens([]string{dir + c.files}, c.dtype, 0, 10)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	a, b, c := preparedFolder(t, "a", 1, 50), preparedFolder(t, "b", 1, 50), preparedFolder(t, "a", 2, 20)
	if _, _, err := ReadTokens([]string{a, b}, "auto", 0, 10); err == nil || !strings.Contains(err.Error(), "from another tokenizer") {
		t.Errorf("two tokenizers: %v", err)
	}
	if _, n, err := ReadTokens([]string{a, c}, "auto", 0, 10); err != nil || n != 90 {
		t.Errorf("two folders of one: %v", err)
	}
}

// TestMixOfTokenizers: sources of a mixture whose manifests name two tokenizers are refused.
func TestMixOfTokenizers(t *testing.T) {
	for _, c := range []struct{ a, b string }{{"a", "a"}, {"a", "b"}, {"a", ""}} {
		first, second := preparedFolder(t, c.a, 1, 50), preparedFolder(t, c.b, 1, 50)
		_, err := Open("mix", []Option{{"1.kind", "tokens"}, {"1.weight", "1"}, {"1.files", first}, {"1.valid", "0"}, {"2.kind", "tokens"}, {"2.weight", "1"}, {"2.files", second}, {"2.valid", "0"}},
			Batch{Size: 2, Window: 4})
		if refused := c.b == "b"; refused != (err != nil) || refused && !strings.Contains(err.Error(), "another tokenizer") {
			t.Errorf("%q and %q: %v", c.a, c.b, err)
		}
	}
}

// TestVerifiedBehind: what is too long to be hashed at once is hashed while it is read, and then ends that.
func TestVerifiedBehind(t *testing.T) {
	dir := preparedFolder(t, "a", 3, 50)
	flip(t, filepath.Join(dir, "shard-00002.bin"), 5)
	var list []prepared
	for i := range 3 {
		f := textFile{path: filepath.Join(dir, fmt.Sprintf("shard-%05d.bin", i))}
		f.name = f.path
		s, err := openStore(f, "auto", 0)
		if err != nil {
			t.Fatal(err)
		}
		m, err := ReadManifest(filepath.Join(dir, ManifestName))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, prepared{s, f.path, m.Shards[i]})
	}
	if err := hashShards(list, 150); err != nil {
		t.Fatal(err)
	}
	ids := make([]int32, 1)
	for i := 0; ; i++ {
		if err := list[2].store.copyTo(ids, 0); err != nil {
			if !strings.Contains(err.Error(), "SHA-256 differs") {
				t.Error(err)
			}
			return
		}
		if i > 1000 {
			t.Fatal("nothing is found")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func flip(t *testing.T, path string, at int) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[at] ^= 1
	putRaw(t, path, raw)
}

func truncate(t *testing.T, path string, n int64) {
	t.Helper()
	if err := os.Truncate(path, n); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, dir, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
