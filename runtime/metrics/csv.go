package metrics

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
)

// CSV writes a row for each step, and one for each validation, of which the other columns
// are empty. What was not measured is empty as well; what is not finite is NaN, +Inf or
// -Inf, as most readers take it. Behind the columns that every file has are two for each
// metric of the train block: of steps, and of validations.
type CSV struct {
	mu   sync.Mutex
	path string // empty: it cannot be rewound
	kept error  // why rows of steps that are repeated are still there
	w    io.WriteCloser
	line line
	err  error

	first   string   // the line that the file begins with; empty: it has none yet
	begun   bool     // that line is known to be of the metrics
	metrics []string // their names

	validated int64 // the last step of which a validation was told
}

// csvColumns begin the first line of a file.
const csvColumns = "step,loss,validation,grad_norm,lr,loss_scale,ms,tokens_per_s,wait_ms,least_wait_ms,slowest_rank"

// csvHeader is the first line of a file with these metrics.
func csvHeader(metrics []string) string {
	line := csvColumns
	for _, m := range metrics {
		line += "," + m + ",validation_" + m
	}
	return line + "\n"
}

// openCSV adds to a file that has such a header, or begins one.
func openCSV(path string) (Sink, error) {
	f, empty, err := appended(path)
	if err != nil {
		return nil, err
	}
	first := ""
	if !empty {
		first, err = firstLine(path)
	}
	if err == nil && !empty {
		err = endLine(path, f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &CSV{w: f, path: path, first: first}, nil
}

// maxHeader bounds the first line of a file.
const maxHeader = 64 << 10

// firstLine is the header of a file; an error where it has other columns.
func firstLine(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	first, err := bufio.NewReader(io.LimitReader(f, maxHeader)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", err
	}
	if !strings.HasPrefix(first, csvColumns) {
		return "", fmt.Errorf("%s is there and has other columns than %s", path, csvColumns)
	}
	return first, nil
}

// begin writes the header, or compares it with that of the file. A run says its metrics
// before anything else.
func (c *CSV) begin(metrics []string) {
	if c.begun {
		return
	}
	c.begun, c.metrics = true, metrics
	header := csvHeader(metrics)
	switch {
	case c.err != nil:
	case c.first == "":
		_, c.err = io.WriteString(c.w, header)
	case c.first != header:
		c.err = fmt.Errorf("the file has the columns %s, and the run %s", strings.TrimSpace(c.first), strings.TrimSpace(header))
	}
}

// Tell writes a row of a step or a validation, in one write.
func (c *CSV) Tell(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if start, ok := e.(*Start); ok {
		if c.begin(start.Metrics); c.err == nil {
			c.start(start)
		}
		return
	}
	c.begin(nil)
	l := c.line[:0]
	switch e := e.(type) {
	case *Step:
		l = strconv.AppendInt(l, e.Step, 10)
		l = cell(l, e.Loss)
		l = append(l, ',')
		l = computedCell(l, e.GradNorm, e.NoGradNorm)
		l = computedCell(l, e.LR, e.NoLR)
		if e.LossScale == 0 {
			l = append(l, ',')
		} else {
			l = cell(l, e.LossScale)
		}
		l = measured(l, e.Ms)
		l = measured(l, e.TokensPerS)
		slowest, least, most := e.Slowest()
		l = measured(l, most)
		l = measured(l, least)
		if l = append(l, ','); slowest >= 0 {
			l = strconv.AppendInt(l, int64(slowest), 10)
		}
		for _, m := range c.metrics {
			l = append(measured(l, valueOf(e.Metrics, m)), ',')
		}
	default:
		v := validation(e, &c.validated)
		if v == nil {
			return
		}
		l = strconv.AppendInt(l, v.Step, 10)
		l = append(l, ',')
		l = cell(l, v.Loss)
		l = append(l, ",,,,,,,,"...)
		for _, m := range c.metrics {
			l = measured(append(l, ','), valueOf(v.Metrics, m))
		}
	}
	c.line = append(l, '\n')
	if c.err == nil {
		_, c.err = c.w.Write(c.line)
	}
}

// valueOf is a metric's value, NaN where it has none.
func valueOf(list []Figure, name string) float64 {
	for _, f := range list {
		if f.Name == name {
			return f.Value
		}
	}
	return math.NaN()
}

// computedCell is empty where the step ended before the figure was computed.
func computedCell(l line, v float64, no bool) line {
	if no {
		return append(l, ',')
	}
	return cell(l, v)
}

// start removes the rows of steps that the run repeats, and looks whether the step that it goes on
// from was validated.
func (c *CSV) start(e *Start) {
	if c.path == "" || e.Resumed == "" {
		return
	}
	header := csvHeader(c.metrics)
	c.kept = rewind(c.path, func(row []byte) lineKind {
		if step, loss, ok := csvRow(row, header); ok && !loss && step == e.First-1 {
			c.validated = step
		}
		if kind := csvKind(row, header, e.First); kind != lineGone || e.repeats() {
			return kind
		}
		return lineKept
	})
}

func cell(l line, v float64) line { return strconv.AppendFloat(append(l, ','), v, 'g', -1, 64) }

// measured is a cell that is empty for NaN, which a time is where none was taken.
func measured(l line, v float64) line {
	if math.IsNaN(v) {
		return append(l, ',')
	}
	return cell(l, v)
}

// Close closes the file and gives the first error of a write.
func (c *CSV) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.w != nil {
		err := c.w.Close()
		c.w = nil
		if c.err == nil {
			c.err = err
		}
	}
	return cmp.Or(c.err, c.kept)
}
