package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImportsStayBelow: nothing outside the folder of imports is read, however it
// is named, and the message shows the path as it was written and no line of the
// file.
func TestImportsStayBelow(t *testing.T) {
	mlp := read(t, "../../examples/mlp/mlp.ptl")
	t.Chdir(t.TempDir())
	for _, dir := range []string{"project/model", "project/common", "elsewhere"} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	const secret = "root:x:0:0"
	write(t, "elsewhere/secret", secret+"\n")
	write(t, "elsewhere/ok.ptl", "fn twice(x) { return x + x }\n")
	write(t, "project/common/ok.ptl", "fn twice(x) { return x + x }\n")
	write(t, "project/model/ok.ptl", "fn twice(x) { return x + x }\n")
	outside, err := filepath.Abs("elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"project/model/relative.ptl": "../../elsewhere/secret",
		"project/model/absolute.ptl": filepath.Join(outside, "secret"),
		"project/model/folder":       "../../elsewhere",
		"project/model/inside.ptl":   "ok.ptl",
		"linked":                     "project/model",
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path  string
		below string
		want  string // in the message; empty where the import is fine
	}{
		{"../../../../../../../../../../etc/passwd", "", "E0230"},
		{"../../elsewhere/secret", "", "E0230"},
		{"../../elsewhere/missing", "", "E0230"}, // whether it exists is not said either
		{"../common/ok.ptl", "", "E0230"},
		{"relative.ptl", "", "E0230"},
		{"absolute.ptl", "", "E0230"},
		{"folder/ok.ptl", "", "E0230"},
		{"folder/../../common/ok.ptl", "", "E0230"},
		{filepath.Join(outside, "secret"), "", "E0212"},
		{"ok.ptl", "", ""},
		{"inside.ptl", "", ""},
		{"missing.ptl", "", "E0212"},
		{"../common/ok.ptl", "project", ""},
		{"../common/ok.ptl", ".", ""},
		{"relative.ptl", "project", "E0230"},
		{"../../elsewhere/secret", "project", "E0230"},
		{"ok.ptl", "elsewhere", "is not below"},
	} {
		for _, main := range []string{"project/model/mlp.ptl", "linked/mlp.ptl"} {
			for _, command := range []string{"compile", "check"} {
				write(t, main, `import "`+c.path+`" as other`+"\n"+mlp)
				args := []string{command, main, "--target", "ref", "--set", "batch=2"}
				if c.below != "" {
					args = append(args, "--imports-below", c.below)
				}
				if command == "compile" {
					args = append(args, "-o", "out.bin")
				} else if c.want == "" {
					continue // compiles, and executing is not the question here
				}
				r := ptc(t, args...)
				if strings.Contains(r.out+r.err, "root:") {
					t.Errorf("%v with import %q shows what the file holds:\n%s", args, c.path, r.err)
				}
				if (r.code == exitOK) != (c.want == "") || !strings.Contains(r.err, c.want) {
					t.Errorf("%v with import %q: exit code %d, want %q\n%s", args, c.path, r.code, c.want, r.err)
				}
			}
		}
	}
}

// TestRecipesNameTheirFolder: a recipe of layouts imports a model from the folder
// next to its own.
func TestRecipesNameTheirFolder(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "ddp.bin")
	must(t, "compile", "../../examples/layouts/ddp.ptl", "--imports-below", "../../examples", "--target", "ref", "-o", plan)
	r := ptc(t, "compile", "../../examples/layouts/ddp.ptl", "--target", "ref", "-o", plan)
	if r.code != exitInput || !strings.Contains(r.err, "--imports-below") {
		t.Errorf("exit code %d:\n%s", r.code, r.err)
	}
}
