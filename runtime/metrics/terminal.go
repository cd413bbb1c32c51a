package metrics

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// NewTerminal tells a person: with a bar where f is a terminal that is wide
// enough for it, else in lines.
func NewTerminal(f *os.File) Sink {
	fd := int(f.Fd())
	if !term.IsTerminal(fd) {
		return NewLines(f)
	}
	if columns, _, err := term.GetSize(fd); err == nil && columns >= narrowTerminal {
		return newBar(f, columns)
	}
	return NewLines(f)
}

// report is what lines and bar have in common: the text of the events.
type report struct {
	mu    sync.Mutex
	w     io.Writer
	start Start
	err   error
}

// print writes whole lines. The lock is held.
func (r *report) print(format string, args ...any) {
	if r.err == nil {
		_, r.err = fmt.Fprintf(r.w, format+"\n", args...)
	}
}

// tell writes any event but a Step.
func (r *report) tell(e Event) {
	switch e := e.(type) {
	case *Start:
		r.header(e)
	case *Validation:
		r.print("step %d  validation loss %.4f%s", e.Step, e.Loss, figuresText(e.Metrics))
	case *Checkpoint:
		wait := ""
		if e.WaitMs > 0 {
			wait = ", steps waited " + duration(e.WaitMs)
		}
		r.print("step %d  saved %s%s", e.Step, e.Dir, wait)
	case *Warning:
		r.print("warning: %s", e.Message)
	case *End:
		r.footer(e)
	}
}

func (r *report) header(e *Start) {
	r.start = *e
	name := e.Name
	if e.Layout != "" {
		name += " (" + e.Layout + ")"
	}
	if name != "" {
		r.print("%s", name)
	}
	for _, f := range []struct {
		label, value string
		known        bool
	}{
		{"parameters", count(float64(e.Params)), e.Params > 0},
		{"devices", fmt.Sprintf("%d  %s", e.Devices, e.Target), e.Devices > 0},
		{"on", e.On, e.On != ""},
		{"data", e.Data, e.Data != ""},
		{"resumed", e.Resumed, e.Resumed != ""},
		{"changed", e.Changed, e.Changed != ""},
		{"goes on", e.GoesOn, e.GoesOn != ""},
		{"steps", fmt.Sprintf("%d to %d, %s tokens each", e.First, e.Last, count(float64(e.TokensPerStep))), e.TokensPerStep > 0 && e.Last >= e.First},
	} {
		if f.known {
			r.print("  %-11s %s", f.label, strings.TrimSpace(f.value))
		}
	}
}

// rates is how fast a step was, as far as it is known.
func (r *report) rates(e *Step) string {
	var parts []string
	if isFinite(e.Ms) {
		parts = append(parts, duration(e.Ms))
	}
	if isFinite(e.TokensPerS) && e.TokensPerS > 0 {
		parts = append(parts, count(e.TokensPerS)+" tokens/s")
	}
	if r.start.FlopsPerStep > 0 && r.start.PeakFlops > 0 && e.Ms > 0 {
		share := r.start.FlopsPerStep / (e.Ms / 1e3) / r.start.PeakFlops
		parts = append(parts, fmt.Sprintf("%.1f%% of peak", 100*share))
	}
	return strings.Join(parts, "  ")
}

func (r *report) footer(e *End) {
	text := fmt.Sprintf("%d steps done", e.Steps)
	if !math.IsNaN(e.Loss) || e.Steps >= r.start.First { // else no step was run, and there is none to tell
		text += fmt.Sprintf(", loss %.4f", e.Loss)
	}
	if !math.IsNaN(e.ValLoss) {
		text += fmt.Sprintf(", validation loss %.4f%s", e.ValLoss, figuresText(e.Metrics))
	}
	if e.Why != "" {
		r.print("%s", e.Why)
	}
	r.print("%s", text)
}

// Lines writes a line for some steps: the first, the last, and about twenty
// between them, so that a log stays short.
type Lines struct{ report }

// NewLines writes to w.
func NewLines(w io.Writer) *Lines { return &Lines{report{w: w}} }

// linesPerRun is about how many steps of a run get a line.
const linesPerRun = 20

// Tell writes a line, of a Step if it is that step's turn.
func (l *Lines) Tell(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := e.(*Step); ok {
		l.step(e)
		return
	}
	l.tell(e)
}

func (l *Lines) step(e *Step) {
	s := l.start
	every := max(1, (s.Last-s.First+1)/linesPerRun)
	if e.Step != s.First && e.Step != s.Last && e.Step%every != 0 {
		return
	}
	width := len(fmt.Sprint(s.Last))
	scale := ""
	if e.LossScale != 0 {
		scale = fmt.Sprintf("scale %g  ", e.LossScale)
	}
	l.print("step %*d/%d  loss %.4f%s  %s%s%s%s", width, e.Step, s.Last, e.Loss, figuresText(e.Metrics),
		computed("grad", e.GradNorm, e.NoGradNorm), computed("lr", e.LR, e.NoLR), scale, l.rates(e))
}

// computed is a figure of a step, nothing where the step ended before it was computed.
func computed(name string, v float64, no bool) string {
	if no {
		return ""
	}
	return fmt.Sprintf("%s %.3g  ", name, v)
}

// figuresText is metrics behind a loss.
func figuresText(list []Figure) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "  %s %.4f", f.Name, f.Value)
	}
	return b.String()
}

// Close gives the first error; w is left open.
func (l *Lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// bar draws the progress on the last line of a terminal, and other events
// above it.
type bar struct {
	report
	columns int
	bar     *progressbar.ProgressBar // nil before Start and after the last step
}

func newBar(w io.Writer, columns int) *bar { return &bar{report: report{w: w}, columns: columns} }

// Below wideTerminal columns only one rate is shown and the bar is shorter, so
// that the line does not wrap, which could not be drawn over; below
// narrowTerminal even that is too long.
const (
	wideTerminal   = 120
	narrowTerminal = 76
)

// Columns that a line takes besides the bar: "loss 1.6878  48.8k tokens/s" and
// a space, " 100% |" and "| (" … "/" … ") ", and the times "[59m59s:59m59s]".
const (
	describedColumns = 28
	framedColumns    = 14
	timesColumns     = 16
)

// barWidth is how wide the bar is next to the rest of the line.
func (b *bar) barWidth(steps int64) int {
	rest := describedColumns + framedColumns + timesColumns + 2*len(fmt.Sprint(steps))
	if b.columns >= wideTerminal {
		rest += 30 // the other rates
	}
	return min(30, max(4, b.columns-rest))
}

// rate is the one that matters most where there is no room for all.
func (r *report) rate(e *Step) string {
	switch {
	case isFinite(e.TokensPerS) && e.TokensPerS > 0:
		return count(e.TokensPerS) + " tokens/s"
	case isFinite(e.Ms) && e.Ms > 0:
		return duration(e.Ms)
	}
	return ""
}

func (b *bar) Tell(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := e.(type) {
	case *Step:
		b.step(e)
	case *Start:
		b.tell(e)
		b.begin(e.Last - e.First + 1)
	case *End:
		b.leave()
		b.tell(e)
	default: // in the place of the bar, which is drawn below it again
		if b.bar != nil && b.bar.IsStarted() {
			b.keep(b.bar.Clear())
		}
		b.tell(e)
	}
}

// keep notes the first error.
func (b *bar) keep(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *bar) begin(steps int64) {
	if steps <= 0 {
		return
	}
	b.bar = progressbar.NewOptions64(steps,
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetWidth(b.barWidth(steps)),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
	)
}

func (b *bar) step(e *Step) {
	if b.bar == nil || e.Step > b.start.Last {
		return
	}
	rates := b.rate(e)
	if b.columns >= wideTerminal {
		rates = b.rates(e)
	}
	b.bar.Describe(strings.TrimSpace(fmt.Sprintf("loss %.4f  %s", e.Loss, rates)))
	b.keep(b.bar.Set64(e.Step - b.start.First + 1))
	if b.bar.IsFinished() {
		b.leave()
	}
}

// leave goes to the line below the bar, which stays as it is.
func (b *bar) leave() {
	if b.bar != nil {
		b.bar = nil
		b.print("")
	}
}

func (b *bar) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leave()
	return b.err
}

// count writes a large number with a decimal prefix and three digits.
func count(v float64) string {
	for _, p := range []struct {
		unit float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		// A number that rounds up to 1000 belongs to the next prefix.
		if v >= p.unit*0.9995 {
			return fmt.Sprintf("%.3g%s", v/p.unit, p.name)
		}
	}
	return fmt.Sprintf("%.3g", v)
}

// duration writes milliseconds.
func duration(ms float64) string {
	switch {
	case ms >= 1e4:
		return fmt.Sprintf("%.1f s", ms/1e3)
	case ms >= 100:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.3g ms", ms)
}
