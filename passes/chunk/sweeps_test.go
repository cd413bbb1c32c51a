package chunk

import (
	"os"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/targetinfo"
	"ptc/ir/verify"
)

// TestCopiesReadWhatIsThere: what a copy reads is made before it, though the first reader of
// the copies comes earlier.
func TestCopiesReadWhatIsThere(t *testing.T) {
	text, err := os.ReadFile("testdata/late.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "-- before.ptir --\n")
	before, _, _ := strings.Cut(rest, "-- after.ptir --")
	m, errs := ir.Parse("late.ptir", []byte(before))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	p := programOf(m.Funcs[0], targetinfo.Chunk{Bytes: 1, Rows: 32, Most: 4}, dataOf(m))
	o, axes := p.candidate(map[*ir.Op]bool{})
	r, _ := p.region(o, axes)
	for _, readers := range r.later() {
		if _, no := r.copies(readers); no != nil {
			t.Fatal(no.why)
		}
	}
	if errs := verify.Module(m); len(errs) > 0 {
		t.Error(errs)
	}
}
