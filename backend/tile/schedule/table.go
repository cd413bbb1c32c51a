package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Table gives schedules of kernels for one target, by the keys of the kernels
// (ir/fusion.Key). Its text is a file: a line with the form's version, one with the
// target, and one for each kernel. What follows a # is a comment.
//
//	ptc schedules 1
//	target cpu:x86-64-v3
//	0123456789abcdef0123456789abcdef rows=96 cols=768 over=256 dot=fma(6x16x1) # gemm_3
type Table struct {
	Target string
	of     map[string]entry
}

type entry struct {
	s    Schedule
	note string
}

const (
	header = "ptc schedules 1"
	// MaxBytes is how long the text of a table may be.
	MaxBytes  = 16 << 20
	keyLength = 32
)

// NewTable is an empty table.
func NewTable(target string) *Table { return &Table{Target: target, of: map[string]entry{}} }

// Set gives the kernel with the key a schedule, with a note of one line.
func (t *Table) Set(key string, s Schedule, note string) { t.of[key] = entry{s, note} }

// Of is the schedule of the kernel with the key. A nil table has none.
func (t *Table) Of(key string) (Schedule, bool) {
	if t == nil {
		return Schedule{}, false
	}
	e, ok := t.of[key]
	return e.s, ok
}

// Note is that of the kernel with the key.
func (t *Table) Note(key string) string { return t.of[key].note }

// Keys lists the kernels in the order of the text.
func (t *Table) Keys() []string {
	if t == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(t.of))
}

// String is the text that [ParseTable] reads.
func (t *Table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\ntarget %s\n", header, t.Target)
	for _, key := range t.Keys() {
		e := t.of[key]
		b.WriteString(key)
		if s := e.s.String(); s != "" {
			b.WriteString(" " + s)
		}
		if e.note != "" {
			b.WriteString(" # " + e.note)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ParseTable is the inverse of [Table.String]. The error says in which line it is.
func ParseTable(text string) (*Table, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("found %d bytes; expected at most %d", len(text), MaxBytes)
	}
	lines := strings.Split(text, "\n")
	if strings.TrimSpace(lines[0]) != header {
		return nil, fmt.Errorf("line 1: found %.40q; expected %q", lines[0], header)
	}
	t := NewTable("")
	for i, line := range lines[1:] {
		if err := t.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
	}
	if t.Target == "" {
		return nil, fmt.Errorf("line 2: found no target; expected one, as in `target cpu:x86-64-v3`")
	}
	return t, nil
}

func (t *Table) line(line string) error {
	text, note, _ := strings.Cut(line, "#")
	key, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	switch {
	case key == "":
		return nil
	case key == "target":
		if t.Target != "" || rest == "" || len(strings.Fields(rest)) > 1 {
			return fmt.Errorf("found %.80q; expected one target", line)
		}
		t.Target = rest
		return nil
	case len(key) != keyLength || strings.Trim(key, "0123456789abcdef") != "":
		return fmt.Errorf("found %.40q; expected the %d hexadecimal digits of a kernel", key, keyLength)
	}
	if _, twice := t.of[key]; twice {
		return fmt.Errorf("found kernel %s twice; expected it once", key)
	}
	s, err := Parse(rest)
	if err != nil {
		return err
	}
	t.of[key] = entry{s, strings.TrimSpace(note)}
	return nil
}
