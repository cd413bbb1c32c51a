package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// A run that goes on from a checkpoint repeats the steps that a crash or a kill has lost.
// A log then holds each step once: before the first event is written, the lines of steps
// from the first one on are removed.

// lineKind says what becomes of a line of a log.
type lineKind int

const (
	lineKept   lineKind = iota // it stays, and older lines may have to go
	lineGone                   // it is of a step that is repeated, or is no whole line
	lineBefore                 // it is of an earlier step: what stands before it stays
)

// rewind removes the lines of a log that are gone, from the end back to the last one of an
// earlier step. Lines that stay are written over those that go, and the file is cut behind
// them, so that whatever ends the process in between loses none that stays.
func rewind(path string, kind func(line []byte) lineKind) error {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return err // what was written to a pipe is gone
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("steps that are repeated are there twice: %w", err)
	}
	defer f.Close()
	at, tail, err := tailOf(f, kind)
	if err != nil {
		return err
	}
	var stays []byte
	for _, line := range bytes.SplitAfter(tail, []byte("\n")) {
		if len(line) > 0 && kind(line) != lineGone {
			stays = append(stays, line...)
		}
	}
	if len(stays) == len(tail) {
		return nil
	}
	if _, err := f.WriteAt(stays, at); err != nil {
		return err
	}
	return f.Truncate(at + int64(len(stays)))
}

// tailBlock is how much of a file is looked at first; of long logs nobody reads all.
const tailBlock = 64 << 10

// tailOf are the lines from the last one of an earlier step on, and where they begin: all
// of the file if there is none.
func tailOf(f *os.File, kind func([]byte) lineKind) (at int64, tail []byte, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, nil, err
	}
	for n := min(size, tailBlock); ; n = min(size, 4*n) {
		tail = make([]byte, n)
		if _, err := f.ReadAt(tail, size-n); err != nil {
			return 0, nil, err
		}
		for end := len(tail); end > 0; {
			begin := bytes.LastIndexByte(tail[:end-1], '\n') + 1
			if begin == 0 && n < size {
				break // its beginning was not read
			}
			if kind(tail[begin:end]) == lineBefore {
				return size - n + int64(begin), tail[begin:], nil
			}
			end = begin
		}
		if n == size {
			return 0, tail, nil
		}
	}
}

// csvKind is that of a row of a file with a header, for a run whose first step is first. A validation, which has no loss, may
// be told after later steps: of the checkpoint that a run would have gone on from.
func csvKind(row []byte, header string, first int64) lineKind {
	if string(row) == header {
		return lineBefore
	}
	step, loss, ok := csvRow(row, header)
	switch {
	case !ok || step >= first:
		return lineGone
	case !loss:
		return lineKept
	}
	return lineBefore
}

// csvRow is the step of a whole row, and whether it has the step's loss or a validation's.
func csvRow(row []byte, header string) (step int64, loss, ok bool) {
	cells := bytes.Split(row, []byte(","))
	step, err := strconv.ParseInt(string(cells[0]), 10, 64)
	ok = err == nil && bytes.HasSuffix(row, []byte("\n")) && len(cells) == strings.Count(header, ",")+1
	return step, ok && len(cells[1]) > 0, ok
}

// jsonKind is that of an event. A checkpoint may be told after steps that follow it, and a
// warning has no step.
func jsonKind(line []byte, first int64) lineKind {
	var e struct {
		Event string `json:"event"`
		Step  int64  `json:"step"`
		Steps int64  `json:"steps"`
		First int64  `json:"first_step"`
	}
	if json.Unmarshal(line, &e) != nil || line[len(line)-1] != '\n' {
		return lineGone
	}
	switch at := max(e.Step, e.Steps, e.First); {
	case at >= first:
		return lineGone
	case e.Event == "step":
		return lineBefore
	}
	return lineKept
}

// repeats reports whether a start is of a run that goes on from a checkpoint, and does
// steps.
func (e *Start) repeats() bool { return e.Resumed != "" && e.First <= e.Last }
