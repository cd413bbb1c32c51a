package kernel

import (
	"strings"
	"testing"
)

// batches is a kernel that writes to each task's element the size of its batch.
func batches(x Batch) *Builder {
	b := New("batches", 12)
	out := b.Arg("out", I64, 12, Write)
	end := b.Batch(x)
	n := b.Value(end.Sub(b.Task()))
	b.For(Between(b.Task(), end), func(i Index) { b.Store(out.At(i), n) })
	return b
}

// TestBatch checks which tasks are a batch.
func TestBatch(t *testing.T) {
	row, part := Batch{Row: 4, Rows: 3, Most: 4, MostRows: 1}, Batch{Row: 4, Rows: 3, Most: 3, MostRows: 2}
	rows, all := Batch{Row: 4, Rows: 3, Most: 4, MostRows: 2}, Batch{Row: 4, Rows: 3, Most: 4, MostRows: 3}
	for _, c := range []struct {
		x               Batch
		task, end, want int64
	}{
		{row, 0, 12, 4}, {row, 1, 12, 4}, {row, 3, 12, 4}, {row, 4, 6, 6}, {row, 20, 24, 24},
		{part, 0, 12, 3}, {part, 2, 12, 4}, {part, 4, 6, 6},
		{rows, 0, 12, 8}, {rows, 0, 7, 4}, {rows, 1, 12, 4}, {rows, 8, 24, 12}, {rows, 0, 3, 3},
		{all, 0, 24, 12}, {all, 4, 24, 12}, {all, 12, 23, 20},
	} {
		if got := c.x.Last(c.task, c.end); got != c.want {
			t.Errorf("%+v, tasks from %d of a range up to %d: %d, want %d", c.x, c.task, c.end, got, c.want)
		}
	}
	if got := (*Batch)(nil).Last(3, 12); got != 4 {
		t.Errorf("one task at a time: %d", got)
	}
}

// TestBatchIsKept: the text has it, and a copy.
func TestBatchIsKept(t *testing.T) {
	k, err := batches(Batch{Row: 4, Rows: 3, Most: 3, MostRows: 1}).Finish()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Rewrite(k, func(*Builder, *Stmt, []*Value) *Value { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if text := k.String(); again.String() != text || !strings.Contains(text, "batch tasks=3 of 4 rows=1 of 3") || !strings.Contains(text, "for i0 = task to end {") {
		t.Errorf("%s, copied\n%s", text, again)
	}
	for _, x := range []Batch{{Rows: 1, Most: 1, MostRows: 1}, {Row: 1, Most: 1, MostRows: 1}, {Row: 1, Rows: 1, MostRows: 1}, {Row: 1, Rows: 1, Most: 1}} {
		if _, err := batches(x).Finish(); err == nil || !strings.Contains(err.Error(), "batches") {
			t.Errorf("%+v: %v", x, err)
		}
	}
}
