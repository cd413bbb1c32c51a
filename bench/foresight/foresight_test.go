package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/foresight/machine"
	"ptc/foresight/stack"
)

// A fit finds the parameters that made the measurements, though one measurement of eight is far out.
func TestFitFindsParameters(t *testing.T) {
	truth := []float64{2, 0.3}
	at := func(p []float64, i int) float64 { x := float64(i); return p[0] + p[1]*x }
	f := fitting{start: []float64{1, 1}, lo: []float64{0.1, 0.1}, hi: []float64{10, 10}}
	f.deviations = func(p []float64) ([]float64, error) {
		out := make([]float64, 32)
		for i := range out {
			have := at(truth, i)
			if i%8 == 3 {
				have *= 2
			}
			out[i] = math.Log(at(p, i) / have)
		}
		return out, nil
	}
	got, err := f.solve()
	if err != nil {
		t.Fatal(err)
	}
	for i := range truth {
		if math.Abs(got[i]/truth[i]-1) > 0.05 {
			t.Errorf("parameter %d is %g; want %g", i, got[i], truth[i])
		}
	}
}

// A parameter does not leave its bounds, and the other one makes up for it.
func TestFitKeepsBounds(t *testing.T) {
	f := fitting{start: []float64{1, 1}, lo: []float64{0.5, 0.1}, hi: []float64{2, 100}, deviations: func(p []float64) ([]float64, error) {
		return []float64{math.Log(p[0] * p[1] / 40), math.Log(p[0] / 4)}, nil
	}}
	got, err := f.solve()
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != 2 || math.Abs(got[1]-20) > 1 {
		t.Errorf("got %v; want [2 20]", got)
	}
}

// A ring's own times are predicted exactly by what is fitted to some of them.
func TestRingIsRecovered(t *testing.T) {
	m, err := machine.Named("a100_80")
	if err != nil {
		t.Fatal(err)
	}
	var points []point
	for i := range 10 {
		b := int64(1+i) << 22
		points = append(points, point{8, b, 50e-6 + float64(b)*1.75/(0.7*m.Levels[0].Link.Value)})
	}
	start, share := fitRing(points, m)
	if math.Abs(start-50e-6) > 1e-9 || math.Abs(share-0.7) > 1e-6 {
		t.Errorf("start %g and share %g; want 5e-05 and 0.7", start, share)
	}
}

// Rings of several sizes are told from one another by their steps.
func TestRingsAreRecovered(t *testing.T) {
	m, err := machine.Named("a100_80")
	if err != nil {
		t.Fatal(err)
	}
	var points []point
	for _, n := range []int{2, 4, 8} {
		for i := range 10 {
			b, steps := int64(1+i)<<22, 2*float64(n-1)
			points = append(points, point{n, b, 50e-6 + 3e-6*steps + steps/float64(n)*float64(b)/(0.7*m.Levels[0].Link.Value)})
		}
	}
	start, step, share := fitRings(points, m)
	if math.Abs(start-50e-6) > 1e-9 || math.Abs(step-3e-6) > 1e-9 || math.Abs(share-0.7) > 1e-6 {
		t.Errorf("start %g, step %g and share %g; want 5e-05, 3e-06 and 0.7", start, step, share)
	}
}

// A plot has a dot for each mark, is the same every time, and small.
func TestPlot(t *testing.T) {
	var all []mark
	for i := range 3000 {
		x := 1e-5 * math.Pow(1.004, float64(i))
		all = append(all, mark{x, x * (1 + 0.1*math.Sin(float64(i)))})
	}
	p := plot("a & b", all)
	if !bytes.Equal(p, plot("a & b", all)) {
		t.Error("two plots of the same marks differ")
	}
	if n := bytes.Count(p, []byte("h0")); n != len(all) || len(p) > 100_000 {
		t.Errorf("%d dots in %d bytes; want %d in at most 100,000", n, len(p), len(all))
	}
	d := xml.NewDecoder(bytes.NewReader(p))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// Profiled runs are sums: each layer takes the same time, and the host is waited for as often as alone.
func TestProfiledRunsAreSums(t *testing.T) {
	m, err := machine.Named("a100_80")
	if err != nil {
		t.Fatal(err)
	}
	s, err := stack.Named("megatron_2021")
	if err != nil {
		t.Fatal(err)
	}
	var runs []run
	for _, layers := range []int{2, 4, 6} {
		for _, profiled := range []bool{true, false} {
			runs = append(runs, run{name: "small", layers: layers, hidden: 1024, heads: 8, seq: 1024, vocab: 50304, tp: 2, dp: 1, pp: 1, chunks: 1,
				batch: 8, micro: 4, profiled: profiled, seconds: 1})
		}
	}
	all, err := subjects(runs, m, s)
	if err != nil {
		t.Fatal(err)
	}
	x, err := simulateAll(all, m, s)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := x[2]-x[0], x[4]-x[2]; math.Abs(a-b) > 1e-6 {
		t.Errorf("two layers more take %g s, and then %g s", a, b)
	}
	if x[5] >= x[4] {
		t.Errorf("a step takes %g s, and %g s as a sum of profiles; the host is ahead where it does not wait for collectives", x[5], x[4])
	}
}

// A run of the table compiles, and its step is longer where the host takes longer.
func TestRunIsSimulated(t *testing.T) {
	m, err := machine.Named("a100_80")
	if err != nil {
		t.Fatal(err)
	}
	s, err := stack.Named("megatron_2021")
	if err != nil {
		t.Fatal(err)
	}
	r := run{name: "small", layers: 2, hidden: 256, heads: 4, seq: 128, vocab: 512, tp: 2, dp: 1, pp: 1, chunks: 1, batch: 4, micro: 2, seconds: 1}
	all, err := subjects([]run{r}, m, s)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float64, len(knobs))
	for i, k := range knobs {
		values[i] = k.start
	}
	times := []float64{}
	for _, k := range []float64{50e-6, 100e-6} {
		u, n := turned(s, m, values)
		u.HostKernel = &stack.Number{Value: k}
		x, err := all[0].simulate(n, u)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, x)
	}
	if times[0] <= 0 || times[1] <= times[0] {
		t.Errorf("steps of %v seconds; the second should be longer", times)
	}
}

func TestRowsAreRead(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	head := "\ufeff# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n"
	write("vtrain_single.csv", head+"8,32,4,1024,16,24,1024,2,2,2,219.5\n")
	rows, err := readSingle(folder)
	if err != nil {
		t.Fatal(err)
	}
	if r := rows[0]; r.devices() != 8 || r.microbatches() != 4 || r.vocab != 50256 || r.seconds != 0.2195 {
		t.Errorf("read %+v", r)
	}
	for text, want := range map[string]string{
		"7,32,4,1024,16,24,1024,2,2,2,219.5\n": "do not multiply",
		"8,32,x,1024,16,24,1024,2,2,2,219.5\n": "expected a number",
		"":                                     "no rows",
	} {
		write("vtrain_single.csv", head+text)
		if _, err := readSingle(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v; want %q", text, err, want)
		}
	}
}

func TestNumbersHaveFourDigits(t *testing.T) {
	for x, want := range map[float64]float64{0.0123456: 0.01235, 1440: 1440, -12.34567: -12.35, 0: 0} {
		if got := digits(x); got != want {
			t.Errorf("%g is rounded to %g; want %g", x, got, want)
		}
	}
}

func TestTablesReplaceOthers(t *testing.T) {
	page := []byte("a\n" + tablesBegin + "\nold\n" + tablesEnd + "\nb\n")
	got, err := between(page, "new\n")
	if want := "a\n" + tablesBegin + "\nnew\n" + tablesEnd + "\nb\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := between([]byte("a\n"), "new\n"); err == nil {
		t.Error("a page without markers is accepted")
	}
}
