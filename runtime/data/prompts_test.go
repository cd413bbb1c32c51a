package data

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// turn is a record with a prompt.
type turn struct {
	Ask    string `json:"ask" parquet:"ask"`
	Answer string `json:"answer" parquet:"answer"`
}

func turns(seed uint64, n int) (list []turn) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		list = append(list, turn{words(r.Int64(), r.IntN(9)), words(r.Int64(), 1+r.IntN(9))})
	}
	return list
}

// packed is what the records are as tokens, and which of them may be targets.
func packed(list []turn, end byte) (tokens, targets []int32) {
	for _, x := range list {
		for i, b := range []byte(x.Ask + x.Answer + string(rune(end))) {
			tokens = append(tokens, int32(b))
			if i < max(1, len(x.Ask)) {
				targets = append(targets, notATarget)
			} else {
				targets = append(targets, int32(b))
			}
		}
	}
	return tokens, targets
}

// TestPrompts: records are packed one behind another, and what is of a prompt is no
// target, in files of every format, and in parts of a window.
func TestPrompts(t *testing.T) {
	list := turns(5, 60)
	var lines, zipped, table bytes.Buffer
	for _, x := range list {
		raw, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(raw, '\n'))
	}
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(lines.Bytes()); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	if err := parquet.Write(&table, list); err != nil {
		t.Fatal(err)
	}
	const window = 7
	for name, raw := range map[string][]byte{"a.jsonl": lines.Bytes(), "a.jsonl.gz": zipped.Bytes(), "a.parquet": table.Bytes()} {
		for _, end := range []byte{0, '~'} {
			opts := []Option{{"files", writeFiles(t, map[string][]byte{name: raw}) + "/" + name}, {"tokenizer", "bytes"},
				{"column", "answer"}, {"prompt", "ask"}}
			if end != 0 {
				opts = append(opts, Option{"separator", "126"})
			}
			s, err := sequential("tokens", opts, Batch{Size: 2, Window: window, Vocab: 256})
			if err != nil {
				t.Fatal(err)
			}
			tokens, targets := all(t, s, 2)
			wantTokens, wantTargets := packed(list, end)
			if d := cmp.Diff(wantTokens[:len(tokens)], tokens); d != "" || len(tokens) < len(wantTokens)-window-1 {
				t.Fatalf("%s: tokens\n%s", name, d)
			}
			if d := cmp.Diff(wantTargets[1:len(targets)+1], targets); d != "" {
				t.Errorf("%s: targets\n%s", name, d)
			}
			part := []View{{}, {Lo: []int{1, 3}, Hi: []int{2, 6}, I32: make([]int32, 3)}}
			if err := s.Fill(2, part); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(targets[3*window+3:3*window+6], part[1].I32); d != "" {
				t.Errorf("%s: a part of the targets\n%s", name, d)
			}
		}
	}
}

func TestPromptErrors(t *testing.T) {
	dir := writeFiles(t, map[string][]byte{"a.txt": []byte("text"), "a.jsonl": []byte(`{"ask": 3, "text": "x"}` + "\n")})
	for want, opts := range map[string][]Option{
		"needs a tokenizer":            {{"files", dir + "/a.jsonl"}, {"prompt", "ask"}},
		"neither JSON lines nor":       {{"files", dir + "/a.txt"}, {"prompt", "ask"}, {"tokenizer", "bytes"}},
		`no text in the column "ask"`:  {{"files", dir + "/a.jsonl"}, {"prompt", "ask"}, {"tokenizer", "bytes"}},
		`no text in the column "else"`: {{"files", dir + "/a.jsonl"}, {"prompt", "else"}, {"tokenizer", "bytes"}},
	} {
		_, err := Open("tokens", opts, Batch{Size: 1, Window: 2, Vocab: 256})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, and %q is expected", err, want)
		}
	}
}
