package prepare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/runtime/chat"
	"ptc/runtime/data"
	"ptc/runtime/tokenizer"
)

const chatTok = "../../chat/testdata/tok"

// talks writes conversations, and gives what makes tokens of them.
func talks(t *testing.T, n int) Options {
	t.Helper()
	tok, err := tokenizer.Open(chatTok)
	if err != nil {
		t.Fatal(err)
	}
	page, err := chat.Open(chatTok, tok, chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"messages":[{"role":"user","content":"say %d"},{"role":"assistant","content":"it is %d"}]}`+"\n", i, i)
	}
	in := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(in, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return Options{Patterns: []string{in}, Tokenizer: tok, File: chatTok, Chat: page, ShardSize: 3000, Dir: t.TempDir()}
}

// TestChat: what is prepared is what a source makes of the records itself, with any number
// of threads and after interruptions, and the template goes with it.
func TestChat(t *testing.T) {
	o := talks(t, 200)
	var first map[string]string
	for _, threads := range []int{1, 3} {
		o.Dir, o.Threads = t.TempDir(), threads
		ctx, cancel := context.WithCancel(context.Background())
		o.Progress = func(p Progress) {
			if p.Shards == 2 {
				cancel()
			}
		}
		if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		o.Progress = nil
		m, err := Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if m.Format != data.ConversationFormat || m.Documents != 200 || len(m.Shards) < 3 {
			t.Errorf("%+v", m)
		}
		if all := bytesOf(t, o.Dir); first == nil {
			first = all
		} else if d := cmp.Diff(first, all); d != "" {
			t.Errorf("%d threads: %s", threads, d)
		}
	}
	for _, name := range []string{"tokenizer.json", chat.ConfigName, chat.TemplateName} {
		if first[name] == "" {
			t.Errorf("%s is not next to the shards", name)
		}
	}
	b := data.Batch{Size: 4, Window: 50, Vocab: 480}
	files := func(pattern string, more ...data.Option) data.Source {
		s, err := data.Open("chat", append(more, data.Option{Key: "files", Value: pattern}, data.Option{Key: "valid", Value: "0"}, data.Option{Key: "shuffle", Value: "false"}), b)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	direct, prepared := files(o.Patterns[0], data.Option{Key: "tokenizer", Value: chatTok}), files(o.Dir+"/*")
	for step := int64(1); step <= direct.Examples()/4; step++ {
		var got [2][]data.View
		for i, s := range []data.Source{direct, prepared} {
			got[i] = []data.View{{I32: make([]int32, 200)}, {I32: make([]int32, 200)}}
			if err := s.Fill(step, got[i]); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(got[0], got[1]); d != "" {
			t.Fatalf("step %d: %s", step, d)
		}
	}
	list, total, err := data.ReadConversations([]string{o.Dir}, 199, 9)
	if err != nil || total != 200 || len(list) != 1 {
		t.Errorf("%d of %d, %v", len(list), total, err)
	}
	if ids, _, err := data.ReadTokens([]string{o.Dir + "/*.bin"}, "auto", 0, 1); err != nil || ids[0] != list[0].Tokens[0] {
		t.Errorf("%v, %v", ids, err)
	}
	if _, err := data.Open("tokens", []data.Option{{Key: "files", Value: o.Dir + "/*.bin"}}, b); err == nil || !strings.Contains(err.Error(), "use data.chat") {
		t.Errorf("as tokens: %v", err)
	}
	o.Pairs = true
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "other options") {
		t.Errorf("pairs in the same folder: %v", err)
	}
	shards, err := filepath.Glob(o.Dir + "/*.bin")
	if err != nil || len(shards) == 0 {
		t.Fatal(shards, err)
	}
	raw, err := os.ReadFile(shards[1])
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2]++
	if err := os.WriteFile(shards[1], raw, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := data.Open("chat", []data.Option{{Key: "files", Value: o.Dir + "/*"}}, b); err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("a shard with another byte: %v", err)
	}
}

// TestChatErrors: a record that is no conversation is told with its file and line.
func TestChatErrors(t *testing.T) {
	o := talks(t, 3)
	f, err := os.OpenFile(o.Patterns[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, `{"messages":[{"role":"user"}]}`)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "a.jsonl: line 4: the chat template") {
		t.Error(err)
	}
	o.Patterns = []string{filepath.Join(chatTok, chat.ConfigName)}
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "it is not a file of records") {
		t.Error(err)
	}
}
