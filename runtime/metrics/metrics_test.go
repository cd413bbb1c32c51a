package metrics

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var nan = math.NaN()

// run tells a sink of a run with the steps.
func run(s Sink, first, last int64) {
	s.Tell(&Start{Name: "GPT", Layout: "three_d", Target: "cpu:x86-64-v3", Data: "text: 3 files", First: first, Last: last,
		Devices: 8, Params: 10_200_000, TokensPerStep: 2048, FlopsPerStep: 2e9, PeakFlops: 1e12, Settings: []Setting{{"lr", 3e-4}, {"warmup", 60}}})
	for i := first; i <= last; i++ {
		s.Tell(&Step{Step: i, Loss: 5.5 / float64(i), GradNorm: 1.25, LR: 3e-4, Ms: 12.5, TokensPerS: 163840})
	}
	s.Tell(&Validation{Step: last, Loss: 2.5})
	s.Tell(&Checkpoint{last, "ck/step-00000002", 0, 0})
	s.Tell(&Warning{"a \"quoted\"\nwarning"})
	s.Tell(&End{Steps: last, Loss: 2.75, ValLoss: 2.5})
}

func TestJSONLines(t *testing.T) {
	var b bytes.Buffer
	j := NewJSON(&b)
	run(j, 1, 2)
	j.Tell(&Step{Step: 3, Loss: nan, GradNorm: math.Inf(1), LR: 0, Ms: 1e-7, TokensPerS: 1e21, WaitMs: []float64{0.25, 0}})
	j.Tell(&End{Steps: 3, Loss: math.Inf(-1), ValLoss: nan})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	want := `{"event":"start","name":"GPT","layout":"three_d","target":"cpu:x86-64-v3","data":"text: 3 files","first_step":1,"last_step":2,"seed":0,"devices":8,"params":10200000,"tokens_per_step":2048,"flops_per_step":2e+09,"peak_flops":1e+12,"settings":{"lr":0.0003,"warmup":60}}
{"event":"step","step":1,"loss":5.5,"grad_norm":1.25,"lr":0.0003,"ms":12.5,"tokens_per_s":163840}
{"event":"step","step":2,"loss":2.75,"grad_norm":1.25,"lr":0.0003,"ms":12.5,"tokens_per_s":163840}
{"event":"validation","step":2,"val_loss":2.5}
{"event":"checkpoint","step":2,"dir":"ck/step-00000002"}
{"event":"warning","message":"a \"quoted\"\nwarning"}
{"event":"end","steps":2,"loss":2.75,"val_loss":2.5}
{"event":"step","step":3,"loss":null,"grad_norm":null,"lr":0,"ms":1e-07,"tokens_per_s":1e+21,"wait_ms":[0.25,0]}
{"event":"end","steps":3,"loss":null,"val_loss":null}
`
	if b.String() != want {
		t.Errorf("wrote\n%s\nwant\n%s", &b, want)
	}
	for _, line := range strings.Split(strings.TrimSuffix(want, "\n"), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestJSONStepAllocatesNothing(t *testing.T) {
	j := NewJSON(&countingWriter{})
	if n := testing.AllocsPerRun(100, func() { j.Tell(&Step{Step: 1, Loss: 1.5, GradNorm: nan}) }); n != 0 {
		t.Errorf("%v allocations per step", n)
	}
}

// countingWriter notes whether every write is a whole line.
type countingWriter struct {
	lines, broken int
	fail          int // writes from this one on fail, if not 0
	closed        bool
}

var errFull = errors.New("no space left")

func (w *countingWriter) Write(p []byte) (int, error) {
	w.lines++
	if w.fail > 0 && w.lines >= w.fail {
		return 0, errFull
	}
	if bytes.Count(p, []byte("\n")) != 1 || p[len(p)-1] != '\n' {
		w.broken++
	}
	return len(p), nil
}

func (w *countingWriter) Close() error { w.closed = true; return nil }

func TestJSONWritesWholeLines(t *testing.T) {
	w := &countingWriter{}
	j := NewJSON(w)
	var g sync.WaitGroup
	for range 4 {
		g.Add(1)
		go func() { defer g.Done(); run(j, 1, 50) }()
	}
	g.Wait()
	if err := j.Close(); err != nil || !w.closed {
		t.Errorf("close: %v, closed %t", err, w.closed)
	}
	if w.lines != 4*55 || w.broken != 0 {
		t.Errorf("%d writes, of which %d are no line", w.lines, w.broken)
	}
}

func TestSinksKeepTheFirstError(t *testing.T) {
	for name, s := range map[string]func(*countingWriter) Sink{
		"json":  func(w *countingWriter) Sink { return NewJSON(w) },
		"lines": func(w *countingWriter) Sink { return NewLines(w) },
	} {
		w := &countingWriter{fail: 3}
		sink := Multi(s(w))
		run(sink, 1, 20)
		if err := sink.Close(); !errors.Is(err, errFull) {
			t.Errorf("%s: close gives %v", name, err)
		}
		if w.lines != 3 {
			t.Errorf("%s: wrote on after the failure", name)
		}
	}
}

func TestLines(t *testing.T) {
	var b bytes.Buffer
	l := NewLines(&b)
	run(l, 1, 2)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want := `GPT (three_d)
  parameters  10.2M
  devices     8  cpu:x86-64-v3
  data        text: 3 files
  steps       1 to 2, 2.05k tokens each
step 1/2  loss 5.5000  grad 1.25  lr 0.0003  12.5 ms  164k tokens/s  16.0% of peak
step 2/2  loss 2.7500  grad 1.25  lr 0.0003  12.5 ms  164k tokens/s  16.0% of peak
step 2  validation loss 2.5000
step 2  saved ck/step-00000002
warning: a "quoted"
warning
2 steps done, loss 2.7500, validation loss 2.5000
`
	if b.String() != want {
		t.Errorf("wrote\n%s\nwant\n%s", &b, want)
	}
}

func TestLinesCadence(t *testing.T) {
	for _, c := range []struct {
		first, last int64
		want        string
	}{
		{1, 5, "1 2 3 4 5"},
		{1, 201, "1 10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 160 170 180 190 200 201"},
		{95, 139, "95 96 98 100 102 104 106 108 110 112 114 116 118 120 122 124 126 128 130 132 134 136 138 139"},
	} {
		var b bytes.Buffer
		run(NewLines(&b), c.first, c.last)
		var got []string
		for _, line := range strings.Split(b.String(), "\n") {
			var step, last int64
			if n, _ := fmt.Sscanf(line, "step %d/%d", &step, &last); n == 2 {
				got = append(got, fmt.Sprint(step))
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("steps %d to %d write %s", c.first, c.last, s)
		}
	}
}

// screen is what a terminal shows in the end of what is written to it: carriage
// returns write over.
func screen(text string) []string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		var cells []rune
		at := 0
		for _, r := range line {
			if r == '\r' {
				at = 0
				continue
			}
			if at == len(cells) {
				cells = append(cells, r)
			} else {
				cells[at] = r
			}
			at++
		}
		if s := strings.TrimRight(string(cells), " "); s != "" {
			lines = append(lines, s)
		}
	}
	return lines
}

func TestBar(t *testing.T) {
	var b bytes.Buffer
	s := newBar(&b, 80)
	s.Tell(&Start{Name: "GPT", First: 11, Last: 20})
	for i := int64(11); i <= 15; i++ {
		s.Tell(&Step{Step: i, Loss: 1.5})
	}
	s.Tell(&Warning{"slow"})
	for i := int64(16); i <= 21; i++ { // one too many
		s.Tell(&Step{Step: i, Loss: float64(i)})
	}
	s.Tell(&Checkpoint{20, "ck", 0, 0})
	s.Tell(&End{Steps: 20, Loss: 20, ValLoss: nan})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got := screen(b.String())
	want := []string{"GPT", "warning: slow", "loss 20.0000 100% |", "step 20  saved ck", "20 steps done, loss 20.0000"}
	if len(got) != len(want) {
		t.Fatalf("screen:\n%s", strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("line %d is %q, want %q", i, got[i], want[i])
		}
		if len([]rune(got[i])) > 80 {
			t.Errorf("line %d wraps: %q", i, got[i])
		}
	}
	if !strings.Contains(got[2], "(10/10") {
		t.Errorf("the bar counts %q", got[2])
	}
}

// TestBarHasTheRate: at every width from the narrowest on, the rate and the time
// that is left are shown, and the line does not wrap.
func TestBarHasTheRate(t *testing.T) {
	for _, columns := range []int{narrowTerminal, 80, 100, wideTerminal - 1, wideTerminal, 200} {
		for _, last := range []int64{20, 1_000_000} {
			var b bytes.Buffer
			s := newBar(&b, columns)
			s.Tell(&Start{First: 1, Last: last})
			s.Tell(&Step{Step: 1, Loss: 10.98765, Ms: 43210, TokensPerS: 48812})
			s.Tell(&Step{Step: last - 1, Loss: 10.98765, Ms: 43210, TokensPerS: 48812})
			time.Sleep(110 * time.Millisecond) // what the bar draws at most as often
			s.Tell(&Step{Step: last, Loss: 10.98765, Ms: 43210, TokensPerS: 48812})
			got := screen(b.String())
			line := got[len(got)-1]
			if !strings.Contains(line, "loss 10.9877") || !strings.Contains(line, "48.8k tokens/s") || strings.Contains(line, "43.2 s") != (columns >= wideTerminal) {
				t.Errorf("%d columns: %q", columns, line)
			}
			if n := len([]rune(line)); n > columns {
				t.Errorf("%d columns, and a line of %d: %q", columns, n, line)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestBarOfAnInterruptedRun(t *testing.T) {
	var b bytes.Buffer
	s := newBar(&b, 200)
	s.Tell(&Start{First: 1, Last: 10})
	s.Tell(&Step{Step: 1, Loss: 1.5, Ms: 20, TokensPerS: nan})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(b.String(), "\n") {
		t.Errorf("the prompt would follow the bar: %q", b.String())
	}
	s = newBar(&b, 80)
	s.Tell(&Start{First: 5, Last: 4}) // nothing to do
	s.Tell(&Step{Step: 5})
	s.Tell(&End{Steps: 4, Loss: nan, ValLoss: nan})
}

// TestNothingToDo: a run that is at its last step already has no steps to name.
func TestNothingToDo(t *testing.T) {
	var b bytes.Buffer
	l := NewLines(&b)
	l.Tell(&Start{Name: "GPT", First: 5, Last: 4, TokensPerStep: 8})
	if err := l.Close(); err != nil || strings.Contains(b.String(), "5 to 4") {
		t.Errorf("%v, wrote %q", err, &b)
	}
}

func TestPipeGetsLines(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, ok := NewTerminal(w).(*Lines); !ok {
		t.Error("a pipe gets a bar")
	}
}

func TestNumbersForPeople(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 999: "999", 1000: "1k", 999_600: "1M", 1.234e6: "1.23M", 5e9: "5G", 2e13: "20T"} {
		if got := count(v); got != want {
			t.Errorf("count(%g) = %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{0.1234: "0.123 ms", 99.94: "99.9 ms", 1234: "1234 ms", 12345: "12.3 s"} {
		if got := duration(v); got != want {
			t.Errorf("duration(%g) = %s, want %s", v, got, want)
		}
	}
}

// traceFile is what Perfetto reads of a trace.
type traceFile struct {
	TraceEvents []struct {
		Ph, Name, Cat, S, Bp string
		Pid, Tid, ID         int
		Ts, Dur              float64
		Args                 map[string]any
	} `json:"traceEvents"`
}

func readTrace(t *testing.T, path string) traceFile {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f traceFile
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return f
}

func TestTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	tr, err := CreateTrace(path)
	if err != nil {
		t.Fatal(err)
	}
	worker := tr.Track("device 0", "worker 0")
	other := tr.Track("device 1", "worker 0")
	if tr.Track("device 0", "worker 0") != worker || tr.Track("device 0", "worker 1").pid != worker.pid || other.pid == worker.pid {
		t.Error("tracks are not told apart by their names")
	}
	worker.Span(Span{Name: "gemm \"3\"", Category: "kernel", From: 1_234_567, Until: 2_000_001, Module: "blocks.0", Source: "a.ptl:1:2", Flops: 7, Bytes: 8, GFlops: 0.5, GBytes: 2, Roofline: 0.25})
	tr.Tell(&Step{Step: 1, Loss: nan, GradNorm: 2, LR: nan, Ms: 1e9, TokensPerS: nan})
	tr.Tell(&Step{Step: 2, Loss: 1, GradNorm: nan, LR: nan, Ms: 1e9, TokensPerS: nan})
	other.Span(Span{Name: "recv", Category: "comm", From: 2_000_000, Until: 3_000_000})
	tr.Flow("send", worker, 1_234_567, other, 2_999_999)
	tr.Tell(&Warning{"odd"})
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there before it is finished")
	}
	if err := tr.Close(); err != nil { // without End: interrupted
		t.Fatal(err)
	}
	tr.Tell(&Step{Step: 3})
	worker.Span(Span{Name: "late", Category: "kernel", Until: 1})
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	got := map[string]int{}
	lastEnd := 0.0
	for _, e := range readTrace(t, path).TraceEvents {
		got[e.Ph]++
		switch {
		case e.Ph == "X" && e.Cat == "kernel":
			if e.Name != `gemm "3"` || e.Ts != 1234.567 || e.Dur != 765.434 || e.Pid != int(worker.pid) || e.Tid != int(worker.tid) ||
				fmt.Sprint(e.Args) != "map[bytes:8 flop:7 gb_per_s:2 gflops:0.5 module:blocks.0 roofline_share:0.25 source:a.ptl:1:2]" {
				t.Errorf("span %+v", e)
			}
		case e.Ph == "X" && e.Cat == "comm":
			if len(e.Args) != 0 {
				t.Errorf("span %+v", e)
			}
		case e.Ph == "s":
			if e.Name != "send" || e.ID != 1 || e.Ts != 1234.567 || e.Pid != int(worker.pid) || e.Tid != int(worker.tid) {
				t.Errorf("arrow %+v", e)
			}
		case e.Ph == "f":
			if e.Name != "send" || e.ID != 1 || e.Bp != "e" || e.Ts != 2999.999 || e.Pid != int(other.pid) || e.Tid != int(other.tid) {
				t.Errorf("arrow %+v", e)
			}
		case e.Ph == "X":
			if e.Ts < lastEnd-0.001 {
				t.Errorf("%s overlaps the step before it", e.Name)
			}
			lastEnd = e.Ts + e.Dur
		case e.Ph == "C":
			if _, ok := e.Args["value"].(float64); !ok {
				t.Errorf("counter %+v", e)
			}
		case e.Ph == "i" && e.S != "g":
			t.Errorf("instant %+v", e)
		}
	}
	// 3 processes and 4 threads, each with a name and a place.
	if fmt.Sprint(got) != "map[C:2 M:14 X:4 f:1 i:1 s:1]" {
		t.Errorf("events %v", got)
	}
	if es, _ := os.ReadDir(filepath.Dir(path)); len(es) != 1 {
		t.Errorf("left behind: %v", es)
	}
}

func TestTraceOfAWholeRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	tr, err := CreateTrace(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	s := Multi(tr, NewJSON(&b))
	run(s, 1, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(readTrace(t, path).TraceEvents); n < 20 {
		t.Errorf("%d events", n)
	}
}

func TestSpanAllocatesNothing(t *testing.T) {
	tr, err := CreateTrace(filepath.Join(t.TempDir(), "trace.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	k := tr.Track("device 0", "stream 0")
	if n := testing.AllocsPerRun(100, func() { k.Span(Span{Name: "gemm", Category: "kernel", From: 1, Until: 2, Module: "m", Flops: 1}) }); n != 0 {
		t.Errorf("%v allocations per span", n)
	}
}

func TestTraceThatCannotBeWritten(t *testing.T) {
	if _, err := CreateTrace(filepath.Join(t.TempDir(), "none", "trace.json")); err == nil {
		t.Error("a trace in a folder that is not there")
	}
	dir := t.TempDir()
	tr, err := CreateTrace(filepath.Join(dir, "trace.json"))
	if err != nil {
		t.Fatal(err)
	}
	tr.f.File.Close() // as if the disk were gone
	run(tr, 1, 2)
	if err := tr.Close(); err == nil {
		t.Error("a trace that was not written is said to be")
	}
	if es, _ := os.ReadDir(dir); len(es) != 0 {
		t.Errorf("left behind: %v", es)
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("plain")
	f.Add("\x00\xff\"\\\u2028")
	f.Fuzz(func(t *testing.T, s string) {
		b := appendString(nil, s)
		var got string
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%q gives %s: %v", s, b, err)
		}
		if got != string([]rune(s)) { // what is not UTF-8 is replaced, byte by byte
			t.Errorf("%q is read back as %q", s, got)
		}
	})
}
