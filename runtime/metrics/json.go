package metrics

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"sync"
)

// JSON writes each event as an object on a line of its own, in one write, so
// that whoever reads along never sees half a line:
//
//	{"event":"step","step":1,"loss":5.5,"grad_norm":1.2,"lr":0.0003,"ms":12.5,"tokens_per_s":163840}
type JSON struct {
	mu    sync.Mutex
	w     io.Writer
	close io.Closer // may be nil
	line  []byte    // reused, so that a step allocates nothing
	err   error
}

// NewJSON writes to w, and closes it on Close if it can be closed.
func NewJSON(w io.Writer) *JSON {
	c, _ := w.(io.Closer)
	return &JSON{w: w, close: c}
}

// begin takes the lock and starts a line; end writes it and gives the lock back.
func (j *JSON) begin(event string) {
	j.mu.Lock()
	j.line = append(j.line[:0], `{"event":"`...)
	j.line = append(j.line, event...)
	j.line = append(j.line, '"')
}

func (j *JSON) end() {
	j.line = append(j.line, "}\n"...)
	if j.err == nil {
		_, j.err = j.w.Write(j.line)
	}
	j.mu.Unlock()
}

func (j *JSON) key(k string) {
	j.line = append(j.line, `,"`...)
	j.line = append(j.line, k...)
	j.line = append(j.line, `":`...)
}

func (j *JSON) str(k, v string)         { j.key(k); j.line = appendString(j.line, v) }
func (j *JSON) int(k string, v int64)   { j.key(k); j.line = strconv.AppendInt(j.line, v, 10) }
func (j *JSON) num(k string, v float64) { j.key(k); j.line = appendNumber(j.line, v) }

// Start writes the event start, without what is unknown.
func (j *JSON) Start(e Start) {
	j.begin("start")
	for _, f := range []struct{ key, value string }{
		{"name", e.Name}, {"layout", e.Layout}, {"target", e.Target}, {"data", e.Data}, {"resumed", e.Resumed},
	} {
		if f.value != "" {
			j.str(f.key, f.value)
		}
	}
	j.int("first_step", e.First)
	j.int("last_step", e.Last)
	j.key("seed")
	j.line = strconv.AppendUint(j.line, e.Seed, 10)
	for _, f := range []struct {
		key   string
		value int64
	}{{"devices", int64(e.Devices)}, {"params", e.Params}, {"tokens_per_step", e.TokensPerStep}} {
		if f.value != 0 {
			j.int(f.key, f.value)
		}
	}
	if e.FlopsPerStep != 0 {
		j.num("flops_per_step", e.FlopsPerStep)
	}
	if e.PeakFlops != 0 {
		j.num("peak_flops", e.PeakFlops)
	}
	j.end()
}

// Step writes the event step. It allocates nothing.
func (j *JSON) Step(e Step) {
	j.begin("step")
	j.int("step", e.Step)
	j.num("loss", e.Loss)
	j.num("grad_norm", e.GradNorm)
	j.num("lr", e.LR)
	if e.LossScale != 0 {
		j.num("loss_scale", e.LossScale)
	}
	j.num("ms", e.Ms)
	j.num("tokens_per_s", e.TokensPerS)
	j.end()
}

// Validation writes the event validation.
func (j *JSON) Validation(e Validation) {
	j.begin("validation")
	j.int("step", e.Step)
	j.num("val_loss", e.Loss)
	j.end()
}

// Checkpoint writes the event checkpoint.
func (j *JSON) Checkpoint(e Checkpoint) {
	j.begin("checkpoint")
	j.int("step", e.Step)
	j.str("dir", e.Dir)
	j.end()
}

// Warning writes the event warning.
func (j *JSON) Warning(message string) {
	j.begin("warning")
	j.str("message", message)
	j.end()
}

// End writes the event end.
func (j *JSON) End(e End) {
	j.begin("end")
	j.int("steps", e.Steps)
	j.num("loss", e.Loss)
	j.num("val_loss", e.ValLoss)
	j.end()
}

// Close closes the writer and gives the first error of a write.
func (j *JSON) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.close != nil {
		err := j.close.Close()
		j.close = nil
		if j.err == nil {
			j.err = err
		}
	}
	return j.err
}

// appendNumber writes a number; JSON has none that is not finite.
func appendNumber(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

// appendString writes a string, without allocating if it needs no escape.
func appendString(b []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			text, err := json.Marshal(s)
			if err != nil {
				panic("metrics: a string cannot be written as JSON: " + err.Error())
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
