package prepare

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"ptc/runtime/data"
	"ptc/runtime/tokenizer"
)

func gpt2(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	k, err := tokenizer.Open("../../tokenizer/testdata/gpt2.json")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

type record struct {
	Text string `parquet:"text" json:"text"`
	N    int64  `parquet:"n" json:"n"`
}

// corpusOf writes the texts in every format, and gives the folder.
func corpusOf(t testing.TB, texts []string) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var lines bytes.Buffer
	var rows []record
	for i, s := range texts {
		put(fmt.Sprintf("a%02d.txt", i), []byte(s))
		rows = append(rows, record{s, int64(i)})
		if err := json.NewEncoder(&lines).Encode(rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	put("b.jsonl", lines.Bytes())
	var z, g, p bytes.Buffer
	zw, err := zstd.NewWriter(&z)
	if err != nil {
		t.Fatal(err)
	}
	gw := gzip.NewWriter(&g)
	for _, w := range []interface {
		Write([]byte) (int, error)
		Close() error
	}{zw, gw} {
		if _, err := w.Write(lines.Bytes()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	put("c.jsonl.zst", z.Bytes())
	put("d.jsonl.gz", g.Bytes())
	if err := parquet.Write(&p, rows); err != nil {
		t.Fatal(err)
	}
	put("e.parquet", p.Bytes())
	return dir
}

func texts(n int) []string {
	var out []string
	for i := range n {
		out = append(out, strings.Repeat(fmt.Sprintf("document %d, é and 中 ", i), i%7+1))
	}
	return out
}

func bytesOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

// TestPrepare: the tokens of all documents are there in order, whatever the
// format, with any number of threads.
func TestPrepare(t *testing.T) {
	k, list := gpt2(t), texts(25)
	in := corpusOf(t, list)
	end, _ := k.Special("<|end|>")
	var want []int32
	for range 5 {
		for _, s := range list {
			ids, err := k.Encode([]byte(s))
			if err != nil {
				t.Fatal(err)
			}
			want = append(append(want, ids...), end)
		}
	}
	var first map[string]string
	for threads := 1; threads <= 3; threads++ {
		dir := filepath.Join(t.TempDir(), "out")
		m, err := Run(context.Background(), Options{Patterns: []string{in + "/*"}, Tokenizer: k, Dir: dir, ShardSize: 2000, Separator: "<|end|>", Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		if m.Documents != 125 || m.Tokens != int64(len(want)) || len(m.Shards) < 5 || m.DType != "u16" {
			t.Errorf("%d documents, %d tokens, %d shards of %s", m.Documents, m.Tokens, len(m.Shards), m.DType)
		}
		got, total, err := data.ReadTokens([]string{dir + "/*"}, "auto", 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" || total != int64(len(want)) {
			t.Error(total, d)
		}
		all := bytesOf(t, dir)
		if first == nil {
			first = all
		}
		if d := cmp.Diff(first, all); d != "" {
			t.Errorf("%d threads: %s", threads, d)
		}
	}
}

// TestResume: work that was interrupted goes on, and gives the same bytes.
func TestResume(t *testing.T) {
	k := gpt2(t)
	in := corpusOf(t, texts(25))
	o := Options{Patterns: []string{in + "/*"}, Tokenizer: k, ShardSize: 2000, Threads: 2}
	o.Dir = t.TempDir()
	if _, err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	want := bytesOf(t, o.Dir)
	for stop := 1; stop <= 4; stop++ {
		o.Dir = t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		o.Progress = func(p Progress) {
			if p.Shards == stop {
				cancel()
			}
		}
		if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped after %d shards: %v", stop, err)
		}
		for name := range bytesOf(t, o.Dir) {
			if strings.Contains(name, "tmp") || name == data.ManifestName {
				t.Errorf("%s is left", name)
			}
		}
		kept := 0
		o.Progress = func(p Progress) { kept = p.Kept }
		if _, err := Run(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		if kept < stop {
			t.Errorf("%d shards are kept of %d", kept, stop)
		}
		if d := cmp.Diff(want, bytesOf(t, o.Dir)); d != "" {
			t.Error(d)
		}
	}
	other := o
	other.Separator = "<|end|>"
	if _, err := Run(context.Background(), other); err == nil || !strings.Contains(err.Error(), "other options") {
		t.Errorf("other options: %v", err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "shard-00001.bin"), []byte("xx"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "has changed since it was written") {
		t.Errorf("a damaged shard: %v", err)
	}
}

// TestErrors: broken input is told with its file and place, and leaves no shard.
func TestErrors(t *testing.T) {
	for want, c := range map[string]struct{ name, text string }{
		"line 2: it is not a JSON object": {"a.jsonl", "{\"text\": \"x\"}\n{\"text\": \n"},
		`line 1: it has no column "text"`: {"a.jsonl", "{\"x\": 1}\n"},
		"neither text nor a list":         {"a.jsonl", "{\"text\": 1}\n"},
		"the token 5000 is not below":     {"a.jsonl", "{\"text\": [1, 5000]}\n"},
		"it is not a gzip stream":         {"a.txt.gz", "no"},
		"magic number mismatch":           {"a.txt.zst", "none at all"},
		"it is not a parquet file":        {"a.parquet", "PAR1 and no more PAR1"},
		"the files have no text":          {"a.txt", ""},
		"no file matches":                 {"b.txt", "x"},
	} {
		dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
		if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Run(context.Background(), Options{Patterns: []string{dir + "/a*"}, Tokenizer: gpt2(t), Dir: out, ShardSize: 1000})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if left, _ := filepath.Glob(out + "/*.bin"); len(left) > 0 && c.text != "" {
			t.Errorf("%s is left", left)
		}
	}
}
