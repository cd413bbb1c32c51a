package passes

import (
	"fmt"
	"strings"
	"time"

	"ptc/ir"
)

// Timings collects how long each pass took; its Hook goes into [Options].
type Timings struct{ rows []timing }

type timing struct {
	name string
	took time.Duration
	ops  int
}

// Hook records one pass.
func (t *Timings) Hook(_ int, name string, m *ir.Module, took time.Duration) error {
	n := 0
	for _, f := range m.Funcs {
		n += len(f.Ops)
	}
	t.rows = append(t.rows, timing{name, took, n})
	return nil
}

// String is a table of milliseconds, shares and operations after each pass.
func (t *Timings) String() string {
	var total time.Duration
	for _, r := range t.rows {
		total += r.took
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %10s %7s %8s\n", "pass", "ms", "share", "ops")
	for _, r := range t.rows {
		fmt.Fprintf(&b, "%-12s %10.3f %6.1f%% %8d\n", r.name, ms(r.took), 100*float64(r.took)/float64(max(total, 1)), r.ops)
	}
	fmt.Fprintf(&b, "%-12s %10.3f\n", "total", ms(total))
	return b.String()
}
