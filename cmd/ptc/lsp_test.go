package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestLSP: a session that ends as the protocol has it is a success, and nothing else is.
func TestLSP(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	frames := func(messages ...string) (out string) {
		for _, m := range messages {
			out += fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(m), m)
		}
		return out
	}
	begin := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}`
	end := []string{`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`, `{"jsonrpc":"2.0","method":"exit"}`}
	for name, c := range map[string]struct {
		in   string
		code int
		says string
	}{
		"as it should": {frames(begin, end[0], end[1]), 0, `"hoverProvider":true`},
		"no shutdown":  {frames(begin, end[1]), 1, `"hoverProvider":true`},
		"cut off":      {frames(begin), 1, `"hoverProvider":true`},
		"no protocol":  {"fn f(x) { return x }\n", 1, ""},
	} {
		r := ptcIn(t, c.in, "lsp")
		if r.code != c.code || !strings.Contains(r.out, c.says) {
			t.Errorf("%s: exit code %d, %q, %q", name, r.code, r.out, r.err)
		}
	}
	if r := ptc(t, "lsp", "model.ptl"); r.code != 2 {
		t.Errorf("an argument: exit code %d", r.code)
	}
}
