package metrics

import (
	"cmp"
	"io"
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
	path  string    // empty: it cannot be rewound
	kept  error     // why lines of steps that are repeated are still there
	line  line
	err   error
}

// NewJSON writes to w, and closes it on Close if it can be closed.
func NewJSON(w io.Writer) *JSON {
	c, _ := w.(io.Closer)
	return &JSON{w: w, close: c}
}

// Tell writes the event as a line. For a Step it allocates nothing.
func (j *JSON) Tell(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := &j.line
	*l = (*l)[:0]
	switch e := e.(type) {
	case *Start:
		if j.path != "" && e.repeats() {
			j.kept = rewind(j.path, func(line []byte) lineKind { return jsonKind(line, e.First) })
		}
		l.start(e)
	case *Step:
		l.text(`{"event":"step"`)
		l.int("step", e.Step)
		l.num("loss", e.Loss)
		l.num("grad_norm", e.GradNorm)
		l.num("lr", e.LR)
		if e.LossScale != 0 {
			l.num("loss_scale", e.LossScale)
		}
		l.num("ms", e.Ms)
		l.num("tokens_per_s", e.TokensPerS)
		if e.WaitMs != nil {
			l.nums("wait_ms", e.WaitMs)
		}
	case *Validation:
		l.text(`{"event":"validation"`)
		l.int("step", e.Step)
		l.num("val_loss", e.Loss)
	case *Checkpoint:
		l.text(`{"event":"checkpoint"`)
		l.int("step", e.Step)
		l.str("dir", e.Dir)
		if e.WaitMs > 0 {
			l.num("wait_ms", e.WaitMs)
		}
		if e.WriteMs > 0 {
			l.num("write_ms", e.WriteMs)
		}
	case *Warning:
		l.text(`{"event":"warning"`)
		l.str("message", e.Message)
	case *End:
		l.text(`{"event":"end"`)
		l.int("steps", e.Steps)
		l.num("loss", e.Loss)
		l.num("val_loss", e.ValLoss)
	}
	l.text("}\n")
	if j.err == nil {
		_, j.err = j.w.Write(j.line)
	}
}

// start writes the event start, without what is unknown.
func (l *line) start(e *Start) {
	l.text(`{"event":"start"`)
	for _, f := range []struct{ key, value string }{
		{"name", e.Name}, {"layout", e.Layout}, {"target", e.Target}, {"on", e.On}, {"data", e.Data}, {"resumed", e.Resumed}, {"changed", e.Changed}, {"goes_on", e.GoesOn},
	} {
		if f.value != "" {
			l.str(f.key, f.value)
		}
	}
	l.int("first_step", e.First)
	l.int("last_step", e.Last)
	l.key("seed")
	*l = strconv.AppendUint(*l, e.Seed, 10)
	for _, f := range []struct {
		key   string
		value int64
	}{{"devices", int64(e.Devices)}, {"params", e.Params}, {"tokens_per_step", e.TokensPerStep}} {
		if f.value != 0 {
			l.int(f.key, f.value)
		}
	}
	for _, f := range []struct {
		key   string
		value float64
	}{{"flops_per_step", e.FlopsPerStep}, {"peak_flops", e.PeakFlops}} {
		if f.value != 0 {
			l.num(f.key, f.value)
		}
	}
	if len(e.Settings) == 0 {
		return
	}
	l.key("settings")
	l.text("{")
	for i, s := range e.Settings {
		if i > 0 {
			l.text(",")
		}
		*l = strconv.AppendQuote(*l, s.Name)
		l.text(":")
		*l = strconv.AppendFloat(*l, s.Value, 'g', -1, 64)
	}
	l.text("}")
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
	return cmp.Or(j.err, j.kept)
}
