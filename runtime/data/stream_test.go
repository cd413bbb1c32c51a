package data

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	arrowarray "github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"ptc/runtime/data/generator"
)

// asGenerator is the variable by which the binary of the tests is a program that gives examples.
const asGenerator = "PTC_TEST_GENERATOR"

func init() {
	if mode := os.Getenv(asGenerator); mode != "" {
		os.Exit(generate(mode, os.Stdin, os.Stdout))
	}
}

// program is the command line of a generator of the tests.
func program(mode string) string {
	return fmt.Sprintf("%s='%s' exec '%s'", asGenerator, mode, os.Args[0])
}

// Example n of the tests has the tokens 3n+0, 3n+1, 3n+2 mod 64 and the targets behind them.
const testWindow = 3

func testFields(batch int) []Field {
	return []Field{{"tokens", I32, []int{batch, testWindow}}, {"targets", I32, []int{batch, testWindow}}}
}

func exampleTokens(n int64) (tokens, targets [testWindow]int32) {
	for i := range testWindow {
		tokens[i], targets[i] = int32((3*n+int64(i))%64), int32((3*n+int64(i)+1)%64)
	}
	return tokens, targets
}

// npyOf is an array of NumPy's format.
func npyOf(descr string, shape string, raw []byte) []byte {
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape)
	out := append([]byte(npyMagic+"\x01\x00"), byte(len(head)), byte(len(head)>>8))
	return append(append(out, head...), raw...)
}

// groupOf is a batch of examples from a number on.
func groupOf(first int64, n int) []byte {
	var tokens, targets []byte
	for i := range n {
		a, b := exampleTokens(first + int64(i))
		for k := range testWindow {
			tokens = binary.LittleEndian.AppendUint32(tokens, uint32(a[k]))
			targets = binary.LittleEndian.AppendUint64(targets, uint64(b[k]))
		}
	}
	shape := fmt.Sprintf("(%d, %d)", n, testWindow)
	return append(npyOf("<i4", shape, tokens), npyOf("<i8", shape, targets)...)
}

// arrowOf is a stream of Arrow of two batches of examples from a number on.
func arrowOf(w io.Writer, first int64, n int) {
	list := arrow.FixedSizeListOf(testWindow, arrow.PrimitiveTypes.Int32)
	schema := arrow.NewSchema([]arrow.Field{{Name: "targets", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint8)}, {Name: "tokens", Type: list}}, nil)
	out := ipc.NewWriter(w, ipc.WithSchema(schema))
	for range 2 {
		b := arrowarray.NewRecordBuilder(memory.DefaultAllocator, schema)
		for range n {
			tokens, targets := exampleTokens(first)
			first++
			x, y := b.Field(1).(*arrowarray.FixedSizeListBuilder), b.Field(0).(*arrowarray.ListBuilder)
			x.Append(true)
			y.Append(true)
			for k := range testWindow {
				x.ValueBuilder().(*arrowarray.Int32Builder).Append(tokens[k])
				y.ValueBuilder().(*arrowarray.Uint8Builder).Append(uint8(targets[k]))
			}
		}
		_ = out.Write(b.NewRecordBatch())
	}
	_ = out.Close()
}

// generate is the program: it writes 40 examples, in batches of different sizes, in a way that mode says.
func generate(mode string, in io.Reader, w io.Writer) int {
	out := bufio.NewWriter(w)
	defer out.Flush()
	var ask generator.Ask
	if strings.HasPrefix(mode, "answers") || mode == "fresh" {
		line, _ := bufio.NewReader(in).ReadBytes('\n')
		if json.Unmarshal(line, &ask) != nil || os.Getenv(generator.Variable) != strings.TrimSpace(string(line)) && !strings.HasPrefix(mode, "answers ") {
			return 9
		}
	}
	first := ask.First
	switch mode {
	case "plain":
		first = 0
	case "answers", "answers over a socket", "answers and breaks off":
		fmt.Fprintf(out, `{"ptc_stream": 1, "first": %d, "id": "v1", "examples": 40, "split": %q}`+"\n", first, ask.Split)
	case "fresh":
		fmt.Fprintf(out, `{"ptc_stream": 1, "first": 0, "resumable": false}`+"\n")
		first = 0
	case "refuses":
		fmt.Fprintln(out, `{"ptc_stream": 1, "error": "there is no corpus"}`)
		return 0
	case "late":
		fmt.Fprintln(out, `{"ptc_stream": 1, "first": 5}`)
	case "arrow":
		arrowOf(out, 0, 20)
		return 0
	case "silent":
		time.Sleep(time.Minute)
	case "stalls":
		out.Write(groupOf(0, 4))
		out.Flush()
		fmt.Fprintln(os.Stderr, "loading shard 2")
		time.Sleep(time.Minute)
	case "dies":
		out.Write(groupOf(0, 4))
		out.Write(groupOf(4, 4)[:100])
		out.Flush()
		fmt.Fprintln(os.Stderr, "Traceback: no such shard")
		return 7
	case "torn":
		out.Write(groupOf(0, 4)[:150])
		return 0
	case "shape":
		out.Write(groupOf(0, 4))
		out.Write(npyOf("<i4", "(4, 2)", make([]byte, 32)))
	case "dtype":
		out.Write(npyOf("<f4", "(4, 3)", make([]byte, 48)))
	case "rows":
		out.Write(npyOf("<i4", "(4, 3)", make([]byte, 48)))
		out.Write(npyOf("<i4", "(2, 3)", make([]byte, 24)))
	case "large":
		out.Write(npyOf("<i4", "(4, 3)", append([]byte{64}, make([]byte, 47)...)))
	case "noise":
		out.WriteString("loading the model\n")
	case "huge":
		out.Write(npyOf("<i4", "(999999999999, 3)", nil))
	case "names":
		fmt.Fprintln(out, `{"ptc_stream": 1, "fields": ["tokens", "labels"]}`)
	}
	for n := int64(0); first+n < 40; {
		k := min(1+n%7, 40-first-n)
		if _, err := out.Write(groupOf(first+n, int(k))); err != nil {
			return 1
		}
		n += k
	}
	if mode == "answers over a socket" {
		fmt.Fprintln(out, `{"end": true}`)
	}
	return 0
}

func openTest(from string, batch int, past *Past, more ...Option) (Source, error) {
	opts := append([]Option{{"from", from}, {"timeout", "20"}, {"tokens_below", "64"}}, more...)
	return Open("stream", opts, Batch{Size: batch, Seed: 3, Fields: testFields(batch), Past: past})
}

// checkSteps holds the batches of steps to the examples that are theirs.
func checkSteps(t *testing.T, src Source, batch int, from, to int64) {
	t.Helper()
	tokens, targets := make([]int32, batch*testWindow), make([]int32, batch*testWindow)
	for step := from; step <= to; step++ {
		if err := src.Fill(step, []View{{I32: tokens}, {I32: targets}}); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		for row := range batch {
			a, b := exampleTokens((step-1)*int64(batch) + int64(row))
			if [testWindow]int32(tokens[row*testWindow:]) != a || [testWindow]int32(targets[row*testWindow:]) != b {
				t.Fatalf("step %d, row %d: %v and %v, want %v and %v", step, row, tokens[row*3:row*3+3], targets[row*3:row*3+3], a, b)
			}
		}
	}
}

func closeTest(src Source) { _ = src.(io.Closer).Close() }

// TestStream: programs of every form give the same examples, in any batch, from the start and behind a
// checkpoint, and their end is told as one.
func TestStream(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "s")
	listen(t, socket, func(c net.Conn) { generate("answers over a socket", c, c) })
	for _, from := range []string{program("plain"), program("answers"), program("arrow"), socket} {
		for _, batch := range []int{1, 4, 16} {
			src, err := openTest(from, batch, nil)
			if err != nil {
				t.Fatal(err)
			}
			last := int64(40 / batch)
			checkSteps(t, src, batch, 1, last)
			tokens := make([]int32, batch*testWindow)
			if err := src.Fill(last+1, []View{{I32: tokens}, {}}); !errors.Is(err, ErrEnd) || !strings.Contains(err.Error(), "there are 40 examples") {
				t.Errorf("%s: behind the end: %v", from, err)
			}
			closeTest(src)

			r := src.Recipe()
			past := &Past{Steps: 2, Phases: []Phase{{Examples: 2 * int64(batch), Print: src.Fingerprint(), Recipe: r}}}
			if batch == 16 {
				past.Phases[0].Examples, past.Steps = 16, 1
			}
			again, err := openTest(from, batch, past)
			if err != nil {
				t.Fatal(err)
			}
			if again.Fingerprint() != src.Fingerprint() {
				t.Errorf("%s: other data the second time", from)
			}
			checkSteps(t, again, batch, past.Steps+1, last)
			part := make([]int32, 2)
			if batch == 4 { // the columns from 1 on of row 3
				if err := again.Fill(last, []View{{}, {Lo: []int{3, 1}, Hi: []int{4, 3}, I32: part}}); err != nil {
					t.Fatal(err)
				}
				if _, b := exampleTokens(39); part[0] != b[1] || part[1] != b[2] {
					t.Errorf("a part is %v of %v", part, b)
				}
			}
			if err := again.Fill(past.Steps+1, []View{{}, {}}); last > past.Steps+1 && (err == nil || !strings.Contains(err.Error(), "read once, in order")) {
				t.Errorf("an earlier step: %v", err)
			}
			closeTest(again)
		}
	}
}

func listen(t *testing.T, at string, serve func(net.Conn)) {
	t.Helper()
	l, err := net.Listen("unix", strings.TrimPrefix(at, "unix:"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				serve(c)
				_ = c.Close()
			}()
		}
	}()
}

// TestStreamErrors: what is wrong with a program is said in its words, with the number of the batch.
func TestStreamErrors(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "s")
	listen(t, socket, func(c net.Conn) { generate("answers and breaks off", c, c) })
	for _, c := range []struct {
		from, want string
		opts       []Option
	}{
		{from: "", want: `--data "python3 gen.py" names it`},
		{from: "exit 3", want: "the program has ended: exit status 3"},
		{from: "true", want: "the stream has ended before it has given anything"},
		{from: "no-such-program-here", want: "not found"},
		{from: "unix:/nonexistent/socket", want: "cannot connect"},
		{from: "unix:", want: "names no socket"},
		{from: "tcp:7070", want: "is not an address"},
		{from: "fd:999", want: "fd:999 is not open"},
		{from: "fd:x", want: "not a descriptor"},
		{from: program("refuses"), want: "there is no corpus"},
		{from: program("late"), want: "begins at example 5, but must begin at 0"},
		{from: program("silent"), want: "waiting for data for 300ms: nothing came", opts: []Option{{"timeout", "0.3"}}},
		{from: program("stalls"), want: "nothing came: loading shard 2", opts: []Option{{"timeout", "1"}}},
		{from: program("dies"), want: "batch 2: the program has ended: exit status 7: Traceback: no such shard"},
		{from: program("torn"), want: "batch 1: the stream has ended within a batch"},
		{from: program("shape"), want: "batch 2: field tokens: its array has the shape [4 2], but the step reads rows of [3]"},
		{from: program("dtype"), want: "batch 1: field tokens: its array has f32, but the step reads "},
		{from: program("rows"), want: "batch 1: field targets: it has 2 rows, but the field before has 4"},
		{from: program("large"), want: "batch 1: field tokens: element 0 is 64, but the model needs numbers from 0 to 63"},
		{from: program("noise"), want: `"loading th" does not begin an array`},
		{from: program("huge"), want: "has more than 1073741824 bytes"},
		{from: program("names"), want: `has the field "targets" 0 times`},
		{from: program("plain"), want: `does not announce the split "valid"`, opts: []Option{{"valid", "4"}}},
		{from: program("answers"), want: `50 examples should be held out, but the split "valid" has 40`, opts: []Option{{"valid", "50"}}},
		{from: socket, want: "broke before the program announced the end"},
	} {
		src, err := Open("stream", append([]Option{{"from", c.from}, {"tokens_below", "64"}}, c.opts...), Batch{Size: 4, Fields: testFields(4)})
		if err == nil {
			tokens := make([]int32, 4*testWindow)
			for step := int64(1); err == nil && step < 20; step++ {
				err = src.Fill(step, []View{{I32: tokens}, {}})
			}
			closeTest(src)
		}
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.from, err, c.want)
		}
	}
}

// TestStreamHeldOut: what a program gives as the part "valid" is held out.
func TestStreamHeldOut(t *testing.T) {
	src, err := openTest(program("answers"), 4, nil, Option{"valid", "6"})
	if err != nil {
		t.Fatal(err)
	}
	defer closeTest(src)
	if src.Held() != 6 || src.Examples() != 40 || heldBatches(src) != 1 {
		t.Errorf("%d held out, %d in an epoch, %d batches", src.Held(), src.Examples(), heldBatches(src))
	}
	seen := map[int32]bool{}
	tokens := make([]int32, 4*testWindow)
	for from := int64(0); from < 6; from += 2 {
		if err := src.HeldOut(func(row int) int64 { return from + int64(row) }, []View{{I32: tokens}, {}}); err != nil {
			t.Fatal(err)
		}
		seen[tokens[0]], seen[tokens[testWindow]] = true, true
	}
	if len(seen) != 6 {
		t.Errorf("%d examples are held out: %v", len(seen), seen)
	}
	checkSteps(t, src, 4, 1, 3)
}

// TestStreamOthers: a program that gives other examples each time is other data each time, and so is another
// program, unless both say which examples they give.
func TestStreamOthers(t *testing.T) {
	print := func(from string) string {
		src, err := openTest(from, 4, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer closeTest(src)
		return src.Fingerprint()
	}
	fresh, plain, answers := program("fresh"), program("plain"), program("answers")
	if print(fresh) == print(fresh) {
		t.Error("other examples have one fingerprint")
	}
	if print(plain) == print("true; "+plain) || print(plain) != print(plain) {
		t.Error("the command line is not what the fingerprint is of")
	}
	if print(answers) != print("true; "+answers) {
		t.Error("the id is not what the fingerprint is of")
	}
}

// TestStreamClose: to close ends a Fill that waits, the program, and what it has started.
func TestStreamClose(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	src, err := openTest("(trap 'exit' TERM; while sleep 0.1; do date > "+mark+"; done) & "+program("stalls"), 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkSteps(t, src, 4, 1, 1)
	done := make(chan error)
	go func() { done <- src.Fill(2, []View{{}, {}}) }()
	time.Sleep(200 * time.Millisecond)
	closeTest(src)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "the stream is closed") {
		t.Errorf("a Fill that waited: %v", err)
	}
	_ = os.Remove(mark)
	time.Sleep(300 * time.Millisecond)
	if _, err := os.Stat(mark); err == nil {
		t.Error("what the program has started goes on")
	}
	closeTest(src)
}

// TestStreamElsewhere: examples of a stream have no numbers.
func TestStreamElsewhere(t *testing.T) {
	_, err := Open("mix", []Option{{"1.kind", "stream"}, {"1.weight", "1"}, {"1.from", "true"}}, Batch{Size: 1})
	if err == nil || !strings.Contains(err.Error(), "let its program mix") {
		t.Errorf("in a mixture: %v", err)
	}
}

// FuzzStream: no bytes of a program are more than an error, nor allocate what they only announce.
func FuzzStream(f *testing.F) {
	f.Add(groupOf(0, 2))
	f.Add([]byte(`{"ptc_stream": 1, "fields": ["targets", "x", "tokens"]}` + "\n"))
	f.Add(append([]byte(`{"ptc_stream": 1}`+"\n"), groupOf(0, 3)...))
	var x bytes.Buffer
	arrowOf(&x, 0, 3)
	f.Add(x.Bytes())
	f.Add(append(groupOf(0, 1), `{"error": "x"}`...))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = w.Write(b)
			_ = w.Close()
		}()
		defer r.Close()
		w2 := &wantedRows{fields: testFields(1), within: make([]numberRange, 2), scale: 1, limit: 1 << 20}
		s, err := startStreaming(fmt.Sprintf("fd:%d", r.Fd()), generator.Ask{}, w2, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer s.stop()
		if s.greeted() != nil {
			return
		}
		for {
			rows, err := s.take()
			if err != nil {
				return
			}
			if rows.n < 1 || len(rows.i32[0]) != rows.n*testWindow || len(rows.i32[1]) != rows.n*testWindow {
				t.Fatalf("%d rows of %d and %d numbers", rows.n, len(rows.i32[0]), len(rows.i32[1]))
			}
		}
	})
}
