package data

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// sources are one of each kind, with fields of one, two and three axes.
func sources(t testing.TB) map[string]Source {
	dir := writeTree(t, tree(25, 300))
	b := Batch{Size: 6, Window: 12, Vocab: 256, Seed: 3}
	images := b
	images.Fields = []Field{{"x", F32, []int{6, 4, 5}}, {"y", F32, []int{6, 3}}}
	scalar := b
	scalar.Fields = []Field{{"y", F32, []int{6}}, {"x", F32, []int{6, 7}}}
	return map[string]Source{
		"text":       openT(t, "text", b, Option{"files", dir + "/**"}, Option{"valid", "0.3"}),
		"text last":  openT(t, "text", b, Option{"files", dir + "/**"}, Option{"predict", "last"}),
		"random":     openT(t, "synthetic", b),
		"ramp":       openT(t, "synthetic", b, Option{"pattern", "ramp"}, Option{"predict", "last"}),
		"function":   openT(t, "synthetic", images, Option{"noise", "0.1"}),
		"mix":        openT(t, "mix", b, mixOf(t, mixFiles(t))...),
		"arrays":     openT(t, "arrays", images, arrayOptions(t)...),
		"one output": openT(t, "synthetic", scalar),
	}
}

// Parts of a batch, asked for by devices of some layout, make the whole batch.
func TestPartsReassembleTheBatch(t *testing.T) {
	for name, s := range sources(t) {
		t.Run(name, func(t *testing.T) {
			for step, fill := range map[int64]func([]View) error{
				7: func(v []View) error { return s.Fill(7, v) },
				0: func(v []View) error { return heldOut(s, 0, v) },
			} {
				want := whole(s)
				if err := fill(want); err != nil {
					t.Fatal(err)
				}
				for i, f := range s.Fields() {
					got := reassemble(t, s, i, f, fill)
					if !slices.Equal(got.I32, want[i].I32) || !slices.Equal(got.F32, want[i].F32) {
						t.Errorf("step %d: parts of %s differ from the whole", step, f)
					}
				}
			}
		})
	}
}

// reassemble fills field i in boxes cut at uneven places on each axis.
func reassemble(t *testing.T, s Source, i int, f Field, fill func([]View) error) View {
	t.Helper()
	out := whole(s)[i]
	var cut func(axis int, lo, hi []int)
	cut = func(axis int, lo, hi []int) {
		if axis < len(f.Shape) {
			mid := (f.Shape[axis] + 2) / 3
			cut(axis+1, append(slices.Clone(lo), 0), append(slices.Clone(hi), mid))
			cut(axis+1, append(slices.Clone(lo), mid), append(slices.Clone(hi), f.Shape[axis]))
			return
		}
		views := make([]View, len(s.Fields()))
		size := 1
		for a := range lo {
			size *= hi[a] - lo[a]
		}
		views[i] = View{Lo: lo, Hi: hi}
		if f.DType == I32 {
			views[i].I32 = make([]int32, size)
		} else {
			views[i].F32 = make([]float32, size)
		}
		if err := fill(views); err != nil {
			t.Fatal(err)
		}
		for k := range size { // k-th element of the box, row-major
			at, rest, stride := 0, k, 1
			for a := len(lo) - 1; a >= 0; a-- {
				n := hi[a] - lo[a]
				at += (lo[a] + rest%n) * stride
				rest /= n
				stride *= f.Shape[a]
			}
			if f.DType == I32 {
				out.I32[at] = views[i].I32[k]
			} else {
				out.F32[at] = views[i].F32[k]
			}
		}
	}
	cut(0, nil, nil)
	return out
}

func TestFillAllocatesNothing(t *testing.T) {
	for name, s := range sources(t) {
		views := whole(s)
		step := int64(0)
		number := func(row int) int64 { return int64(row) }
		n := testing.AllocsPerRun(50, func() {
			step++
			if s.Fill(step, views) != nil || s.HeldOut(number, views) != nil {
				t.Fatal("fill failed")
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations per batch", name, n)
		}
	}
}

func TestFillRejects(t *testing.T) {
	for name, s := range sources(t) {
		ok := whole(s)
		bad := map[string]func([]View) []View{
			"too few views": func(v []View) []View { return v[:1] },
			"outside":       func(v []View) []View { v[0].Lo = make([]int, len(s.Fields()[0].Shape)); v[0].Lo[0] = 7; return v },
			"negative": func(v []View) []View {
				v[0].Lo = make([]int, len(s.Fields()[0].Shape))
				v[0].Lo[0] = -1
				return v
			},
			"rank": func(v []View) []View { v[0].Hi = []int{1, 1, 1, 1}; return v },
			"size": func(v []View) []View {
				v[0].I32, v[0].F32 = append(v[0].I32, 0), append(v[0].F32, 0)
				return v
			},
		}
		for why, spoil := range bad {
			if err := s.Fill(1, spoil(whole(s))); err == nil {
				t.Errorf("%s: %s is accepted", name, why)
			}
		}
		if s.Fill(0, ok) == nil || s.Fill(math.MaxInt64, ok) == nil {
			t.Errorf("%s: a step that is none is accepted", name)
		}
	}
}

func TestSyntheticTokens(t *testing.T) {
	b := Batch{Size: 64, Window: 32, Vocab: 10, Seed: 1}
	s := openT(t, "synthetic", b)
	vs := fillT(t, s, 3)
	count := make([]int, 10)
	for i, v := range vs[0].I32 {
		count[v]++
		if i%32 < 31 && vs[1].I32[i] != vs[0].I32[i+1] {
			t.Fatal("targets are not the successors")
		}
	}
	for v, c := range count {
		if c < 140 || c > 270 { // 2048 draws of 10: 205 with deviation 14
			t.Errorf("token %d is drawn %d times", v, c)
		}
	}
	other := b
	other.Seed = 2
	if slices.Equal(fillT(t, openT(t, "synthetic", other), 3)[0].I32, vs[0].I32) {
		t.Error("the seed changes nothing")
	}
	valid := whole(s)
	if err := heldOut(s, 2, valid); err != nil || slices.Equal(valid[0].I32, vs[0].I32) {
		t.Errorf("validation is training data (%v)", err)
	}
}

func TestSyntheticRampCanBeLearned(t *testing.T) {
	s := openT(t, "synthetic", Batch{Size: 8, Window: 10, Vocab: 17}, Option{"pattern", "ramp"})
	x := fillT(t, s, 1)[0].I32
	for row := range 8 {
		r := x[row*10 : row*10+10]
		step := (r[1] - r[0] + 17) % 17
		for i := 1; i < 10; i++ {
			if (r[i]-r[i-1]+17)%17 != step || step < 1 || step > 3 {
				t.Fatalf("row %d is no progression: %v", row, r)
			}
		}
	}
}

// y is a function of x: the same for every row with that x, of order 1.
func TestSyntheticFunction(t *testing.T) {
	b := Batch{Size: 512, Fields: []Field{{"x", F32, []int{512, 3}}, {"y", F32, []int{512, 2}}}}
	vs := fillT(t, openT(t, "synthetic", b, Option{"seed", "9"}), 2)
	mean, sq := 0.0, 0.0
	for _, v := range vs[0].F32 {
		mean += float64(v) / 1536
		sq += float64(v) * float64(v) / 1536
	}
	if math.Abs(mean) > 0.15 || math.Abs(sq-1) > 0.2 {
		t.Errorf("x has mean %.3f and mean square %.3f", mean, sq)
	}
	te := newTeacher(9, 3, 16, 2)
	var h [maxHidden]float64
	te.activate(&h, newStream(9, streamTrain), 512+100)
	for o := range 2 {
		want, bias := 0.0, 0.0
		for j := range 16 {
			bias = te.b[j]
			for i := range 3 {
				bias += te.w1[j*3+i] * float64(vs[0].F32[100*3+i])
			}
			want += te.w2[o*16+j] * math.Tanh(bias)
		}
		if got := float64(vs[1].F32[100*2+o]); math.Abs(got-want) > 1e-5 {
			t.Errorf("y[100, %d] = %g, want %g", o, got, want)
		}
	}
}

func TestSyntheticErrors(t *testing.T) {
	for _, c := range []struct {
		opts []Option
		b    Batch
		want string
	}{
		{nil, Batch{Size: 2, Window: 4}, "vocab, the number of tokens, is not given"},
		{[]Option{{"", "x"}}, Batch{Size: 2, Window: 4, Vocab: 4}, "unexpected positional"},
		{[]Option{{"vocab", "9"}}, Batch{Size: 2, Window: 4, Vocab: 4}, "vocab = 9"},
		{[]Option{{"hidden", "1000000"}}, Batch{Size: 2}, "hidden"},
		{[]Option{{"inputs", "2147483647"}}, Batch{Size: 2}, "weights"},
		{nil, Batch{Size: 2, Fields: []Field{{"y", F32, []int{2, 1}}}}, "does not read x"},
		{nil, Batch{Size: 2, Fields: []Field{{"x", F32, []int{3, 1}}}}, "batch of 2"},
		{nil, Batch{Size: 2, Fields: []Field{{"x", I32, []int{2, 1}}}}, "but the source has f32"},
		{nil, Batch{Size: 2, Fields: []Field{{"x", F32, []int{2, 0}}}}, "without elements"},
		{nil, Batch{Size: 2, Fields: []Field{{"z", F32, []int{2}}}}, `no field "z"`},
		{nil, Batch{Size: 2, Vocab: 4, Fields: []Field{{"tokens", I32, []int{2}}}}, "window, the number of tokens in an example, is not given"},
	} {
		_, err := Open("synthetic", c.opts, c.b)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.opts, err, c.want)
		}
	}
}

// FuzzOpen gives openers options that no one would write: they may refuse, and
// must not panic, and what they open must fill.
func FuzzOpen(f *testing.F) {
	for _, s := range []string{"*.txt", "**/{a,b}*", "${HOME}/x", "[", "a\\", "../*", "{", "${", "*/../*", "b/**/../c", "/", "."} {
		f.Add(s, "window", "4", uint16(3))
	}
	f.Add("a.txt", "limit", "1e300TiB", uint16(0))
	f.Add("a.txt", "valid", "0.9", uint16(300))
	f.Add("", "exclude", "[", uint16(1))
	dir := writeTree(f, map[string]string{"a.txt": words(1, 200), "b/c.txt": words(2, 90), "b/d/e.txt": ""})
	f.Fuzz(func(t *testing.T, glob, key, value string, vocab uint16) {
		if strings.Contains(glob, "..") || strings.HasPrefix(value, "/") || key == "files" || key == "" {
			return // would read the machine
		}
		b := Batch{Size: 2, Window: 8, Vocab: int(vocab)}
		for kind, opts := range map[string][]Option{
			"text":      {{"files", dir + "/" + strings.ReplaceAll(glob, "$", "_")}, {key, value}},
			"synthetic": {{key, value}},
		} {
			s, err := Open(kind, opts, b)
			if err != nil || hugeBatch(s) {
				continue
			}
			if err := s.Fill(1, whole(s)); err != nil {
				t.Errorf("%s %q: opened, but does not fill: %v", kind, opts, err)
			}
		}
	})
}

func hugeBatch(s Source) bool {
	for _, f := range s.Fields() {
		if rowSize(f) > 1<<16 {
			return true
		}
	}
	return false
}

func FuzzExpand(f *testing.F) {
	f.Add("${A}/x/${B}", "v", "w*")
	f.Add("${", "", "")
	f.Fuzz(func(t *testing.T, pattern, a, b string) {
		got, err := expand(pattern, []Option{{"A", a}, {"B", b}, {"GOROOT", "/g"}})
		if err == nil && !strings.Contains(pattern, "${") && got != pattern {
			t.Errorf("%q became %q", pattern, got)
		}
	})
}

// heldOut fills a batch with the i-th of the batches that the held-out examples make, in which they repeat where they
// are fewer than a batch.
func heldOut(s Source, i int, dst []View) error {
	batch := int64(s.Fields()[0].Shape[0])
	return s.HeldOut(func(row int) int64 { return (int64(i)*batch + int64(row)) % s.Held() }, dst)
}

// heldBatches is the number of these batches.
func heldBatches(s Source) int {
	if s.Held() == 0 {
		return 0
	}
	return int(max(1, s.Held()/int64(s.Fields()[0].Shape[0])))
}

// sequential opens a source that has all examples in the order of the files.
func sequential(kind string, opts []Option, b Batch) (Source, error) {
	opts = slices.DeleteFunc(slices.Clone(opts), func(o Option) bool { return o.Key == "valid" })
	return Open(kind, append(opts, Option{"valid", "0"}, Option{"shuffle", "false"}), b)
}
