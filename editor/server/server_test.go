package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"ptc/editor/protocol"
	"ptc/editor/text"
)

// client is an editor at the other end of two pipes.
type client struct {
	t    *testing.T
	conn *jsonrpc2.Conn
	end  chan error // what Serve returned

	mu   sync.Mutex
	told map[string][]protocol.Diagnostic // by URI, the latest ones
	news chan struct{}
}

// start begins a session. Its answers wait for compilations.
func start(t *testing.T) *client {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	c := &client{t: t, end: make(chan error, 1), told: map[string][]protocol.Diagnostic{}, news: make(chan struct{}, 1000)}
	go func() {
		c.end <- Serve(context.Background(), in, out, Options{Delay: time.Millisecond, Patience: time.Minute, Library: filepath.Join(t.TempDir(), "std")})
	}()
	c.conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewBufferedStream(stream{fromServer, toServer}, protocol.Codec{}), c,
		jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	t.Cleanup(func() { toServer.Close(); fromServer.Close() })
	return c
}

// Handle takes what the server says unasked.
func (c *client) Handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	if !r.Notif {
		_ = conn.Reply(ctx, r.ID, nil)
		return
	}
	var p protocol.PublishParams
	if r.Method == "textDocument/publishDiagnostics" && json.Unmarshal(*r.Params, &p) == nil {
		c.mu.Lock()
		c.told[p.URI] = p.Diagnostics
		c.mu.Unlock()
		c.news <- struct{}{}
	}
}

func (c *client) call(method string, params, result any) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return c.conn.Call(ctx, method, params, result)
}

func (c *client) must(method string, params, result any) {
	c.t.Helper()
	if err := c.call(method, params, result); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

func (c *client) notify(method string, params any) {
	c.t.Helper()
	if err := c.conn.Notify(context.Background(), method, params); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) initialize() {
	c.t.Helper()
	var r struct{ Capabilities map[string]any }
	c.must("initialize", map[string]any{"capabilities": map[string]any{}}, &r)
	if r.Capabilities["hoverProvider"] != true {
		c.t.Fatalf("%v", r.Capabilities)
	}
	c.notify("initialized", map[string]any{})
}

func (c *client) open(uri, text string) {
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "ptl", "version": 1, "text": text}})
}

func (c *client) change(uri, text string, version int) {
	c.notify("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": uri, "version": version},
		"contentChanges": []any{map[string]any{"text": text}}})
}

// shows waits until the diagnostics of a document are so many, and one says something.
func (c *client) shows(uri string, n int, says string) {
	c.t.Helper()
	c.waits(uri, func(list []protocol.Diagnostic) bool {
		return len(list) == n && (n == 0 || strings.Contains(list[0].Message, says))
	})
}

// waits waits for diagnostics of a document.
func (c *client) waits(uri string, ok func([]protocol.Diagnostic) bool) {
	c.t.Helper()
	limit := time.After(time.Minute)
	for {
		c.mu.Lock()
		list, told := c.told[uri]
		c.mu.Unlock()
		if told && ok(list) {
			return
		}
		select {
		case <-c.news:
		case <-limit:
			c.t.Fatalf("%s has %v", uri, list)
		}
	}
}

// at is the position of a text in a source.
func at(t *testing.T, uri, src, what string) map[string]any {
	t.Helper()
	i := strings.Index(src, what)
	if i < 0 {
		t.Fatalf("no %q", what)
	}
	line := strings.Count(src[:i], "\n")
	return map[string]any{"textDocument": map[string]any{"uri": uri},
		"position": map[string]any{"line": line, "character": i - strings.LastIndexByte(src[:i], '\n') - 1}}
}

func (c *client) quit() {
	c.t.Helper()
	c.must("shutdown", nil, nil)
	c.notify("exit", nil)
	if err := <-c.end; err != nil {
		c.t.Errorf("the session ended with %v", err)
	}
}

func gpt(t *testing.T) (uri, src string) {
	t.Helper()
	path, err := filepath.Abs("../../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return uriOf(path), string(text)
}

func TestSession(t *testing.T) {
	c := start(t)
	c.initialize()
	uri, src := gpt(t)
	c.open(uri, src)
	var h protocol.Hover
	c.must("textDocument/hover", at(t, uri, src, "q = dot("), &h)
	if !strings.Contains(h.Contents.Value, "[batch=16, seq=128, heads=4, head=32]") || !strings.Contains(h.Contents.Value, "1.00 MiB per device") {
		t.Errorf("%s", h.Contents.Value)
	}
	c.shows(uri, 0, "")

	// Another layout, by a command.
	c.must("workspace/executeCommand", map[string]any{"command": "ptc.layout", "arguments": []any{uri, "three_d"}}, nil)
	c.must("textDocument/hover", at(t, uri, src, "q = dot("), &h)
	if !strings.Contains(h.Contents.Value, "`three_d`: `bf16[batch=4@dp, seq=128, heads=4@tp, head=32]`") {
		t.Errorf("%s", h.Contents.Value)
	}
	var lenses []protocol.CodeLens
	c.must("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": uri}}, &lenses)
	if len(lenses) != 3 {
		t.Fatalf("%d lenses", len(lenses))
	}
	c.must("codeLens/resolve", lenses[2], &lenses[2])
	if title := lenses[2].Command.Title; !strings.Contains(title, "collectives, ") || !strings.Contains(title, "MiB per device under three_d") {
		t.Errorf("%q", title)
	}

	// Another target, by the settings.
	c.notify("workspace/didChangeConfiguration", map[string]any{"settings": map[string]any{"ptc": map[string]any{"layout": "single", "target": "cuda"}}})
	c.must("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": uri}}, &lenses)
	c.must("codeLens/resolve", lenses[2], &lenses[2])
	if title := lenses[2].Command.Title; !strings.Contains(title, "MiB per device under single on cuda") {
		t.Errorf("%q", title)
	}

	// A mistake, and its end.
	c.change(uri, strings.Replace(src, "over = embed)\n    k", "over = embd)\n    k", 1), 2)
	c.shows(uri, 1, "unknown axis `embd`")
	c.change(uri, src, 3)
	c.shows(uri, 0, "")
	c.change(uri, strings.Replace(src, "q = dot(x, wq, over = embed)", "q = dot(x, wq,", 1), 4)
	c.shows(uri, 1, "never closed")
	c.must("textDocument/hover", at(t, uri, src, "h = x + attn"), &h)
	if !strings.Contains(h.Contents.Value, "[batch=16, seq=128, embed=128]") {
		t.Errorf("of the program before the edit: %s", h.Contents.Value)
	}
	c.change(uri, src, 5)
	c.shows(uri, 0, "")

	// A file of the standard library.
	var places []protocol.Location
	c.must("textDocument/definition", at(t, uri, src, "MLP(act"), &places)
	text, err := os.ReadFile(pathOf(places[0].URI))
	if err != nil || !strings.Contains(string(text), "module MLP(") {
		t.Fatalf("%v, %v", places, err)
	}
	c.open(places[0].URI, string(text))
	c.shows(places[0].URI, 0, "")
	c.quit()
}

// TestImports: mistakes of a file that is imported are at their place, in the text that
// the editor has of it; and what is asked about it is answered by the program.
func TestImports(t *testing.T) {
	dir := t.TempDir()
	main := "import \"part.ptl\" as p\nimport std.data\nimport std.optim\nconfig { n = 4  batch = 2  k = 3 }\nmodel Net {\n  a : p.Layer\n  fn apply(x: [batch, n]) { return a(x) }\n}\n" +
		"train Net {\n  loss = mean(Net(x)) + mean(y)\n  optimizer = optim.AdamW(lr = 1e-2)\n  data = data.synthetic(n, k)\n}\n"
	part := "module Layer {\n  param w : [n, k] ~ zeros\n  fn apply(x) {\n    u = dot(x, w, over = n)\n    return u\n  }\n}\n"
	for name, text := range map[string]string{"main.ptl": main, "part.ptl": part} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	uri, uriPart := uriOf(filepath.Join(dir, "main.ptl")), uriOf(filepath.Join(dir, "part.ptl"))
	c := start(t)
	c.initialize()
	c.open(uri, main)
	c.shows(uri, 0, "")
	c.open(uriPart, part)
	var h protocol.Hover
	c.must("textDocument/hover", at(t, uriPart, part, "u = dot"), &h)
	if !strings.Contains(h.Contents.Value, "[batch=2, k=3]") {
		t.Errorf("%s", h.Contents.Value)
	}
	c.change(uriPart, strings.Replace(part, "over = n", "over = m", 1), 2)
	c.shows(uriPart, 1, "unknown axis `m`")
	c.shows(uri, 0, "")
	c.change(uriPart, part, 3)
	c.shows(uriPart, 0, "")
	c.change(uriPart, strings.Replace(part, "over = n", "ovr = n", 1), 4)
	c.shows(uriPart, 1, "did you mean `over`?")
	var actions []protocol.CodeAction
	c.must("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": uriPart}, "range": protocol.Range{Start: protocol.Position{Line: 3}, End: protocol.Position{Line: 4}}}, &actions)
	if len(actions) != 1 || actions[0].Title != "Replace `ovr` with `over`" || len(actions[0].Edit.Changes[uriPart]) != 1 {
		t.Errorf("%+v", actions)
	}
	c.change(uriPart, part, 5)
	c.shows(uriPart, 0, "")
	var e protocol.WorkspaceEdit
	rename := at(t, uriPart, part, "Layer")
	rename["newName"] = "Dense"
	c.must("textDocument/rename", rename, &e)
	if len(e.Changes[uri]) != 1 || len(e.Changes[uriPart]) != 1 {
		t.Errorf("%v", e)
	}
	c.quit()
}

// TestFixes: a mistake of a file is corrected by the action that the editor is offered at it;
// under the kinds that the editor asks for, and in a text that does not parse.
func TestFixes(t *testing.T) {
	c := start(t)
	c.initialize()
	uri, src := gpt(t)
	c.open(uri, src)
	c.shows(uri, 0, "")
	version := 1
	for _, x := range []struct{ from, to, says, title string }{
		{"over = embed)\n    k", "over = embd)\n    k", "unknown axis `embd`", "Replace `embd` with `embed`"},
		{"import std.nn\n", "", "unknown name `nn`", "Add `import std.nn`"},
		{"shard batch over dp", "shrd batch over dp", "unknown word `shrd`", "Replace `shrd` with `shard`"},
		{"h = x + attn", "h := x + attn", "found `:=`", "Replace `:=` with `=`"},
	} {
		wrong := strings.Replace(src, x.from, x.to, 1)
		if wrong == src {
			t.Fatalf("no %q", x.from)
		}
		version++
		c.change(uri, wrong, version)
		var told protocol.Diagnostic
		c.waits(uri, func(list []protocol.Diagnostic) bool {
			if len(list) == 0 || !strings.Contains(list[0].Message, x.says) {
				return false
			}
			told = list[0]
			return true
		})
		params := map[string]any{"textDocument": map[string]any{"uri": uri}, "range": told.Range, "context": map[string]any{"only": []string{"quickfix"}}}
		var actions []protocol.CodeAction
		c.must("textDocument/codeAction", params, &actions)
		if len(actions) != 1 || actions[0].Title != x.title || actions[0].Kind != "quickfix" || !reflect.DeepEqual(actions[0].Diagnostics, []protocol.Diagnostic{told}) {
			t.Fatalf("at %v: %+v", told, actions)
		}
		edits := actions[0].Edit.Changes[uri]
		if len(edits) != 1 {
			t.Fatalf("%+v", actions)
		}
		fixed := text.Apply(text.New(wrong), []text.Edit{{Range: &edits[0].Range, Text: edits[0].NewText}}).String
		version++
		c.change(uri, fixed, version)
		c.shows(uri, 0, "")

		params["context"] = map[string]any{"only": []string{"refactor"}}
		c.must("textDocument/codeAction", params, &actions)
		if len(actions) != 0 {
			t.Errorf("asked for another kind: %+v", actions)
		}
	}
	c.quit()
}

// TestFolders: what is imported lies below a folder that the editor has open, or below
// the main file's own.
func TestFolders(t *testing.T) {
	path, err := filepath.Abs("../../examples/layouts/ddp.ptl")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	own, all := uriOf(filepath.Dir(path)), uriOf(filepath.Dir(filepath.Dir(path)))
	for _, x := range []struct {
		params   map[string]any
		mistakes int
	}{
		{map[string]any{"rootUri": nil, "workspaceFolders": nil}, 1},
		{map[string]any{"rootUri": all}, 0},
		{map[string]any{"workspaceFolders": []any{map[string]any{"uri": all}}}, 0},
		{map[string]any{"workspaceFolders": []any{map[string]any{"uri": all}, map[string]any{"uri": own}}}, 1},
		{map[string]any{"rootUri": all + "/gpt"}, 1},
	} {
		c := start(t)
		c.must("initialize", x.params, nil)
		c.open(uriOf(path), string(text))
		c.shows(uriOf(path), x.mistakes, "outside the folder")
		c.quit()
	}
}

// TestProtocol: requests out of turn, and how a session ends.
func TestProtocol(t *testing.T) {
	code := func(err error) int64 {
		var e *jsonrpc2.Error
		if !errors.As(err, &e) {
			return 0
		}
		return e.Code
	}
	c := start(t)
	if got := code(c.call("textDocument/hover", map[string]any{}, nil)); got != codeNotInitialized {
		t.Errorf("before initialize: %d", got)
	}
	c.initialize()
	for method, want := range map[string]int64{"initialize": jsonrpc2.CodeInvalidRequest, "no/such": jsonrpc2.CodeMethodNotFound, "textDocument/hover": codeRequestFailed} {
		if got := code(c.call(method, map[string]any{}, nil)); got != want {
			t.Errorf("%s: %d, want %d", method, got, want)
		}
	}
	if got := code(c.call("textDocument/hover", []int{1}, nil)); got != jsonrpc2.CodeInvalidParams {
		t.Errorf("parameters of another kind: %d", got)
	}
	c.notify("$/cancelRequest", map[string]any{"id": "none"})
	c.notify("textDocument/didChange", map[string]any{"textDocument": 7})
	c.notify("$/unknown", nil)
	c.must("shutdown", nil, nil)
	if got := code(c.call("textDocument/hover", map[string]any{}, nil)); got != jsonrpc2.CodeInvalidRequest {
		t.Errorf("after shutdown: %d", got)
	}
	c.notify("exit", nil)
	if err := <-c.end; err != nil {
		t.Error(err)
	}

	c = start(t)
	c.initialize()
	c.notify("exit", nil)
	if err := <-c.end; !errors.Is(err, ErrExit) {
		t.Errorf("exit without shutdown: %v", err)
	}
	if err := Serve(context.Background(), strings.NewReader("Content-Length: 2\r\n\r\n{]"), io.Discard, Options{}); !errors.Is(err, ErrExit) {
		t.Errorf("a message that is none: %v", err)
	}
}

// TestCancel: a request that waits ends when it is cancelled, and when its program is
// edited.
func TestCancel(t *testing.T) {
	s := &server{running: map[jsonrpc2.ID]context.CancelFunc{}, docs: map[string]*document{}, programs: map[string]*state{}}
	ctx, cancel := context.WithCancel(context.Background())
	s.running[jsonrpc2.ID{Num: 7}] = cancel
	n := &state{done: make(chan struct{})}
	if err := s.cancel(json.RawMessage(`{"id":7}`)); err != nil {
		t.Fatal(err)
	}
	if err := n.wait(ctx); !errors.Is(err, context.Canceled) || asError(err).Code != codeCancelled {
		t.Errorf("cancelled: %v", err)
	}
	close(n.done) // without a program: an edit ended it
	if err := n.wait(context.Background()); asError(err).Code != codeContentModified {
		t.Errorf("edited: %v", err)
	}
}
