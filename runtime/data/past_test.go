package data

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// pastRows are the rows of the sources that tests of phases mix: row i of source k is the number
// 1000000·k + i. A mixture that gives parts of two epochs in one block has sources below 10,000 rows.
var pastRows = []int{60000, 45000, 700, 30}

func pastFiles(t testing.TB) string {
	files := map[string][]byte{}
	for k, n := range pastRows {
		var raw []byte
		for i := range n {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(1000000*k+i)))
		}
		files[fmt.Sprintf("%d.npy", k)] = npyFile("<f4", fmt.Sprintf("%d, 1", n), raw)
	}
	return writeFiles(t, files)
}

// fed is a run that was fed by phases.
type fed struct {
	dir  string
	past Past
	seen []int // examples in order, by their number
}

// weighted is a source and its weight in a mixture.
type weighted struct {
	source int
	weight int
}

func (f *fed) open(t testing.TB, parts []weighted, batch int) Source {
	t.Helper()
	past := f.past
	b := Batch{Size: batch, Seed: 11, Past: &past, Fields: []Field{{"x", F32, []int{batch, 1}}}}
	file := func(k int) string { return fmt.Sprintf("%s/%d.npy", f.dir, k) }
	if len(parts) == 1 && parts[0].weight == 0 {
		return openT(t, "arrays", b, Option{"x_file", file(parts[0].source)}, Option{"valid", "0"})
	}
	var opts []Option
	for i, p := range parts {
		key := fmt.Sprintf("%d.", i+1)
		opts = append(opts, Option{key + "kind", "arrays"}, Option{key + "weight", fmt.Sprint(p.weight)}, Option{key + "x_file", file(p.source)}, Option{key + "valid", "0"})
	}
	return openT(t, "mix", b, opts...)
}

// run takes steps.
func (f *fed) run(t testing.TB, parts []weighted, batch, steps int) {
	t.Helper()
	s := f.open(t, parts, batch)
	for range steps {
		f.past.Steps++
		for _, x := range fillT(t, s, f.past.Steps)[0].F32 {
			f.seen = append(f.seen, int(x))
		}
	}
	f.past.Phases = append(f.past.Phases, Phase{int64(steps * batch), s.Fingerprint(), s.Recipe()})
}

// counts are how often each example of a source was fed.
func (f *fed) counts(k int) (counts []int, all int) {
	counts = make([]int, pastRows[k])
	for _, x := range f.seen {
		if x/1000000 == k {
			counts[x%1000000]++
			all++
		}
	}
	return counts, all
}

// TestPhasesFeedEachExampleOnce: whatever mixtures, single sources and batches follow one
// another, none of a source is fed twice before all are, and in the end each was.
func TestPhasesFeedEachExampleOnce(t *testing.T) {
	dir := pastFiles(t)
	for round := range 5 {
		random := rand.New(rand.NewPCG(uint64(round), 3))
		f := &fed{dir: dir}
		for range 2 + random.IntN(5) {
			f.run(t, drawParts(random), 1+random.IntN(40), 1+random.IntN(120))
		}
		for k := range 2 { // what is left of the sources that were not fed as a whole
			counts, all := f.counts(k)
			if m := slices.Max(counts); m > 1 {
				t.Fatalf("round %d: an example of source %d was fed %d times of %d", round, k, m, all)
			}
			if n := pastRows[k] - all; n > 0 {
				f.run(t, []weighted{{k, 0}}, 1, n)
			}
			if counts, _ := f.counts(k); slices.Min(counts) != 1 || slices.Max(counts) != 1 {
				t.Fatalf("round %d: examples of source %d were fed %d to %d times", round, k, slices.Min(counts), slices.Max(counts))
			}
		}
		for k := range pastRows {
			part := f.open(t, []weighted{{k, 0}}, 1).Recipe().Parts[0]
			if _, all := f.counts(k); Fed(f.past.Phases, &part) != int64(all) {
				t.Errorf("round %d: source %d gave %d examples, and %d are counted", round, k, all, Fed(f.past.Phases, &part))
			}
		}
	}
}

// drawParts are a source by itself, or a mixture of some in any order.
func drawParts(random *rand.Rand) (parts []weighted) {
	for _, k := range random.Perm(len(pastRows))[:1+random.IntN(len(pastRows))] {
		parts = append(parts, weighted{k, 1 + random.IntN(9)})
	}
	if len(parts) == 1 && random.IntN(2) == 0 {
		parts[0].weight = 0
	}
	return parts
}

// TestBatchesOfAnySize: with the same data the examples come in the same order, whatever the batches
// are, and a run that goes on in the middle of a phase has the batches of one that never stopped.
func TestBatchesOfAnySize(t *testing.T) {
	dir := pastFiles(t)
	for round := range 12 {
		random := rand.New(rand.NewPCG(uint64(round), 4))
		before, parts := drawParts(random), drawParts(random)
		one, many := &fed{dir: dir}, &fed{dir: dir}
		for _, f := range []*fed{one, many} {
			f.run(t, before, 7, 30+round*7)
		}
		one.run(t, parts, 1, 24*60)
		for left := 24 * 60; left > 0; {
			batch := []int{1, 2, 3, 4, 6, 8, 12, 24}[random.IntN(8)]
			steps := min(left/batch, 1+random.IntN(20))
			many.run(t, parts, batch, steps)
			left -= steps * batch
		}
		if !slices.Equal(one.seen, many.seen) {
			t.Fatalf("round %d: examples come in another order", round)
		}
	}
}

// TestDifference names what is another data.
func TestDifference(t *testing.T) {
	dir := writeFiles(t, map[string][]byte{"a.txt": []byte(words(3, 4000)), "b.txt": []byte(words(4, 4000)), "c.bin": encode("u16", []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})})
	text := func(file string, more ...Option) []Option {
		return append([]Option{{"files", dir + "/" + file}, {"valid", "0"}}, more...)
	}
	mixed := func(weights ...string) (opts []Option) {
		for i, w := range weights {
			k := fmt.Sprintf("%d.", i+1)
			file, weight, _ := strings.Cut(w, "=")
			opts = append(opts, Option{k + "kind", "text"}, Option{k + "weight", weight}, Option{k + "files", dir + "/" + file}, Option{k + "valid", "0"})
		}
		return opts
	}
	past := &Past{}
	open := func(kind string, window int, opts []Option) Recipe {
		return openT(t, kind, Batch{Size: 2, Window: window, Vocab: 256, Seed: 3, Past: past}, opts...).Recipe()
	}
	was := open("text", 8, text("a.txt"))
	mix := open("mix", 8, mixed("a.txt=0.7", "b.txt=0.3"))
	past = &Past{Steps: 1, Phases: []Phase{{2, "", was}, {2, "", mix}}}
	for _, x := range []struct {
		name     string
		old, now Recipe
		want     string
	}{
		{"the same", was, open("text", 8, text("a.txt")), ""},
		{"window", was, open("text", 16, text("a.txt")), "window (8, now 16)"},
		{"files", was, open("text", 8, text("b.txt")), "files"},
		{"both", was, open("text", 16, text("b.txt")), "window (8, now 16), files"},
		{"shuffle", was, open("text", 8, text("a.txt", Option{"shuffle", "false"})), "shuffle (true, now false)"},
		{"seed", was, open("text", 8, text("a.txt", Option{"seed", "5"})), "seed of the order (3, now 5)"},
		{"kind", was, open("tokens", 2, text("c.bin")), "data.tokens in place of data.text"},
		{"weights", mix, open("mix", 8, mixed("a.txt=0.5", "b.txt=0.5")), "weights (70% : 30%, now 50% : 50%)"},
		{"files of one", mix, open("mix", 8, mixed("a.txt=0.7", "*.txt=0.3")), "of source 2: files"},
		{"windows of both", mix, open("mix", 16, mixed("a.txt=0.7", "b.txt=0.3")), "of source 1, 2: window (8, now 16)"},
		{"one less", mix, open("mix", 8, mixed("a.txt=1")), "source 2, data.text, no longer exists; weights (70% : 30%, now 100%)"},
		{"another place", mix, open("mix", 8, mixed("b.txt=1", "a.txt=1")), "weights (70% : 30%, now 50% : 50%)"},
		{"one more", was, mix, "of source 2: data.text, which was not there before; weights (100%, now 70% : 30%)"},
		{"seed of a mixture", mix, open("mix", 8, append(mixed("a.txt=0.7", "b.txt=0.3"), Option{"seed", "3"})), ""},
	} {
		if got := x.now.Difference(&x.old); got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
		if x.now.Same(&x.old) != (x.want == "") {
			t.Errorf("%s: the same is %t", x.name, x.want != "")
		}
	}
}

// TestPhaseOfUnknownParts: of what an older program fed nothing is known, and sources begin with
// their first example.
func TestPhaseOfUnknownParts(t *testing.T) {
	dir := pastFiles(t)
	fresh, after := &fed{dir: dir}, &fed{dir: dir, past: Past{Steps: 5, Phases: []Phase{{Examples: 40}}}}
	for _, f := range []*fed{fresh, after} {
		f.run(t, []weighted{{0, 3}, {1, 1}}, 4, 10)
	}
	if !slices.Equal(fresh.seen, after.seen) {
		t.Error("examples differ")
	}
	print := fresh.past.Phases[0].Print
	known := &fed{dir: dir, past: Past{Steps: 5, Phases: []Phase{{Examples: 20, Print: print}}}}
	known.run(t, []weighted{{0, 3}, {1, 1}}, 4, 5)
	if !slices.Equal(fresh.seen[20:], known.seen) {
		t.Error("of the same data it does not go on")
	}
}

// TestPhasesThatNobodyFed: shares that are not of a mixture are refused.
func TestPhasesThatNobodyFed(t *testing.T) {
	for _, places := range [][]int64{{0, 0}, {10000, 0}, {5000, 4000}, {9000}, {-1}, {20000, -10000}} {
		p := Phase{}
		for _, n := range places {
			p.Parts = append(p.Parts, Part{Places: n})
		}
		if p.Check() == nil {
			t.Errorf("%v is taken", places)
		}
	}
	for _, places := range [][]int64{nil, {0}, {10000}, {1, 9999}} {
		p := Phase{}
		for _, n := range places {
			p.Parts = append(p.Parts, Part{Places: n})
		}
		if err := p.Check(); err != nil {
			t.Errorf("%v: %v", places, err)
		}
	}
}
