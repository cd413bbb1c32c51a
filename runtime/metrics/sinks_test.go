package metrics

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tell tells a short run whose second step is not finite.
func tell(s Sink) {
	s.Tell(&Start{Name: `a "name"`, Layout: "two", First: 1, Last: 3, Devices: 2, FlopsPerStep: 1e9, PeakFlops: 4e12})
	s.Tell(&Step{Step: 1, Loss: 5.5, GradNorm: 1.25, LR: 3e-4, Ms: 0.5, TokensPerS: 100})
	s.Tell(&Validation{1, 5.25})
	s.Tell(&Step{Step: 2, Loss: nan, GradNorm: math.Inf(1), LR: 3e-4, LossScale: 1024, Ms: nan, TokensPerS: nan})
	s.Tell(&Warning{"w"})
	s.Tell(&Step{Step: 3, Loss: 5, GradNorm: 1, LR: 3e-4, Ms: 0.5, TokensPerS: 100, WaitMs: []float64{0.25, 0.125, 0.375}})
	s.Tell(&End{Steps: 3, Loss: 5, ValLoss: 4.5})
}

func TestCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.csv")
	for range 2 { // the second is added
		s, err := openCSV(path)
		if err != nil {
			t.Fatal(err)
		}
		tell(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	rows := `1,5.5,,1.25,0.0003,,0.5,100,,,
1,,5.25,,,,,,,,
2,NaN,,+Inf,0.0003,1024,,,,,
3,5,,1,0.0003,,0.5,100,0.375,0.125,1
3,,4.5,,,,,,,,
`
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(csvHeader+rows+rows, string(got)); diff != "" {
		t.Error(diff)
	}
	for _, row := range strings.Split(strings.TrimSpace(string(got)), "\n") {
		if strings.Count(row, ",") != strings.Count(csvHeader, ",") {
			t.Errorf("%q has other columns", row)
		}
	}
	other := filepath.Join(t.TempDir(), "other.csv")
	if err := os.WriteFile(other, []byte("a,b\n1,2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := openCSV(other); err == nil || !strings.Contains(err.Error(), "other columns") {
		t.Errorf("a file of another kind: %v", err)
	}
	if text, _ := os.ReadFile(other); string(text) != "a,b\n1,2\n" {
		t.Errorf("a file of another kind is changed: %q", text)
	}
}

// TestUnfinishedLines: what a full disk left of a line spoils none of the next run.
func TestUnfinishedLines(t *testing.T) {
	for name, open := range map[string]func(string) (Sink, error){"a.csv": openCSV, "a.jsonl": openJSON} {
		path := filepath.Join(t.TempDir(), name)
		for i := range 2 {
			s, err := open(path)
			if err != nil {
				t.Fatal(err)
			}
			tell(s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			st, err := os.Stat(path)
			if err == nil && i == 0 {
				err = os.Truncate(path, st.Size()-3)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		first, again := map[string]string{"a.csv": "1,5.5,,", "a.jsonl": `{"event":"start"`}[name], 0
		for _, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, first) {
				again++
			}
		}
		if again != 2 {
			t.Errorf("the first line of the second run is not one by itself:\n%s", text)
		}
	}
	other := filepath.Join(t.TempDir(), "other.csv")
	if err := os.WriteFile(other, []byte("a,b"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := openCSV(other); err == nil {
		t.Error("a file of another kind is taken")
	}
	if text, _ := os.ReadFile(other); string(text) != "a,b" {
		t.Errorf("a file of another kind is changed: %q", text)
	}
}

// TestSinksThatCannotBe: what cannot be opened is an error that names it.
func TestSinksThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, k := range Kinds() {
		for _, target := range []string{filepath.Join(file, "below"), "\x00"} {
			if s, err := k.Open(target); err == nil {
				s.Close()
				t.Errorf("%s:%q opens", k.Name, target)
			}
		}
	}
	if _, err := openJSON(t.TempDir()); err == nil {
		t.Error("a folder is a file")
	}
}

// field is a field of a message.
type field struct {
	number, wire int
	value        uint64
	text         []byte
}

// message reads the fields of a message.
func message(t *testing.T, b []byte) (out []field) {
	t.Helper()
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		b = b[n:]
		f := field{number: int(key >> 3), wire: int(key & 7)}
		switch f.wire {
		case 0:
			f.value, n = binary.Uvarint(b)
		case 1:
			f.value, n = binary.LittleEndian.Uint64(b), 8
		case 5:
			f.value, n = uint64(binary.LittleEndian.Uint32(b)), 4
		case 2:
			length, m := binary.Uvarint(b)
			f.text, n = b[m:m+int(length)], m+int(length)
		default:
			t.Fatalf("wire type %d", f.wire)
		}
		b = b[n:]
		out = append(out, f)
	}
	return out
}

type closing struct{ bytes.Buffer }

func (*closing) Close() error { return nil }

// TestEvents: the records have the right checksums, and their messages the figures.
func TestEvents(t *testing.T) {
	var b closing
	tell(newEvents(&b, func() time.Time { return time.UnixMicro(1_500_000) }))
	type scalar struct {
		Step  uint64
		Tag   string
		Value float32
	}
	var got []scalar
	first, began := true, 0
	for data := b.Bytes(); len(data) > 0; {
		n := binary.LittleEndian.Uint64(data)
		check := func(part []byte, sum []byte) {
			c := crc32.Checksum(part, crc32.MakeTable(crc32.Castagnoli))
			if want := (c>>15 | c<<17) + 0xa282ead8; binary.LittleEndian.Uint32(sum) != want {
				t.Fatalf("a checksum is %x, want %x", sum, want)
			}
		}
		check(data[:8], data[8:])
		record := data[12 : 12+n]
		check(record, data[12+n:])
		data = data[16+n:]
		fields := message(t, record)
		if at := math.Float64frombits(fields[0].value); fields[0].number != 1 || at != 1.5 || fields[1].number != 2 {
			t.Fatalf("an event begins with %+v", fields[:2])
		}
		if first {
			if first = false; fields[2].number != 3 || string(fields[2].text) != "brain.Event:2" {
				t.Fatalf("the first event is %+v", fields)
			}
			continue
		}
		if fields[2].number == 7 {
			session := message(t, fields[2].text)
			if len(got) > 0 || fields[1].value != 1 || session[0].number != 1 || session[0].value != 1 {
				t.Errorf("a session begins with %+v, %+v", fields, session)
			}
			began++
			continue
		}
		for _, v := range message(t, fields[2].text) {
			x := message(t, v.text)
			got = append(got, scalar{fields[1].value, string(x[0].text), math.Float32frombits(uint32(x[1].value))})
		}
	}
	if began != 1 {
		t.Errorf("%d sessions begin", began)
	}
	inf := float32(math.Inf(1))
	want := []scalar{{1, "loss", 5.5}, {1, "grad_norm", 1.25}, {1, "lr", 3e-4}, {1, "ms", 0.5}, {1, "tokens_per_second", 100}, {1, "validation", 5.25},
		{2, "loss", float32(nan)}, {2, "grad_norm", inf}, {2, "lr", 3e-4}, {2, "scale", 1024},
		{3, "loss", 5}, {3, "grad_norm", 1}, {3, "lr", 3e-4}, {3, "ms", 0.5}, {3, "tokens_per_second", 100},
		{3, "wait_ms", 0.375}, {3, "least_wait_ms", 0.125}, {3, "validation", 4.5}}
	equal := cmp.Comparer(func(a, b float32) bool { return a == b || a != a && b != b })
	if diff := cmp.Diff(want, got, equal); diff != "" {
		t.Error(diff)
	}
}

// TestChecksum is of the example of the format's own tests: CRC-32C of 32 zeros is
// 8a9136aa (RFC 3720, B.4).
func TestChecksum(t *testing.T) {
	c := uint32(0x8a9136aa)
	if got, want := masked(make([]byte, 32)), (c>>15|c<<17)+0xa282ead8; got != want {
		t.Errorf("%x, want %x", got, want)
	}
}

// TestEventFilesAreNew: two runs of one second have two files.
func TestEventFilesAreNew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 3 {
		s, err := openEvents(dir)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*")); len(names) != 3 {
		t.Errorf("%d files", len(names))
	}
}

func get(t *testing.T, url, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

func TestProm(t *testing.T) {
	s, err := openProm(":0")
	if err != nil {
		t.Fatal(err)
	}
	p := s.(*Prom)
	if !strings.HasPrefix(p.Addr(), "127.0.0.1:") {
		t.Errorf("listens at %s", p.Addr())
	}
	tell(p)
	code, text := get(t, "http://"+p.Addr()+"/metrics", "")
	if code != 200 {
		t.Fatalf("answers %d", code)
	}
	for _, want := range []string{
		"# HELP ptc_loss The loss of the last step.\n# TYPE ptc_loss gauge\nptc_loss{model=\"a \\\"name\\\"\",layout=\"two\"} 5\n",
		"ptc_validation_loss{model=\"a \\\"name\\\"\",layout=\"two\"} 4.5\n", "\"} 3\n", "ptc_warnings{",
		"# TYPE ptc_wait_seconds gauge\nptc_wait_seconds{model=\"a \\\"name\\\"\",layout=\"two\",rank=\"0\"} 0.00025\nptc_wait_seconds{model=\"a \\\"name\\\"\",layout=\"two\",rank=\"1\"} 0.000125\n", "ptc_share_of_peak_arithmetic{model=\"a \\\"name\\\"\",layout=\"two\"} 0.5\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, name := range strings.Fields(text) {
		if n, _, ok := strings.Cut(name, "{"); ok && promHelp[n] == "" {
			t.Errorf("%s has no help", n)
		}
	}
	if code, _ := get(t, "http://"+p.Addr()+"/metrics", "example.org"); code != http.StatusForbidden {
		t.Errorf("another host's page may read: %d", code)
	}
	addr := p.Addr()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := http.Get("http://" + addr + "/metrics"); err == nil {
		t.Error("answers after the run")
	}
}
