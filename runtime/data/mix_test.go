package data

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// mixOf is a mixture of ramps and of a file's tokens.
func mixOf(t testing.TB, dir string, opts ...Option) []Option {
	t.Helper()
	return append([]Option{
		{"1.kind", "tokens"}, {"1.weight", "0.7"}, {"1.files", dir + "/a.bin"}, {"1.valid", "0.25"},
		{"2.kind", "text"}, {"2.weight", "0.3"}, {"2.files", dir + "/b.txt"}, {"2.valid", "0.25"},
	}, opts...)
}

func mixFiles(t testing.TB) string {
	low := make([]int32, 801)
	for i := range low {
		low[i] = int32(i % 33) // below what words has
	}
	return writeFiles(t, map[string][]byte{"a.bin": encode("u16", low), "b.txt": []byte(words(3, 1600))})
}

// TestMixShares: of each block of examples every source has exactly its share, and
// each example of a source comes as often as another one.
func TestMixShares(t *testing.T) {
	const window = 8
	s := openT(t, "mix", Batch{Size: 10, Window: window, Vocab: 256, Seed: 3}, mixOf(t, mixFiles(t))...)
	seen := map[string]int{}
	low := 0
	for step := range int64(mixBlock / 10) {
		views := fillT(t, s, step+1)
		for row := range 10 {
			tokens := views[0].I32[row*window : (row+1)*window]
			if slices.Max(tokens) < 33 {
				low++
				continue
			}
			seen[text8(tokens)]++
		}
	}
	if low != 7000 {
		t.Errorf("%d of %d examples are of the source with 0.7", low, mixBlock)
	}
	least, most := math.MaxInt, 0
	for _, n := range seen {
		least, most = min(least, n), max(most, n)
	}
	if len(seen) != 150 || most-least > 1 {
		t.Errorf("%d windows of the text come from %d to %d times", len(seen), least, most)
	}
	views := whole(s)
	low = 0
	for i := range heldBatches(s) {
		if err := heldOut(s, i, views); err != nil {
			t.Fatal(err)
		}
		for row := range 10 {
			if slices.Max(views[0].I32[row*window:(row+1)*window]) < 33 {
				low++
			}
		}
	}
	// 24 windows of a.bin and 49 of b.txt are held out: those of the first are all there.
	if n := heldBatches(s); n != 3 || low < 20 || low > 24 {
		t.Errorf("%d batches for validation, %d examples of the first source", n, low)
	}
}

// TestMixDescribes: what a mixture is goes into its fingerprint, and the seed does not.
func TestMixDescribes(t *testing.T) {
	dir := mixFiles(t)
	b := Batch{Size: 2, Window: 8, Vocab: 256, Seed: 3}
	s := openT(t, "mix", b, mixOf(t, dir)...)
	if want := "mix: 70% tokens: "; !strings.HasPrefix(s.Describe(), want) {
		t.Errorf("%q does not begin with %q", s.Describe(), want)
	}
	other := mixOf(t, dir)
	other[1].Value = "0.8"
	if openT(t, "mix", b, other...).Fingerprint() == s.Fingerprint() {
		t.Error("the weights are not in the fingerprint")
	}
	if s.Tokens() != 8*(75+150) {
		t.Errorf("an epoch has %d tokens", s.Tokens())
	}
	twice := mixOf(t, dir)
	twice[1].Value, twice[5].Value = "70", "30"
	b.Seed = 4
	if openT(t, "mix", b, twice...).Fingerprint() != s.Fingerprint() {
		t.Error("weights in another unit, or a seed, change the fingerprint")
	}
}

func TestMixErrors(t *testing.T) {
	dir := mixFiles(t)
	with := func(i int, value string) []Option {
		opts := mixOf(t, dir)
		opts[i].Value = value
		return opts
	}
	for want, opts := range map[string][]Option{
		"no sources":              nil,
		"weight of source 1 is":   with(1, "-1"),
		"weight of source 2 is":   with(5, "1e-9"),
		"source 2: data.text":     with(6, dir+"/none*"),
		"no such data source":     with(0, "nowhere"),
		"itself a mixture":        with(0, "mix"),
		`there is no option "x"`:  mixOf(t, dir, Option{"x", "1"}),
		"source 1 has the fields": mixOf(t, dir, Option{"2.predict", "last"}),
	} {
		_, err := Open("mix", opts, Batch{Size: 2, Window: 8, Vocab: 256})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, and %q is expected", err, want)
		}
	}
}
