package data

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/runtime/tokenizer"
)

// ids are random tokens below vocab.
func ids(seed uint64, n, vocab int) []int32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(r.IntN(vocab))
	}
	return out
}

// encode writes tokens as numbers of a type.
func encode(dtype string, list []int32) []byte {
	n, ok := findNumber(dtype)
	if !ok {
		panic(dtype)
	}
	var out []byte
	for _, v := range list {
		out = append(out, binary.LittleEndian.AppendUint64(nil, uint64(int64(v)))[:n.bytes]...)
	}
	return out
}

func npyFile(descr string, shape string, body []byte) []byte {
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape)
	head += strings.Repeat(" ", 64-(len(head)+11)%64) + "\n"
	out := append([]byte(npyMagic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(head)))
	return append(append(out, head...), body...)
}

func llmcFile(magic, version uint32, dtype string, list []int32) []byte {
	head := make([]byte, llmcHeader)
	binary.LittleEndian.PutUint32(head, magic)
	binary.LittleEndian.PutUint32(head[4:], version)
	binary.LittleEndian.PutUint32(head[8:], uint32(len(list)))
	return append(head, encode(dtype, list)...)
}

// megatronIndexFile has a sequence for each length, which is a document.
func megatronIndexFile(code byte, width int, lengths ...int) []byte {
	out := append([]byte(megatronMagic), 1, 0, 0, 0, 0, 0, 0, 0, code)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(lengths)))
	out = binary.LittleEndian.AppendUint64(out, uint64(len(lengths)+1))
	for _, n := range lengths {
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
	}
	at := 0
	for _, n := range lengths {
		out = binary.LittleEndian.AppendUint64(out, uint64(at))
		at += n * width
	}
	for i := range len(lengths) + 1 {
		out = binary.LittleEndian.AppendUint64(out, uint64(i))
	}
	return out
}

func writeFiles(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// all reads the windows of a source in order.
func all(t testing.TB, s Source, batch int) (tokens, targets []int32) {
	t.Helper()
	windows := int(s.Examples())
	for step := range (windows + batch - 1) / batch {
		v := fillT(t, s, int64(step+1))
		tokens, targets = append(tokens, v[0].I32...), append(targets, v[1].I32...)
	}
	end := windows * s.Fields()[0].Shape[1]
	return tokens[:end], targets[:end] // the last batch begins again
}

// TestShardFormats: every format gives the tokens that were written, window by
// window, across files.
func TestShardFormats(t *testing.T) {
	a, b := ids(1, 101, 250), ids(2, 5000, 250)
	for name, files := range map[string]map[string][]byte{
		"u16":      {"a.bin": encode("u16", a), "b.bin": encode("u16", b)},
		"manifest": {"a.bin": encode("u32", a), "b.bin": encode("u32", b), "manifest.json": []byte(`{"format": "ptc tokens 1", "dtype": "u32"}`)},
		"llm.c":    {"a.bin": llmcFile(llmcGPT2, 1, "u16", a), "b.bin": llmcFile(llmcLlama3, 7, "u32", b)},
		"npy":      {"a.npy": npyFile("<i8", "101,", encode("i64", a)), "b.npy": npyFile("|u1", "5000,", encode("u8", b))},
		"megatron": {"a.bin": encode("i32", a), "a.idx": megatronIndexFile(4, 4, 50, 51), "b.bin": encode("u16", b), "b.idx": megatronIndexFile(8, 2, 5000)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeFiles(t, files)
			s, err := sequential("tokens", []Option{{"files", dir + "/*"}, {"valid", "0.3"}}, Batch{Size: 3, Window: 7, Vocab: 250})
			if err != nil {
				t.Fatal(err)
			}
			want := append(append([]int32{}, a...), b...)
			n := (len(want) - 1) / 7
			if s.Examples() != int64(n) {
				t.Fatalf("%d windows, want %d", s.Examples(), n)
			}
			tokens, targets := all(t, s, 3)
			if d := cmp.Diff(want[:7*n], tokens); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(want[1:7*n+1], targets); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestShardsShuffle: an epoch has every window once, and the steps of a source
// that is opened anew are the same.
func TestShardsShuffle(t *testing.T) {
	list := make([]int32, 961)
	for i := range list {
		list[i] = int32(i)
	}
	dir := writeFiles(t, map[string][]byte{"a.bin": encode("u16", list)})
	open := func() Source {
		return openT(t, "tokens", Batch{Size: 4, Window: 8, Seed: 3}, Option{"files", dir}, Option{"valid", "0"})
	}
	s, seen := open(), map[int32]int{}
	for step := range int64(30) {
		v := fillT(t, s, step+1)
		for r := range 4 {
			seen[v[0].I32[8*r]]++
		}
	}
	for w := range int32(120) {
		if seen[8*w] != 1 {
			t.Errorf("window %d comes %d times in an epoch", w, seen[8*w])
		}
	}
	if d := cmp.Diff(fillT(t, s, 17), fillT(t, open(), 17)); d != "" {
		t.Error(d)
	}
	last := openT(t, "tokens", Batch{Size: 4, Window: 8, Seed: 3}, Option{"files", dir}, Option{"valid", "0"}, Option{"predict", "last"})
	got, want := fillT(t, last, 5)[1].I32, fillT(t, s, 5)[1].I32
	for r := range got {
		if got[r] != want[8*r+7] {
			t.Errorf("row %d: target %d, want %d", r, got[r], want[8*r+7])
		}
	}
}

// TestShardsHoldOut: what is held out is not trained on.
func TestShardsHoldOut(t *testing.T) {
	list := make([]int32, 4000)
	for i := range list {
		list[i] = int32(i)
	}
	for name, files := range map[string]map[string][]byte{
		"ends":  {"a.bin": encode("u16", list)},
		"files": {"a.bin": encode("u16", list[:1000]), "b.bin": encode("u16", list[1000:2000]), "c.bin": encode("u16", list[2000:3000]), "d.bin": encode("u16", list[3000:])},
	} {
		dir := writeFiles(t, files)
		s := openT(t, "tokens", Batch{Size: 1, Window: 10}, Option{"files", dir}, Option{"valid", "0.25"})
		train := map[int32]bool{}
		for step := range s.Tokens() / 10 {
			for _, v := range fillT(t, s, step+1)[1].I32 {
				train[v] = true
			}
		}
		if n := heldBatches(s); n != 99 {
			t.Errorf("%s: %d batches for validation", name, n)
		}
		for i := range heldBatches(s) {
			v := whole(s)
			if err := heldOut(s, i, v); err != nil {
				t.Fatal(err)
			}
			for _, x := range v[0].I32 {
				if train[x] && v[0].I32[0] != x {
					t.Fatalf("%s: token %d is in both", name, x)
				}
			}
		}
	}
}

// TestShardsDocuments: numbers and places restart where documents begin, by an
// index, by files, and by separators.
func TestShardsDocuments(t *testing.T) {
	list := []int32{5, 6, 9, 7, 9, 1, 2, 3, 4, 9, 8, 8, 8}
	for name, c := range map[string]struct {
		files map[string][]byte
		opts  []Option
	}{
		"index":     {map[string][]byte{"a.bin": encode("u16", list), "a.idx": megatronIndexFile(8, 2, 3, 2, 5, 3)}, nil},
		"files":     {map[string][]byte{"a.bin": encode("u16", list[:3]), "b.bin": encode("u16", list[3:5]), "c.bin": encode("u16", list[5:10]), "d.bin": encode("u16", list[10:])}, nil},
		"separator": {map[string][]byte{"a.bin": encode("u16", list)}, []Option{{"separator", "9"}}},
	} {
		dir := writeFiles(t, c.files)
		opts := append([]Option{{"files", dir + "/*"}, {"documents", "true"}}, c.opts...)
		s, err := sequential("tokens", opts, Batch{Size: 2, Window: 6})
		if err != nil {
			t.Fatal(err)
		}
		v := fillT(t, s, 1)
		want := [][]int32{
			{5, 6, 9, 7, 9, 1, 2, 3, 4, 9, 8, 8},
			{6, 9, -1, 9, -1, 2, 3, 4, 9, -1, 8, 8},
			{0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 1, 1},
			{0, 1, 2, 0, 1, 0, 0, 1, 2, 3, 0, 1},
		}
		for i, w := range want {
			if d := cmp.Diff(w, v[i].I32); d != "" {
				t.Errorf("%s: %s: %s", name, s.Fields()[i].Name, d)
			}
		}
	}
}

// TestRecords: documents of JSON lines and parquet, and compressed streams, give
// the tokens that they have, or that a tokenizer makes of their text.
func TestRecords(t *testing.T) {
	list := ids(5, 900, 200)
	var lines, both, texts bytes.Buffer
	var want []int32
	for i := 0; i < len(list); i += 90 {
		fmt.Fprintf(&lines, "{\"x\": %s}\n", strings.ReplaceAll(fmt.Sprint(list[i:i+90]), " ", ", "))
		text := fmt.Sprintf("document %d", i)
		fmt.Fprintf(&texts, "{\"text\": %q}\n\n", text)
		for _, b := range []byte(text) {
			want = append(want, int32(b))
		}
		want = append(want, 0)
	}
	z := gzip.NewWriter(&both)
	if _, err := z.Write(encode("u16", list)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := writeFiles(t, map[string][]byte{"a.jsonl": lines.Bytes(), "b.bin.gz": both.Bytes(), "c.jsonl": texts.Bytes()})
	for _, c := range []struct {
		name string
		want []int32
		opts []Option
	}{
		{"a.jsonl", list, []Option{{"column", "x"}}},
		{"b.bin.gz", list, nil},
		{"c.jsonl", want, []Option{{"tokenizer", "bytes"}}},
	} {
		s, err := sequential("tokens", append(c.opts, Option{"files", filepath.Join(dir, c.name)}), Batch{Size: 1, Window: 7, Vocab: 256})
		if err != nil {
			t.Fatal(err)
		}
		tokens, _ := all(t, s, 1)
		if d := cmp.Diff(c.want[:(len(c.want)-1)/7*7], tokens); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	if _, err := Open("tokens", []Option{{"files", dir + "/c.jsonl"}}, Batch{Size: 1, Window: 7}); err == nil || !strings.Contains(err.Error(), "no tokenizer is given") {
		t.Error(err)
	}
}

// TestTokenizerFile: a text is cut by a tokenizer's file, which must be the one
// that the plan was compiled with, and have no more tokens than the model.
func TestTokenizerFile(t *testing.T) {
	const name = "../tokenizer/testdata/gpt2.json"
	k, err := tokenizer.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := writeFiles(t, map[string][]byte{"a.txt": []byte(strings.Repeat("Some text. ", 99))})
	want, err := k.Encode([]byte(strings.Repeat("Some text. ", 99)))
	if err != nil {
		t.Fatal(err)
	}
	opts := []Option{{"files", dir}, {"tokenizer", name}, {"tokenizer_sha256", k.Hash()}}
	s, err := sequential("text", opts, Batch{Size: 1, Window: 4, Vocab: k.Vocab()})
	if err != nil {
		t.Fatal(err)
	}
	tokens, _ := all(t, s, 1)
	if d := cmp.Diff(want[:(len(want)-1)/4*4], tokens); d != "" {
		t.Error(d)
	}
	if _, err := Open("text", opts, Batch{Size: 1, Window: 4, Vocab: k.Vocab() - 1}); err == nil || !strings.Contains(err.Error(), "but the model's vocabulary") {
		t.Error(err)
	}
	opts[2].Value = strings.Repeat("0", 64)
	if _, err := Open("text", opts, Batch{Size: 1, Window: 4}); err == nil || !strings.Contains(err.Error(), "another tokenizer") {
		t.Error(err)
	}
	if _, err := Open("text", []Option{{"files", dir}, {"tokenizer", "gpt2.json"}}, Batch{Size: 1, Window: 4, Folder: "../tokenizer/testdata"}); err != nil {
		t.Error(err)
	}
}

// TestShardErrors: what is wrong with a file is said with its name.
func TestShardErrors(t *testing.T) {
	a := encode("u16", ids(1, 100, 200))
	short := llmcFile(llmcGPT2, 1, "u16", ids(1, 100, 200))
	for want, files := range map[string]map[string][]byte{
		"not a whole number of tokens":       {"a.bin": a[:99]},
		"the header says 100":                {"a.bin": short[:len(short)-2]},
		"the vocabulary has 200":             {"a.bin": append(bytes.Clone(a), 200, 0)},
		"which is not an integer":            {"a.bin": a, "a.idx": megatronIndexFile(7, 4, 50)},
		"sequence 1 does not begin where":    {"a.bin": a, "a.idx": megatronIndexFile(8, 4, 50, 50)},
		"it is truncated":                    {"a.bin": a, "a.idx": megatronIndexFile(8, 2, 50, 50)[:60]},
		"tokens are integers along one axis": {"a.npy": npyFile("<f4", "10,", make([]byte, 40))},
		"the array needs":                    {"a.npy": npyFile("<u2", "10,", make([]byte, 10))},
		"its format is \"x\"":                {"a.bin": a, "manifest.json": []byte(`{"format": "x"}`)},
		"files have 3 tokens for training":   {"a.bin": a[:6]},
		"all 1 files are empty":              {"a.bin": nil},
	} {
		dir := writeFiles(t, files)
		s, err := sequential("tokens", []Option{{"files", dir + "/*"}}, Batch{Size: 1, Window: 4, Vocab: 200})
		if err == nil {
			err = s.Fill(s.Examples(), whole(s))
		}
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzIndex: no bytes make a reader of headers fail other than by an error.
func FuzzIndex(f *testing.F) {
	f.Add(megatronIndexFile(8, 2, 3, 4), int64(14))
	f.Add(npyFile("<u2", "10,", make([]byte, 20)), int64(148))
	f.Add(llmcFile(llmcGPT2, 1, "u16", []int32{1, 2}), int64(1028))
	f.Add([]byte(`{"format": "ptc tokens 1", "dtype": "u16"}`), int64(3))
	f.Fuzz(func(t *testing.T, raw []byte, size int64) {
		if s := (&store{}); s.megatronIndex(raw, size) == nil {
			for i, d := range s.docs {
				if d < 0 || d >= s.n || i > 0 && d < s.docs[i-1] {
					t.Fatalf("documents %v of %d tokens", s.docs, s.n)
				}
			}
		}
		if a, err := readNPY(raw, size); err == nil && (a.offset > size || a.offset < 10) {
			t.Fatalf("%+v of %d", a, size)
		}
		_, _ = parseManifest(raw)
	})
}
