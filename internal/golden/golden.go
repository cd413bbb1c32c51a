package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite golden archives with the results of the tests")

// reporter is the part of testing.TB that a case needs.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Case is one archive under test.
type Case struct {
	// Name is the file's name without its extension.
	Name string

	t       reporter
	archive *txtar.Archive
	update  bool
	touched map[string]bool
}

// Run calls fn as a subtest for each archive that matches the pattern, in the
// order of their names. No match is a failure.
func Run(t *testing.T, pattern string, fn func(t *testing.T, c *Case)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no archive matches %s (%v)", pattern, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := newCase(t, name, data, *update)
			fn(t, c)
			if t.Failed() || t.Skipped() {
				return // which sections matter is not known
			}
			c.finish()
			if out := txtar.Format(c.archive); *update && !bytes.Equal(out, data) {
				if err := os.WriteFile(file, out, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func newCase(t reporter, name string, data []byte, update bool) *Case {
	c := &Case{Name: name, t: t, archive: txtar.Parse(data), update: update, touched: map[string]bool{}}
	seen := map[string]bool{}
	for _, f := range c.archive.Files {
		if seen[f.Name] {
			t.Fatalf("section %s occurs twice", f.Name)
		}
		seen[f.Name] = true
	}
	return c
}

// finish holds that every section was touched; under update it drops others.
func (c *Case) finish() {
	c.t.Helper()
	var kept []txtar.File
	for _, f := range c.archive.Files {
		switch {
		case c.touched[f.Name]:
			kept = append(kept, f)
		case !c.update:
			c.t.Errorf("section %s is neither read nor checked; -update removes it", f.Name)
		}
	}
	c.archive.Files = kept
}

func (c *Case) find(name string) *txtar.File {
	for i := range c.archive.Files {
		if c.archive.Files[i].Name == name {
			return &c.archive.Files[i]
		}
	}
	return nil
}

// Comment is the text before the first section: what the case is about.
func (c *Case) Comment() string { return string(c.archive.Comment) }

// Option is what follows "key:" on a line of the comment, or empty.
func (c *Case) Option(key string) string {
	for _, line := range strings.Split(c.Comment(), "\n") {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), key+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Has reports whether the archive has the section.
func (c *Case) Has(name string) bool { return c.find(name) != nil }

// Input is the text of a section, which must be there.
func (c *Case) Input(name string) string {
	c.t.Helper()
	f := c.find(name)
	if f == nil {
		c.t.Fatalf("no section %s", name)
		return ""
	}
	c.touched[name] = true
	return string(f.Data)
}

// marker matches a line that an archive would take for a section's header.
var marker = regexp.MustCompile(`(?m)^-- .+ --\r?$`)

// Output compares text with a section, or sets the section under -update. A
// missing newline at the end is added.
func (c *Case) Output(name, text string) {
	c.t.Helper()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if m := marker.FindString(text); m != "" {
		c.t.Fatalf("section %s cannot hold the line %q", name, m)
		return
	}
	c.touched[name] = true
	f := c.find(name)
	switch {
	case c.update && f == nil:
		c.archive.Files = append(c.archive.Files, txtar.File{Name: name, Data: []byte(text)})
	case c.update:
		f.Data = []byte(text)
	case f == nil:
		c.t.Errorf("no section %s; -update would add\n%s", name, text)
	case string(f.Data) != text:
		c.t.Errorf("section %s (-want +got):\n%s", name, cmp.Diff(strings.Split(string(f.Data), "\n"), strings.Split(text, "\n")))
	}
}
