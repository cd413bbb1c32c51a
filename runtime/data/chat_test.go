package data

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/runtime/chat"
	"ptc/runtime/tokenizer"
)

const chatTok = "../chat/testdata/tok"

// talks are random conversations as lines of JSON, and their tokens.
func talks(t *testing.T, seed uint64, n int) (lines []byte, want []chat.Encoded) {
	t.Helper()
	tok, err := tokenizer.Open(chatTok)
	if err != nil {
		t.Fatal(err)
	}
	page, err := chat.Open(chatTok, tok, chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 3))
	for range n {
		var list []map[string]string
		for k := range 1 + r.IntN(4) {
			list = append(list, map[string]string{"role": []string{"user", "assistant"}[k%2], "content": words(r.Int64(), 1+r.IntN(8))})
		}
		raw, err := json.Marshal(map[string]any{"messages": list})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, raw...), '\n')
		c, err := chat.Parse(raw, chat.Columns{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := page.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, e)
	}
	return lines, want
}

// wanted are the fields of a conversation that begins at a place of a window.
func wanted(e chat.Encoded, length int) (tokens, targets []int32) {
	for i := range min(length, len(e.Tokens)) {
		target := int32(notATarget)
		if i+1 < len(e.Tokens) && e.Target[i+1] {
			target = e.Tokens[i+1]
		}
		tokens, targets = append(tokens, e.Tokens[i]), append(targets, target)
	}
	return tokens, targets
}

// ends are the encoded conversations with at most so many tokens, the last ones.
func ends(list []chat.Encoded, n int) (out []chat.Encoded) {
	for _, e := range list {
		from := max(0, len(e.Tokens)-n)
		out = append(out, chat.Encoded{Tokens: e.Tokens[from:], Target: e.Target[from:]})
	}
	return out
}

// TestChat: every conversation has a window of its own, cut and padded, and each part of
// a window is that part of all of it.
func TestChat(t *testing.T) {
	for _, side := range []string{"right", "left"} {
		t.Run(side, func(t *testing.T) { chatWindows(t, side) })
	}
}

func chatWindows(t *testing.T, side string) {
	const window, batch = 40, 3
	lines, want := talks(t, 1, 31)
	if side == "left" {
		want = ends(want, window+1)
	}
	dir := writeFiles(t, map[string][]byte{"a.jsonl": lines})
	opts := []Option{{"files", dir + "/a.jsonl"}, {"tokenizer", chatTok}, {"pad", "2"}, {"truncation", side}}
	s, err := sequential("chat", opts, Batch{Size: batch, Window: window, Vocab: 480})
	if err != nil {
		t.Fatal(err)
	}
	if s.Examples() != 31 || !strings.Contains(s.Describe(), "31 conversations") || !strings.Contains(s.Describe(), "are truncated") || strings.Contains(s.Describe(), "at the beginning") != (side == "left") {
		t.Errorf("%d examples: %s", s.Examples(), s.Describe())
	}
	for n, e := range want {
		tokens, targets := wanted(e, window)
		for len(tokens) < window {
			tokens, targets = append(tokens, 2), append(targets, notATarget)
		}
		step, row := int64(n/batch+1), n%batch
		got := []View{{I32: make([]int32, batch*window)}, {I32: make([]int32, batch*window)}}
		if err := s.Fill(step, got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([][]int32{tokens, targets}, [][]int32{got[0].I32[row*window:][:window], got[1].I32[row*window:][:window]}); d != "" {
			t.Fatalf("conversation %d: %s", n, d)
		}
		part := []View{{}, {Lo: []int{row, 7}, Hi: []int{row + 1, 29}, I32: make([]int32, 22)}}
		if err := s.Fill(step, part); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(targets[7:29], part[1].I32); d != "" {
			t.Fatalf("a part of conversation %d: %s", n, d)
		}
	}
	all, err := Open("chat", append(opts, Option{"valid", "0.2"}), Batch{Size: batch, Window: window, Vocab: 480})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(all.Describe(), "6 for validation") {
		t.Error(all.Describe())
	}
}

// TestChatPacked: whole conversations share windows, each once, with numbers and places
// that begin anew, and nothing is predicted across them.
func TestChatPacked(t *testing.T) {
	for _, side := range []string{"right", "left"} {
		t.Run(side, func(t *testing.T) { packedWindows(t, 150, side) })
	}
	packedWindows(t, 60, "left") // most are cut
}

func packedWindows(t *testing.T, window int, side string) {
	lines, want := talks(t, 2, 60)
	if side == "left" {
		want = ends(want, window+1)
	}
	dir := writeFiles(t, map[string][]byte{"a.jsonl": lines})
	s, err := sequential("chat", []Option{{"files", dir + "/a.jsonl"}, {"tokenizer", chatTok}, {"pack", "true"}, {"documents", "true"}, {"truncation", side}}, Batch{Size: 1, Window: window, Vocab: 480})
	if err != nil {
		t.Fatal(err)
	}
	if window == 150 && s.Examples() >= 60 {
		t.Fatalf("%d windows", s.Examples())
	}
	seen := map[string]int{}
	for step := int64(1); step <= s.Examples(); step++ {
		v := make([]View, 4)
		for i := range v {
			v[i].I32 = make([]int32, window)
		}
		if err := s.Fill(step, v); err != nil {
			t.Fatal(err)
		}
		for at := 0; at < window; {
			to := at + 1
			for to < window && v[2].I32[to] == v[2].I32[at] {
				to++
			}
			for i := at; i < to; i++ {
				if int(v[3].I32[i]) != i-at {
					t.Fatalf("window %d: place %d of a conversation from %d on is %d", step, i, at, v[3].I32[i])
				}
			}
			seen[fmt.Sprint(v[0].I32[at:to], v[1].I32[at:to])]++
			at = to
		}
	}
	for n, e := range want {
		tokens, targets := wanted(e, window)
		if key := fmt.Sprint(tokens, targets); seen[key] == 0 {
			t.Errorf("conversation %d is in no window", n)
		} else {
			seen[key]--
		}
	}
}

// TestPreferences: each pair is one example of two answers, whose prompt is no target.
func TestPreferences(t *testing.T) {
	const window = 30
	text := `{"prompt":"a?","chosen":"yes","rejected":"no"}
{"chosen":[{"role":"user","content":"a?"},{"role":"assistant","content":"yes"}],"rejected":[{"role":"user","content":"a?"},{"role":"assistant","content":"no"}]}
`
	dir := writeFiles(t, map[string][]byte{"a.jsonl": []byte(text)})
	s, err := sequential("preferences", []Option{{"files", dir + "/a.jsonl"}, {"tokenizer", chatTok}}, Batch{Size: 2, Window: window, Vocab: 480})
	if err != nil {
		t.Fatal(err)
	}
	v := make([]View, 4)
	for i := range v {
		v[i].I32 = make([]int32, 2*window)
	}
	if err := s.Fill(1, v); err != nil {
		t.Fatal(err)
	}
	tok, _ := tokenizer.Open(chatTok)
	for side, word := range []string{"yes", "no"} {
		var said [2][]int32
		for row := range said {
			for _, id := range v[2*side+1].I32[row*window : (row+1)*window] {
				if id >= 0 {
					said[row] = append(said[row], id)
				}
			}
			if got := string(tok.Decode(said[row])); got != word+"<|im_end|>" {
				t.Errorf("row %d is to predict %q", row, got)
			}
		}
	}
}

// TestChatErrors: what is no conversation is an error with its place.
func TestChatErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"text":"x"}`:                   `line 1: it is no conversation`,
		`{"messages":[]}`:                "line 1: it has no messages",
		`{"messages":"x"}`:               `its column "messages" is not a list of messages`,
		`{"messages":[{"content":"x"}]}`: `message 0 of its column "messages": it has no "role"`,
		`{"messages":[3]}`:               `message 0 of its column "messages" is not an object`,
		"{\"prompt\":\"x\",\"completion\":\"y\"}\n{\"prompt\":3,\"completion\":\"y\"}": `line 2: its column "prompt" is not a list of messages`,
		`{"instruction":"x","output":3}`:                                               `its column "output" is not text`,
		`{"messages":[{"role":"user"}]}`:                                               "the chat template: line",
		`{"messages":[{"role":"user","content":"x"}]}`:                                 "no token of 1 conversations is a target",
		`not JSON`: "line 1: it is not a JSON object",
	} {
		dir := writeFiles(t, map[string][]byte{"a.jsonl": []byte(text + "\n")})
		_, err := Open("chat", []Option{{"files", dir + "/a.jsonl"}, {"tokenizer", chatTok}}, Batch{Size: 1, Window: 9})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, and %q is expected", text, err, want)
		}
	}
	dir := writeFiles(t, map[string][]byte{"a.jsonl": []byte("{}\n"), "a.bin": make([]byte, 64)})
	page := dir + "/dated.jinja"
	if err := os.WriteFile(page, []byte("{{ strftime_now('%Y') }}{% for m in messages %}{{ m.content }}{% endfor %}"), 0o666); err != nil {
		t.Fatal(err)
	}
	talk := writeFiles(t, map[string][]byte{"b.jsonl": []byte(`{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}` + "\n")})
	for want, opts := range map[string][]Option{
		"need a tokenizer":        {{"files", dir + "/a.jsonl"}},
		"does not exist":          {{"files", dir + "/a.jsonl"}, {"tokenizer", dir + "/none"}},
		"has no chat template":    {{"files", dir + "/a.jsonl"}, {"tokenizer", "../tokenizer/testdata/gpt2.json"}},
		"it has no conversations": {{"files", dir + "/a.bin"}, {"tokenizer", chatTok}},
		"name a date":             {{"files", talk + "/b.jsonl"}, {"tokenizer", chatTok}, {"template", page}},
		"is not a date":           {{"files", talk + "/b.jsonl"}, {"tokenizer", chatTok}, {"date", "soon"}},
	} {
		_, err := Open("chat", opts, Batch{Size: 1, Window: 9})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, and %q is expected", err, want)
		}
	}
}
