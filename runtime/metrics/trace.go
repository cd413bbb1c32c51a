package metrics

import (
	"bufio"
	"slices"
	"strconv"
	"sync"
	"time"

	"ptc/runtime/checkpoint/atomicfile"
)

// Trace writes a file in Chrome's trace event format, which Perfetto opens
// (https://ui.perfetto.dev; "Trace Event Format", Google 2016):
//
//	{"displayTimeUnit":"ms","traceEvents":[
//	{"ph":"M","name":"process_name","pid":1,"args":{"name":"device 0"}},
//	{"ph":"X","name":"gemm.3","cat":"kernel","pid":1,"tid":2,"ts":12.345,"dur":6.789,
//	 "args":{"module":"blocks.3.mlp","source":"std/nn.ptl:62:9","flop":8388608,"bytes":131072,
//	 "gflops":1235.6,"gb_per_s":19.3,"roofline_share":0.61}}
//	{"ph":"s","name":"send","cat":"flow","id":1,…} and {"ph":"f",…}: the ends of an arrow
//	]}
//
// A process is a device, a thread is one of its streams or workers, and process
// 0 is the run, with its steps and its counters. Events go to a temporary file
// as they come, and Close puts it in its place. Besides a Sink it gives Tracks,
// on which spans of kernels are recorded. It may be used concurrently.
type Trace struct {
	start time.Time

	mu     sync.Mutex
	f      *atomicfile.File
	w      *bufio.Writer
	line   line
	wrote  bool // an event, so that a comma must follow
	err    error
	tracks []track
	steps  Track
	last   int64 // end of the last step, in time
	flows  int64 // arrows so far
}

// track is a thread of a process, known by its index.
type track struct {
	process, thread string
	pid, tid        int64
}

// CreateTrace starts a trace that Close will put at path.
func CreateTrace(path string) (*Trace, error) {
	f, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	t := &Trace{start: time.Now(), f: f, w: bufio.NewWriterSize(f, 1<<16)}
	if _, err := t.w.WriteString("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"); err != nil {
		f.Abort()
		return nil, err
	}
	t.steps = t.Track("run", "steps")
	return t, nil
}

// Now is the time in nanoseconds since the trace was created, for spans.
func (t *Trace) Now() int64 { return int64(time.Since(t.start)) }

// Track is a line of a trace on which spans follow each other.
type Track struct {
	trace    *Trace
	pid, tid int64
}

// Track gives the track of a thread of a process, the same for the same names.
// They are shown in the order of their first mention.
func (t *Trace) Track(process, thread string) Track {
	t.mu.Lock()
	defer t.mu.Unlock()
	pid, tid := int64(-1), int64(len(t.tracks))
	next := int64(0)
	for _, k := range t.tracks {
		if k.process == process && k.thread == thread {
			return Track{t, k.pid, k.tid}
		}
		if k.process == process {
			pid = k.pid
		}
		next = max(next, k.pid+1)
	}
	if pid < 0 {
		pid = next
		t.metadata("process_name", pid, -1, process, -1)
		t.metadata("process_sort_index", pid, -1, "", pid)
	}
	t.metadata("thread_name", pid, tid, thread, -1)
	t.metadata("thread_sort_index", pid, tid, "", tid)
	t.tracks = append(t.tracks, track{process, thread, pid, tid})
	return Track{t, pid, tid}
}

// Span is what ran on a track from and until a time given by Now. Module and
// Source say where in the model and its text it comes from; Flops and Bytes are
// its work, and what follows how fast that was done, where it is known.
type Span struct {
	Name, Category string
	From, Until    int64
	Module, Source string
	Flops, Bytes   int64
	GFlops, GBytes float64 // of a second
	Roofline       float64 // share of what the machine can do; 0 is not known
}

// Span records what ran.
func (k Track) Span(s Span) {
	k.trace.mu.Lock()
	defer k.trace.mu.Unlock()
	k.trace.span(k, &s)
}

// span is Span with the lock held.
func (t *Trace) span(k Track, s *Span) {
	t.begin("X", s.Name, k.pid)
	t.line.int("tid", k.tid)
	t.line.str("cat", s.Category)
	t.time("ts", s.From)
	t.time("dur", max(0, s.Until-s.From))
	args := len(t.line)
	for _, x := range [2]struct{ key, value string }{{"module", s.Module}, {"source", s.Source}} {
		if x.value != "" {
			t.line.str(x.key, x.value)
		}
	}
	for _, x := range [2]struct {
		key   string
		value int64
	}{{"flop", s.Flops}, {"bytes", s.Bytes}} {
		if x.value != 0 {
			t.line.int(x.key, x.value)
		}
	}
	for _, x := range [3]struct {
		key   string
		value float64
	}{{"gflops", s.GFlops}, {"gb_per_s", s.GBytes}, {"roofline_share", s.Roofline}} {
		if x.value != 0 {
			t.line.num(x.key, x.value)
		}
	}
	t.nest(args)
	t.end()
}

// Flow draws an arrow from the span of a track at one time to the span of
// another at a later one: from a send to its receive, from the start of a
// collective to its end.
func (t *Trace) Flow(name string, from Track, at int64, to Track, until int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flows++
	t.flow("s", name, from, at)
	t.flow("f", name, to, until)
}

// flow writes one end of the last arrow; bp binds its head to the span that
// encloses the time.
func (t *Trace) flow(phase, name string, k Track, at int64) {
	t.begin(phase, name, k.pid)
	t.line.int("tid", k.tid)
	t.line.int("id", t.flows)
	t.time("ts", at)
	t.line.text(`,"cat":"flow","bp":"e"`)
	t.end()
}

// counter records a value; one that is not finite leaves a gap, for the format
// has no way to write it. The lock is held.
func (t *Trace) counter(name string, at int64, v float64) {
	if !isFinite(v) {
		return
	}
	t.begin("C", name, t.steps.pid)
	t.time("ts", at)
	args := len(t.line)
	t.line.num("value", v)
	t.nest(args)
	t.end()
}

// instant records a moment of the whole run. The lock is held.
func (t *Trace) instant(name string) {
	t.begin("i", name, t.steps.pid)
	t.line.int("tid", t.steps.tid)
	t.time("ts", t.Now())
	t.line.text(`,"s":"g"`)
	t.end()
}

// metadata gives a process, or a thread if tid is not negative, its name, or its
// place if index is not negative.
func (t *Trace) metadata(what string, pid, tid int64, name string, index int64) {
	t.begin("M", what, pid)
	if tid >= 0 {
		t.line.int("tid", tid)
	}
	args := len(t.line)
	if index < 0 {
		t.line.str("name", name)
	} else {
		t.line.int("sort_index", index)
	}
	t.nest(args)
	t.end()
}

// nest makes the fields from a place of the line on those of the object args.
func (t *Trace) nest(from int) {
	if from == len(t.line) {
		return
	}
	t.line[from] = '{' // in the place of a comma
	t.line = append(slices.Insert(t.line, from, []byte(`,"args":`)...), '}')
}

func (t *Trace) begin(phase, name string, pid int64) {
	t.line = t.line[:0]
	if t.wrote {
		t.line.text(",\n")
	}
	t.wrote = true
	t.line.text(`{"ph":"`)
	t.line.text(phase)
	t.line.text(`"`)
	t.line.str("name", name)
	t.line.int("pid", pid)
}

func (t *Trace) end() {
	t.line.text("}")
	if t.err == nil && t.w != nil {
		_, t.err = t.w.Write(t.line)
	}
}

// time writes nanoseconds as the format's microseconds, to the nanosecond.
func (t *Trace) time(k string, ns int64) {
	ns = max(0, ns)
	t.line.int(k, ns/1000)
	rest := ns % 1000
	t.line = append(t.line, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// Tell records a Step as a span that ends now, with its counters, a Validation as
// a counter, and the other events as moments.
func (t *Trace) Tell(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := e.(type) {
	case *Start:
		t.instant("start " + e.Name)
	case *Step:
		t.step(e)
	case *Validation:
		t.counter("val_loss", t.Now(), e.Loss)
		for _, f := range e.Metrics {
			t.counter("validation."+f.Name, t.Now(), f.Value)
		}
	case *Checkpoint:
		t.instant("checkpoint " + strconv.FormatInt(e.Step, 10))
	case *Warning:
		t.instant("warning: " + e.Message)
	case *End:
		t.instant("end")
	}
}

func (t *Trace) step(e *Step) {
	now := t.Now()
	if isFinite(e.Ms) {
		// Told a little late, a step would begin before the end of the one
		// before it, and spans of a track must not overlap.
		from := max(t.last, now-int64(e.Ms*1e6))
		t.span(t.steps, &Span{Name: "step " + strconv.FormatInt(e.Step, 10), Category: "step", From: from, Until: now})
		t.last = now
	}
	t.counter("loss", now, e.Loss)
	t.counter("grad_norm", now, e.GradNorm)
	t.counter("lr", now, e.LR)
	if e.LossScale != 0 {
		t.counter("loss_scale", now, e.LossScale)
	}
	t.counter("tokens_per_s", now, e.TokensPerS)
	for _, f := range e.Metrics {
		t.counter("metrics."+f.Name, now, f.Value)
	}
	if rank, least, most := e.Slowest(); rank >= 0 {
		t.counter("wait_ms", now, most)
		t.counter("least_wait_ms", now, least)
	}
}

// Close finishes the file, also that of a run that was interrupted, and puts it
// in its place. If a write failed there is no file, and the error says why.
// Events that come later are ignored.
func (t *Trace) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.w == nil {
		return t.err
	}
	defer t.f.Abort()
	w := t.w
	t.w = nil
	if t.err == nil {
		_, t.err = w.WriteString("\n]}\n")
	}
	if t.err == nil {
		t.err = w.Flush()
	}
	if t.err == nil {
		t.err = t.f.Commit()
	}
	return t.err
}
