package ceilings

import (
	"fmt"
	"strings"

	"ptc/internal/units"
)

// Version is that of the JSON form of a Report. Fields may be added within a
// version.
const Version = 1

// Report is what was measured.
type Report struct {
	Version    int      `json:"version"`
	CPU        string   `json:"cpu"`
	Target     string   `json:"target"`
	LLVM       string   `json:"llvm"`
	Threads    int      `json:"threads"`
	Rounds     int      `json:"runs"` // of each loop, all in turns
	ArrayBytes int64    `json:"array_bytes"`
	Figures    []Figure `json:"figures"`
	NoDot      string   `json:"no_dot,omitempty"` // why no dot instruction was measured
}

// Figure is a rate, in units of 10⁹ a second, or of a launch the time in µs, with
// the barrier behind it: the median of the runs, and how far they spread.
type Figure struct {
	Name        string  `json:"name"` // fma_f32, dot_bf16, read, copy, update, launch
	Instruction string  `json:"instruction,omitempty"`
	Unit        string  `json:"unit"` // GFLOP/s, GB/s, µs
	Threads     int     `json:"threads"`
	Median      float64 `json:"median"`
	Least       float64 `json:"min"`
	Most        float64 `json:"max"`
}

// Kind is what a loop does.
type Kind int

// The kinds, in the order of a report.
const (
	MultiplyAdd Kind = iota
	Dot
	Read
	Copy
	Update
	Launch
)

var kinds = [...]struct{ name, text string }{
	MultiplyAdd: {"fma_f32", "multiply-adds of f32"},
	Dot:         {"dot_bf16", "dot products of bf16"},
	Read:        {"read", "read memory"},
	Copy:        {"copy", "copy memory"},
	Update:      {"update", "update memory in place"},
	Launch:      {"launch", "launch of a kernel that does nothing"},
}

func (k Kind) String() string { return kinds[k].name }

func (k Kind) unit() string {
	switch {
	case k <= Dot:
		return "GFLOP/s"
	case k == Launch:
		return "µs"
	}
	return "GB/s"
}

// Best is the largest median of a kind with the larger team, 0 where it was not
// measured.
func (r *Report) Best(k Kind) float64 { return r.With(k, r.Threads) }

// With is the largest median of a kind with so many threads.
func (r *Report) With(k Kind, threads int) (best float64) {
	for _, f := range r.Figures {
		if f.Name == k.String() && f.Threads == threads {
			best = max(best, f.Median)
		}
	}
	return best
}

// Text is the report for people.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  target  %s, code by LLVM %s\n\n", orUnknown(r.CPU), r.Target, r.LLVM)
	fmt.Fprintf(&b, "  %-36s %7s  %9s %-7s  %s\n", "", "threads", "median", "", "from … to")
	for k := range kinds {
		shown := false
		for _, f := range r.Figures {
			if f.Name != Kind(k).String() {
				continue
			}
			shown = true
			name := kinds[k].text
			if f.Instruction != "" {
				name += " (" + f.Instruction + ")"
			}
			fmt.Fprintf(&b, "  %-36s %7d  %9s %-7s  %s … %s\n", name, f.Threads, f.number(f.Median), f.Unit, f.number(f.Least), f.number(f.Most))
		}
		if !shown && Kind(k) == Dot {
			fmt.Fprintf(&b, "  %-36s none: %s\n", kinds[k].text, r.NoDot)
		}
	}
	fmt.Fprintf(&b, "\nMedians of %s of each loop, in turns. A FLOP is an addition or a multiplication. Arrays have %s;\n"+
		"a copy counts what it reads and what it writes, and so does an update.\n", units.Plural(r.Rounds, "run"), units.Bytes(r.ArrayBytes))
	return b.String()
}

func (f *Figure) number(v float64) string {
	if f.Unit == Launch.unit() {
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown processor"
	}
	return s
}
