package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write docs/commands.md")

// TestCommandsPage: docs/commands.md ends with the help of every command, as it is.
func TestCommandsPage(t *testing.T) {
	const page, mark = "../../docs/commands.md", "-update -->\n"
	text := read(t, page)
	head, rest, ok := strings.Cut(text, mark)
	if !ok {
		t.Fatalf("%s has no mark", page)
	}
	root := newRoot(&app{})
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && !strings.Contains(head, "`ptc "+c.Name()) {
			t.Errorf("the table of %s has no `ptc %s`", page, c.Name())
		}
	}
	var b strings.Builder
	for _, c := range withBelow(root)[1:] {
		if c.Runnable() {
			helpOf(&b, c)
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(head+mark+b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if rest != b.String() {
		t.Errorf("%s differs from the commands' help: go test ./cmd/ptc -run TestCommandsPage -update", page)
	}
}

// helpOf writes a command's help as a section, without the flags that every command has.
func helpOf(b *strings.Builder, c *cobra.Command) {
	usage, _, _ := strings.Cut(c.UsageString(), "\nGlobal Flags:")
	fmt.Fprintf(b, "\n## %s\n\n```\n%s\n\n%s\n```\n", c.CommandPath(), strings.TrimSpace(c.Long), strings.TrimSpace(usage))
}
