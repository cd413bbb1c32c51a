package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/foresight/certificate"
)

// TestLayoutImports: a certificate has the files that the source imports, and is refused with the line of an import that has
// changed since, by verify and by a search that goes on from it.
func TestLayoutImports(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "gpt", "gpt.ptl"))
	if err != nil {
		t.Fatal(err)
	}
	model := string(text)
	t.Chdir(t.TempDir())
	if err := os.Mkdir("parts", 0o777); err != nil {
		t.Fatal(err)
	}
	// The feed-forward module is in a file that imports another one.
	model = strings.Replace(model, "import std.nn\n", "import std.nn\nimport \"parts/z.ptl\"\nimport parts.feed\n", 1)
	model = strings.Replace(model, "nn.MLP(act = gelu, std = std, out_std = std / sqrt(2 * layers))", "feed.Feed(std = std)", 1)
	const feed = "import std.nn\nimport \"act.ptl\" as act\n\nmodule Feed(std) {\n  mlp : nn.MLP(act = gelu, std = std)\n\n  fn apply(x) { return act.same(mlp(x)) }\n}\n"
	const act = "fn same(x) { return x }\n"
	write(t, "gpt.ptl", model+autoLayout)
	write(t, "parts/feed.ptl", feed)
	write(t, "parts/act.ptl", act)
	write(t, "parts/z.ptl", "fn zed(x) { return x }\n")
	args := func(command string, more ...string) []string {
		return append([]string{"layout", command, "gpt.ptl", "--layout", "best", "--set", "layers=2"}, more...)
	}
	must(t, args("auto", "-o", "found.ptl", "--certificate", "found.json")...)
	must(t, args("verify", "found.json")...)
	must(t, args("auto", "-o", "again.ptl", "--resume", "found.json")...)
	c, err := certificate.Decode([]byte(read(t, "found.json")))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, x := range c.Imports {
		paths = append(paths, x.Path)
	}
	if got := strings.Join(paths, " "); got != "parts/act.ptl parts/feed.ptl parts/z.ptl" {
		t.Errorf("the certificate has the imports %q", got)
	}
	refused := func(what, want, line string) {
		t.Helper()
		for _, r := range []result{ptc(t, args("verify", "found.json")...), ptc(t, args("auto", "-o", "again.ptl", "--resume", "found.json")...)} {
			if r.code != exitInput || !strings.Contains(r.err, "found.json: the certificate is of another `"+what+"`") || !strings.Contains(r.err, want) || !strings.Contains(r.err, line) {
				t.Errorf("%s: exit code %d: %s", what, r.code, r.err)
			}
		}
	}
	write(t, "parts/act.ptl", act+"// changed\n")
	refused("parts/act.ptl", "parts/feed.ptl:2:1", `import "act.ptl" as act`)
	write(t, "parts/act.ptl", act)
	write(t, "parts/z.ptl", "fn zed(x) { return x + x }\n")
	refused("parts/z.ptl", "gpt.ptl:4:1", `import "parts/z.ptl"`)
	write(t, "parts/z.ptl", "fn zed(x) { return x }\n")
	must(t, args("verify", "found.json")...)

	c.Imports = nil // a certificate of a version of ptc that did not list imports
	text, err = json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	write(t, "none.json", string(text))
	if r := ptc(t, args("verify", "none.json")...); r.code != exitInput || !strings.Contains(r.err, "does not import `parts/act.ptl`") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}
