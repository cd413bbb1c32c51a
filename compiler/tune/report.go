package tune

import (
	"fmt"
	"strings"
	"time"

	"ptc/backend/tile/schedule"
	"ptc/internal/units"
)

// Version is of the report's JSON; a field is never given another meaning.
const Version = 1

// Report is what was measured.
type Report struct {
	Version int       `json:"version"`
	CPU     string    `json:"cpu"`
	Target  string    `json:"target"`
	LLVM    string    `json:"llvm"`
	Threads int       `json:"threads"`
	Known   int       `json:"known"` // kernels whose schedule was there already
	Kernels []*Kernel `json:"kernels"`
	// Table has all schedules: those known, and those of the kernels that were measured.
	Table *schedule.Table `json:"-"`
}

// Kernel is what was found for a kernel, or for a section of one.
type Kernel struct {
	Name        string            `json:"name"`
	Key         string            `json:"key"`
	Flops       int64             `json:"flops"`   // of a launch
	Choices     int               `json:"choices"` // ways to cut it that were compiled
	Own         schedule.Schedule `json:"own"`     // what the compiler takes by itself
	Best        schedule.Schedule `json:"best"`
	OwnSeconds  float64           `json:"own_seconds"` // of a launch, medians
	BestSeconds float64           `json:"best_seconds"`
	NotMeasured string            `json:"not_measured,omitempty"` // why
}

func seconds(s float64) string { return units.Duration(time.Duration(s * 1e9)) }

// Gain is the time that a launch takes with the compiler's own schedule over that with
// the best one, 1 where they are the same.
func (k *Kernel) Gain() float64 {
	if k.BestSeconds <= 0 {
		return 1
	}
	return k.OwnSeconds / k.BestSeconds
}

// Note says in a table of schedules what the kernel is and what was found.
func (k *Kernel) Note() string {
	return fmt.Sprintf("%s: %s, %.2fx", k.Name, seconds(k.BestSeconds), k.Gain())
}

// Line is the kernel in one line of text.
func (k *Kernel) Line() string {
	if k.NotMeasured != "" {
		return fmt.Sprintf("%-28s not measured: %s", k.Name, k.NotMeasured)
	}
	rate := func(s float64) float64 { return float64(k.Flops) / s / 1e9 }
	text := "as it was"
	if k.Best != k.Own {
		text = k.Best.String()
	}
	return fmt.Sprintf("%-28s %8s  %7.1f -> %7.1f GFLOP/s  %5.2fx  of %2d  %s", k.Name, seconds(k.OwnSeconds),
		rate(k.OwnSeconds), rate(k.BestSeconds), k.Gain(), k.Choices, text)
}

// Text sums up the report.
func (r *Report) Text() string {
	var b strings.Builder
	own, best, changed := 0.0, 0.0, 0
	for _, k := range r.Kernels {
		own, best = own+k.OwnSeconds, best+k.BestSeconds
		if k.Best != k.Own {
			changed++
		}
	}
	fmt.Fprintf(&b, "%s measured with %s on %s", units.Plural(len(r.Kernels), "kernel"), units.Plural(r.Threads, "thread"), r.Target)
	if r.Known > 0 {
		fmt.Fprintf(&b, ", %d known from before", r.Known)
	}
	if len(r.Kernels) > 0 {
		fmt.Fprintf(&b, "; a launch of each took %s, and takes %s with other schedules for %d", seconds(own), seconds(best), changed)
	}
	b.WriteByte('\n')
	return b.String()
}
