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
// -Inf, as most readers take it.
type CSV struct {
	mu   sync.Mutex
	path string // empty: it cannot be rewound
	kept error  // why rows of steps that are repeated are still there
	w    io.WriteCloser
	line line
	err  error

	validated int64 // the last step of which a validation was told
}

// csvHeader is the first line of a file.
const csvHeader = "step,loss,validation,grad_norm,lr,loss_scale,ms,tokens_per_s,wait_ms,least_wait_ms,slowest_rank\n"

// openCSV adds to a file that has this header, or begins one.
func openCSV(path string) (Sink, error) {
	f, empty, err := appended(path)
	if err != nil {
		return nil, err
	}
	if !empty {
		err = sameHeader(path)
	}
	if err == nil && !empty {
		err = endLine(path, f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	c := newCSV(f, empty)
	c.path = path
	return c, nil
}

// sameHeader is an error where a file has other columns.
func sameHeader(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	first, err := bufio.NewReader(io.LimitReader(f, int64(len(csvHeader)))).ReadString('\n')
	if err != nil && err != io.EOF {
		return err
	}
	if first != csvHeader {
		return fmt.Errorf("%s is there and has other columns than %s", path, strings.TrimSpace(csvHeader))
	}
	return nil
}

func newCSV(w io.WriteCloser, header bool) *CSV {
	c := &CSV{w: w}
	if header {
		_, c.err = io.WriteString(w, csvHeader)
	}
	return c
}

// Tell writes a row of a step or a validation, in one write.
func (c *CSV) Tell(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.line[:0]
	switch e := e.(type) {
	case *Start:
		c.start(e)
		return
	case *Step:
		l = strconv.AppendInt(l, e.Step, 10)
		l = cell(l, e.Loss)
		l = append(l, ',')
		l = cell(l, e.GradNorm)
		l = cell(l, e.LR)
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
	default:
		v := validation(e, &c.validated)
		if v == nil {
			return
		}
		l = strconv.AppendInt(l, v.Step, 10)
		l = append(l, ',')
		l = cell(l, v.Loss)
		l = append(l, ",,,,,,,,"...)
	}
	c.line = append(l, '\n')
	if c.err == nil {
		_, c.err = c.w.Write(c.line)
	}
}

// start removes the rows of steps that the run repeats, and looks whether the step that it goes on
// from was validated.
func (c *CSV) start(e *Start) {
	if c.path == "" || e.Resumed == "" {
		return
	}
	c.kept = rewind(c.path, func(row []byte) lineKind {
		if step, loss, ok := csvRow(row, csvHeader); ok && !loss && step == e.First-1 {
			c.validated = step
		}
		if kind := csvKind(row, csvHeader, e.First); kind != lineGone || e.repeats() {
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
