package prepare

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/runtime/data"
	"ptc/runtime/tokenizer"
)

// withFile are options whose tokenizer is a copy of that of gpt2 under a name, with text behind it.
func withFile(t *testing.T, name, behind string) Options {
	t.Helper()
	raw, err := os.ReadFile("../../tokenizer/testdata/gpt2.json")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, append(raw, behind...), 0o666); err != nil {
		t.Fatal(err)
	}
	k, err := tokenizer.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Tokenizer: k, File: path, ShardSize: 2000}
}

// TestFolder: a folder is as good as a pattern of its shards, whatever lies next to them.
func TestFolder(t *testing.T) {
	o := withFile(t, "tokenizer.json", "\n")
	o.Patterns, o.Dir = []string{corpusOf(t, texts(25)) + "/*"}, t.TempDir()
	left := filepath.Join(o.Dir, ".shard-00000.bin.tmp-1-0")
	if err := os.WriteFile(left, []byte("\x01\x00"), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what a killed process has left of a shard is there: %v", err)
	}
	for name, text := range map[string]string{filepath.Base(left): "\x01\x00", data.PartialName: "{}"} {
		if err := os.WriteFile(filepath.Join(o.Dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, pattern := range []string{o.Dir, o.Dir + "/*", o.Dir + "/*.bin"} {
		if _, total, err := data.ReadTokens([]string{pattern}, "auto", 0, 1); err != nil || total != m.Tokens {
			t.Errorf("%s: %d tokens and %v, want %d", pattern, total, err, m.Tokens)
		}
	}
}

// TestOtherTokenizer: a folder that is refused stays as it is, with the tokenizer of its shards.
func TestOtherTokenizer(t *testing.T) {
	o := withFile(t, "tokenizer.json", "\n")
	o.Patterns, o.Dir = []string{corpusOf(t, texts(3)) + "/*"}, t.TempDir()
	if _, err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	want := bytesOf(t, o.Dir)
	other := withFile(t, "tokenizer.json", "\n\n")
	other.Patterns, other.Dir = o.Patterns, o.Dir
	if _, err := Run(context.Background(), other); err == nil || !strings.Contains(err.Error(), "of another tokenizer") {
		t.Errorf("another tokenizer: %v", err)
	}
	if d := cmp.Diff(want, bytesOf(t, o.Dir)); d != "" {
		t.Error(d)
	}
	for _, name := range []string{"manifest.json", "shard-00000.bin"} {
		o := withFile(t, name, "")
		o.Patterns, o.Dir = other.Patterns, t.TempDir()
		if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "rename it") {
			t.Errorf("a tokenizer with the name %s: %v", name, err)
		}
	}
}

// TestChangedInPlace: a file that has other bytes and the same size is another input, whether the
// shards are all there or not. What an older program wrote does not say of which bytes it is.
func TestChangedInPlace(t *testing.T) {
	in := corpusOf(t, texts(25))
	for _, whole := range []bool{true, false} {
		o := withFile(t, "tokenizer.json", "\n")
		o.Patterns, o.Dir = []string{in + "/*.txt"}, t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		o.Progress = func(p Progress) {
			if p.Shards == 1 && !whole {
				cancel()
			}
		}
		o.ShardSize = 500
		if _, err := Run(ctx, o); (err == nil) != whole {
			t.Fatal(err)
		}
		cancel()
		if _, err := Run(context.Background(), o); err != nil {
			t.Errorf("the same files: %v", err)
		}
		path := filepath.Join(in, "a20.txt")
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(was), "document", "DOCUMENT", 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		want := bytesOf(t, o.Dir)
		if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "the files have changed since") {
			t.Errorf("changed in place: %v", err)
		}
		if d := cmp.Diff(want, bytesOf(t, o.Dir)); d != "" {
			t.Error(d)
		}
		manifest := filepath.Join(o.Dir, data.ManifestName)
		m, err := data.ReadManifest(manifest)
		if err != nil {
			t.Fatal(err)
		}
		older := strings.Replace(want[data.ManifestName], `"content": "`+m.Content+`",`, "", 1)
		if err := os.WriteFile(manifest, []byte(older), 0o666); err != nil || older == want[data.ManifestName] {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), o); err != nil {
			t.Errorf("shards of an older program: %v", err)
		}
		if err := os.WriteFile(path, was, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
