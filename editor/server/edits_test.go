package server

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sourcegraph/jsonrpc2"

	"ptc/editor/text"
)

// pieces are what random edits put in, besides pieces of the text itself.
var pieces = []string{"", " ", "\n", "(", ")", "{", "}", "[", "]", "=", ".", "\"", "/*", "//", "ö", "\U0001F600", "\r", "x", "embed", "fn f(", "std.", "over = ", "~", "1e9", "\xff", "if a {", "layout l { shard ",
	"machine m {", "level node {", " from \"x\"", "peak bf16 = ", "1e999 TB/s"}

// TestRandomEdits: requests about texts that random edits damaged are all answered, and
// none finds a bug.
func TestRandomEdits(t *testing.T) {
	names, err := filepath.Glob("../../examples/*/*.ptl")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d examples (%v)", len(names), err)
	}
	machines, err := filepath.Glob("../../foresight/machine/machines/*.ptm")
	if err != nil || len(machines) < 5 {
		t.Fatalf("%d machines (%v)", len(machines), err)
	}
	names = append(names, machines...)
	dice := rand.New(rand.NewSource(7))
	c := start(t)
	c.initialize()
	var waiting sync.WaitGroup
	for round := range 8 {
		name := names[dice.Intn(len(names))]
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		uri := "untitled:" + string(rune('a'+round%3)) + filepath.Ext(name)
		if round%2 == 0 {
			uri = "file:///nowhere/" + string(rune('a'+round%3)) + filepath.Ext(name)
		}
		now := text.New(string(src))
		c.open(uri, now.String)
		for version := range 12 {
			now = text.Apply(now, []text.Edit{edit(dice, now)})
			c.change(uri, strings.ToValidUTF8(now.String, "?"), version+2)
			for range 2 {
				method, params := ask(dice, uri, now)
				waiting.Add(1)
				go func() {
					defer waiting.Done()
					var r json.RawMessage
					err := c.call(method, params, &r)
					var e *jsonrpc2.Error
					if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &e) && (e.Code == jsonrpc2.CodeInternalError || e.Code == jsonrpc2.CodeInvalidParams) {
						t.Errorf("%s %v: %v", method, params, err)
					}
				}()
			}
		}
		waiting.Wait()
	}
	c.quit()
}

func edit(dice *rand.Rand, t *text.Text) text.Edit {
	from := dice.Intn(len(t.String) + 1)
	to := min(from+dice.Intn(20), len(t.String))
	r := t.Range(from, to)
	put := pieces[dice.Intn(len(pieces))]
	if dice.Intn(3) == 0 {
		i := dice.Intn(len(t.String) + 1)
		put = t.String[i:min(i+dice.Intn(60), len(t.String))]
	}
	return text.Edit{Range: &r, Text: put}
}

func ask(dice *rand.Rand, uri string, t *text.Text) (string, map[string]any) {
	methods := []string{"hover", "definition", "references", "completion", "completion", "signatureHelp", "rename", "prepareRename", "inlayHint", "codeLens",
		"codeAction", "semanticTokens/full", "documentSymbol", "foldingRange", "formatting"}
	p := t.Position(dice.Intn(len(t.String) + 1))
	if dice.Intn(10) == 0 {
		p.Line, p.Character = dice.Intn(300), dice.Intn(300)
	}
	r := text.Range{Start: p, End: p}
	if dice.Intn(2) == 0 {
		r = t.Range(0, len(t.String))
	}
	return "textDocument/" + methods[dice.Intn(len(methods))], map[string]any{"textDocument": map[string]any{"uri": uri}, "position": p,
		"range": r, "newName": "renamed", "context": map[string]any{}}
}

// FuzzView: a text of any kind is answered about at any place.
func FuzzView(f *testing.F) {
	f.Add("config { n = 2 }\nfn f(x: [n]) { return x.sum(over = n) }\n", 3, 5)
	f.Add("fn f(x) { return “x” && .5 + ! }\nmodule A { a = 2  param w : [n:3,] }\nlayout l { mesh a = 2  shard b over a  shard b over a, (", 2, 7)
	f.Add("layout l { shard a over b { ", 0, 20)
	f.Fuzz(func(t *testing.T, src string, line, char int) {
		s := &server{running: map[jsonrpc2.ID]context.CancelFunc{}, docs: map[string]*document{}, programs: map[string]*state{}}
		d := &document{uri: "untitled:x", text: text.New(src)}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		n := &state{main: d, cancel: cancel, done: make(chan struct{}), compiled: make(chan struct{})}
		s.docs[d.uri], s.programs[d.uri] = d, n
		n.run(ctx, inputOf(d, []*document{d}, nil, "", ""), 0)
		if n.bug != nil {
			t.Fatal(n.bug)
		}
		params, err := json.Marshal(map[string]any{"textDocument": map[string]any{"uri": d.uri}, "position": text.Position{Line: line, Character: char},
			"range": text.Range{End: text.Position{Line: 1 << 20}}, "newName": "renamed"})
		if err != nil {
			t.Fatal(err)
		}
		for method, answer := range requests {
			if strings.HasPrefix(method, "textDocument/") {
				_, _ = answer(ctx, s, params) // a panic ends the test
			}
		}
	})
}
