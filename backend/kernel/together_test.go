package kernel

import (
	"strings"
	"testing"
)

// turns is a kernel that writes to each task's element how many tasks are done at once.
func turns(of, most int64) *Builder {
	b := New("turns", 12)
	out := b.Arg("out", I64, 12, Write)
	end := b.Together(of, most)
	n := b.Value(end.Sub(b.Task()))
	b.For(Between(b.Task(), end), func(i Index) { b.Store(out.At(i), n) })
	return b
}

// TestTogether checks which tasks are done at once.
func TestTogether(t *testing.T) {
	for _, c := range []struct{ of, most, task, end, want int64 }{
		{4, 4, 0, 12, 4}, {4, 4, 1, 12, 4}, {4, 4, 3, 12, 4}, {4, 4, 4, 6, 6}, {4, 3, 0, 12, 3}, {4, 3, 2, 12, 4}, {12, 12, 5, 6, 6},
	} {
		x := &Together{Of: c.of, Most: c.most}
		if got := x.Last(c.task, c.end); got != c.want {
			t.Errorf("tasks from %d of a range up to %d, groups of %d, at most %d: %d, want %d", c.task, c.end, c.of, c.most, got, c.want)
		}
	}
	if got := (*Together)(nil).Last(3, 12); got != 4 {
		t.Errorf("one task at a time: %d", got)
	}
}

// TestTogetherIsKept: the text has it, and a copy.
func TestTogetherIsKept(t *testing.T) {
	k, err := turns(4, 3).Finish()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Rewrite(k, func(*Builder, *Stmt, []*Value) *Value { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if text := k.String(); again.String() != text || !strings.Contains(text, "together most=3 of=4") || !strings.Contains(text, "for i0 = task to end {") {
		t.Errorf("%s, copied\n%s", text, again)
	}
	for _, n := range [][2]int64{{0, 1}, {1, 0}} {
		if _, err := turns(n[0], n[1]).Finish(); err == nil || !strings.Contains(err.Error(), "together") {
			t.Errorf("%d of %d: %v", n[1], n[0], err)
		}
	}
}
