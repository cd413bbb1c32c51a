package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"ptc/compiler"
)

// The generator is used by a test alone, so that no binary carries it.
var manual = flag.String("manual", "", "TestManual leaves the manual pages and the completions of shells in this folder; make man names it")

// shells are those with a completion, and where each looks for one by its name.
var shells = map[string]string{"bash": "ptc.bash", "zsh": "_ptc", "fish": "ptc.fish"}

// TestManual: every command has a manual page with its flags, and every shell a
// completion; two generations have the same bytes.
func TestManual(t *testing.T) {
	dir, again := t.TempDir(), t.TempDir()
	if *manual != "" {
		dir = *manual
	}
	writeManual(t, dir)
	writeManual(t, again)
	all := withBelow(newRoot(&app{}))
	for _, c := range all {
		page := filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
		text := read(t, page)
		for _, want := range []string{".TH \"" + strings.ToUpper(strings.ReplaceAll(c.CommandPath(), " ", "-")) + "\"", ".SH SYNOPSIS", ".SH DESCRIPTION", compiler.Version} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s", page, want)
			}
		}
		for _, f := range regexp.MustCompile(`(?m)--([a-z-]+)`).FindAllStringSubmatch(c.LocalFlags().FlagUsages(), -1) {
			if c.Flags().Lookup(f[1]) != nil && !strings.Contains(text, `\-\-`+f[1]) && !strings.Contains(text, "--"+f[1]) {
				t.Errorf("%s says nothing of --%s", page, f[1])
			}
		}
		if c.Name() == "compile" && !strings.Contains(text, "\n.EX\n  "+passNames()[0]) {
			t.Errorf("%s does not keep the table of passes as it is", page)
		}
	}
	files, err := os.ReadDir(again) // ptc completion, which cobra adds, has a page besides
	if err != nil || len(files) != len(all)+1+len(shells) {
		t.Errorf("%d files of %d commands (%v)", len(files), len(all), err)
	}
	for _, f := range files {
		if read(t, filepath.Join(again, f.Name())) != read(t, filepath.Join(dir, f.Name())) {
			t.Errorf("%s is another one the second time", f.Name())
		}
	}
}

// withBelow lists a command and all below it that help shows.
func withBelow(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			out = append(out, withBelow(sub)...)
		}
	}
	return out
}

func writeManual(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	root := newRoot(&app{})
	root.InitDefaultCompletionCmd()
	prepareManual(root)
	at := time.Unix(0, 0).UTC()
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		at = time.Unix(seconds, 0).UTC()
	}
	header := doc.GenManHeader{Section: "1", Date: &at, Source: "ptc " + compiler.Version, Manual: "ptc"}
	if err := doc.GenManTreeFromOpts(root, doc.GenManTreeOptions{Header: &header, Path: dir, CommandSeparator: "-"}); err != nil {
		t.Fatal(err)
	}
	// Subcommands of completion would be four pages of what its own page says.
	extra, _ := filepath.Glob(filepath.Join(dir, "ptc-completion-*.1"))
	for _, name := range extra {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for shell, name := range shells {
		var text bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &text, err: &text}
		if code := a.execute(t.Context(), []string{"completion", shell}); code != exitOK || !strings.Contains(text.String(), "ptc") {
			t.Fatalf("completion of %s: exit code %d\n%s", shell, code, text.String())
		}
		write(t, filepath.Join(dir, name), text.String())
	}
}

// prepareManual makes Markdown, which the generator reads, of the texts of commands: lines
// that are indented stay as they are, and signs that mean something there are signs.
func prepareManual(c *cobra.Command) {
	c.DisableAutoGenTag = true
	var b strings.Builder
	literal := false
	for _, line := range strings.Split(c.Long, "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != literal && (indented || line != "") {
			b.WriteString("```\n")
			literal = indented
		}
		if !literal {
			line = strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "`", "\\`").Replace(line)
		}
		b.WriteString(line + "\n")
	}
	if literal {
		b.WriteString("```\n")
	}
	c.Long = b.String()
	for _, sub := range c.Commands() {
		prepareManual(sub)
	}
}
