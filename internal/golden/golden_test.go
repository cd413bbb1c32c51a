package golden

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

func TestRun(t *testing.T) {
	n := 0
	Run(t, "testdata/*.txtar", func(t *testing.T, c *Case) {
		n++
		in := c.Input("in.txt")
		c.Output("upper.txt", strings.ToUpper(in)+c.Option("suffix"))
		c.Output("length.txt", fmt.Sprint(len(in)))
	})
	if n != 1 {
		t.Errorf("%d cases ran", n)
	}
}

// recorder collects what a case reports.
type recorder struct{ msgs []string }

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.msgs = append(r.msgs, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

const archive = "about\n-- in --\na\n-- out --\nb\n-- old --\nc\n"

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name string
		use  func(c *Case)
		want []string // a part of each message
	}{
		{"all well", func(c *Case) { c.Input("in"); c.Output("out", "b"); c.Output("old", "c\n") }, nil},
		{"differs", func(c *Case) { c.Input("in"); c.Output("out", "x\n"); c.Input("old") }, []string{"section out (-want +got)"}},
		{"orphan", func(c *Case) { c.Input("in"); c.Output("out", "b\n") }, []string{"section old is neither"}},
		{"missing input", func(c *Case) { c.Input("no"); c.Input("in"); c.Input("out"); c.Input("old") }, []string{"no section no"}},
		{"missing output", func(c *Case) { c.Output("new", "n"); c.Input("in"); c.Input("out"); c.Input("old") }, []string{"no section new"}},
		{"header in output", func(c *Case) { c.Output("out", "a\n-- x --\n"); c.Input("in"); c.Input("out"); c.Input("old") }, []string{"cannot hold"}},
	} {
		r := &recorder{}
		k := newCase(r, c.name, []byte(archive), false)
		c.use(k)
		k.finish()
		if len(r.msgs) != len(c.want) {
			t.Errorf("%s: reported %q, want %q", c.name, r.msgs, c.want)
			continue
		}
		for i := range c.want {
			if !strings.Contains(r.msgs[i], c.want[i]) {
				t.Errorf("%s: reported %q, want %q", c.name, r.msgs[i], c.want[i])
			}
		}
	}
	r := &recorder{}
	newCase(r, "twice", []byte("-- a --\n-- a --\n"), false)
	if len(r.msgs) != 1 {
		t.Errorf("a section that occurs twice: %q", r.msgs)
	}
}

func TestUpdate(t *testing.T) {
	r := &recorder{}
	c := newCase(r, "update", []byte(archive), true)
	c.Input("in")
	c.Output("new", "n")
	c.Output("out", "x")
	c.finish()
	want := "about\n-- in --\na\n-- out --\nx\n-- new --\nn\n"
	if got := string(txtar.Format(c.archive)); got != want || len(r.msgs) > 0 {
		t.Errorf("got\n%s\nwant\n%s\nreported %q", got, want, r.msgs)
	}
}
