package data

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
)

func init() { Register("synthetic", openSynthetic) }

// synthetic makes batches from nothing but a seed, for tests, benchmarks and
// examples that need no files. It has no end. What it gives follows the fields
// that the step reads:
//
//	tokens, targets  i32: a token sequence and its successors
//	x, y             f32: standard normal inputs, and a fixed function of them
//
// Options:
//
//	vocab    tokens are below it, if the batch does not say
//	window   tokens in an example, if the batch does not say
//	predict  next or last, as for text
//	pattern  random: independent uniform tokens; ramp: arithmetic progressions
//	         modulo vocab with a random start and step, which can be learned
//	inputs, outputs  sizes of x and y, if the batch names no fields
//	hidden   units of the function of x, 16
//	noise    standard deviation added to y, 0
//	valid    number of validation batches, 4
//	seed     else the run's
type synthetic struct {
	fields []Field
	fill   []filler // for each field
	batch  int
	valid  int
	seed   uint64
	about  string
	print  string
	facts  []Fact
	begun  begun
	seen   *seen
}

// filler writes the part b of a field from the row numbered first on. The box
// and the view go by value: behind a call of a func value, pointers would move
// them to the heap.
type filler func(s streams, first int64, f *Field, b box, v View)

// streams are the random numbers of one side of the split.
type streams struct{ data, noise stream }

type syntheticOptions struct {
	vocab, window, inputs, outputs, hidden, valid int
	predict, pattern                              string
	noise                                         float64
	seed                                          uint64
}

func openSynthetic(opts []Option, b Batch) (Source, error) {
	o := &options{list: opts}
	so := syntheticOptions{
		vocab:   o.integer("vocab", b.Vocab, 1, math.MaxInt32),
		window:  o.integer("window", b.Window, 1, math.MaxInt32),
		predict: o.oneOf("predict", "next", "last"),
		pattern: o.oneOf("pattern", "random", "ramp"),
		inputs:  o.integer("inputs", 0, 1, math.MaxInt32),
		outputs: o.integer("outputs", 1, 1, math.MaxInt32),
		hidden:  o.integer("hidden", 16, 1, maxHidden),
		noise:   o.float("noise", 0, 0, 1e6),
		valid:   o.integer("valid", 4, 0, math.MaxInt32),
		seed:    o.seed(b.Seed),
	}
	if err := o.done(); err != nil {
		return nil, err
	}
	if b.Vocab != 0 && so.vocab > b.Vocab {
		return nil, errorf("vocab = %d, but the batch's vocabulary has %d", so.vocab, b.Vocab)
	}
	s := &synthetic{batch: b.Size, valid: so.valid, seed: so.seed}
	fields := b.Fields
	if len(fields) == 0 {
		fields = so.defaultFields(b.Size)
	}
	for _, f := range fields {
		if err := s.add(f, so, fields); err != nil {
			return nil, err
		}
	}
	s.about = fmt.Sprintf("synthetic: %s, seed %d", fieldList(s.fields), s.seed)
	s.print = s.fingerprint(so)
	s.facts = []Fact{{"window", fmt.Sprint(so.window)}, {"vocab", fmt.Sprint(so.vocab)}, {"pattern", so.pattern},
		{"noise", fmt.Sprint(so.noise)}, {"seed", fmt.Sprint(so.seed)}, {"fields", ofRows(s.fields)}}
	return s, nil
}

// defaultFields are tokens if there is a window, else x and y.
func (o *syntheticOptions) defaultFields(batch int) []Field {
	if o.window == 0 {
		return []Field{{"x", F32, []int{batch, max(1, o.inputs)}}, {"y", F32, []int{batch, o.outputs}}}
	}
	targets := []int{batch, o.window}
	if o.predict == "last" {
		targets = targets[:1]
	}
	return []Field{{"tokens", I32, []int{batch, o.window}}, {"targets", I32, targets}}
}

// add checks one field and chooses its filler.
func (s *synthetic) add(f Field, o syntheticOptions, all []Field) error {
	if len(f.Shape) < 1 || len(f.Shape) > maxRank || f.Shape[0] != s.batch {
		return errorf("field %s must have the batch of %d as its first axis", f, s.batch)
	}
	if slices.Min(f.Shape) < 1 {
		return errorf("field %s has an axis without elements", f)
	}
	var fill filler
	var err error
	switch f.Name {
	case "tokens", "targets":
		fill, err = s.tokenFiller(f, o, all)
	case "x", "y":
		fill, err = s.functionFiller(f, o, all)
	default:
		err = errorf("there is no field %q; the source has tokens, targets, x, y", f.Name)
	}
	if err != nil {
		return err
	}
	s.fields = append(s.fields, f)
	s.fill = append(s.fill, fill)
	return nil
}

func (s *synthetic) tokenFiller(f Field, o syntheticOptions, all []Field) (filler, error) {
	window := o.window
	for _, g := range all {
		if g.Name == "tokens" && len(g.Shape) == 2 && window == 0 {
			window = g.Shape[1]
		}
	}
	last := f.Name == "targets" && o.predict == "last"
	want := Field{f.Name, I32, []int{s.batch, window}}
	if last {
		want.Shape = want.Shape[:1]
	}
	switch {
	case window == 0:
		return nil, errorf("window, the number of tokens in an example, is not given")
	case o.vocab == 0:
		return nil, errorf("vocab, the number of tokens, is not given")
	case f.DType != I32 || !slices.Equal(f.Shape, want.Shape):
		return nil, errorf("the step reads %s, but the source has %s", f, want)
	}
	token, shift := randomToken, 0
	if o.pattern == "ramp" {
		token = rampToken
	}
	if f.Name == "targets" {
		shift = 1
	}
	vocab := uint64(o.vocab)
	return func(s streams, first int64, f *Field, b box, v View) {
		lo, hi := b.lo[1], b.hi[1]
		if last {
			lo, hi = window-1, window
		}
		k := 0
		for row := b.lo[0]; row < b.hi[0]; row++ {
			for col := lo; col < hi; col++ {
				v.I32[k] = token(s.data, first+int64(row), col+shift, vocab)
				k++
			}
		}
	}, nil
}

func randomToken(s stream, row int64, col int, vocab uint64) int32 {
	return int32(s.below(row, col, vocab))
}

func rampToken(s stream, row int64, col int, vocab uint64) int32 {
	start, step := s.below(row, 0, vocab), 1+s.below(row, 1, min(3, vocab))
	return int32((start + step*uint64(col)) % vocab)
}

// functionFiller gives x, or the teacher's y for it.
func (s *synthetic) functionFiller(f Field, o syntheticOptions, all []Field) (filler, error) {
	if f.DType != F32 {
		return nil, errorf("the step reads %s, but the source has f32", f)
	}
	if f.Name == "x" {
		return func(s streams, first int64, f *Field, b box, v View) {
			eachElement(f, &b, func(k, row, at int) {
				v.F32[k] = inputAt(s.data, first+int64(row), at)
			})
		}, nil
	}
	i := slices.IndexFunc(all, func(g Field) bool { return g.Name == "x" })
	if i < 0 {
		return nil, errorf("field y is a function of x, and the step does not read x")
	}
	in, out := rowSize(all[i]), rowSize(f)
	if max(in, out) > maxTeacher/o.hidden {
		return nil, errorf("a function of %d inputs, %d hidden units and %d outputs has more than %d weights",
			in, o.hidden, out, maxTeacher)
	}
	t := newTeacher(o.seed, in, o.hidden, out)
	noise := o.noise
	return func(s streams, first int64, f *Field, b box, v View) {
		var hidden [maxHidden]float64
		at := -1
		eachElement(f, &b, func(k, row, col int) {
			if row != at {
				t.activate(&hidden, s.data, first+int64(row))
				at = row
			}
			y := t.output(&hidden, col)
			if noise > 0 {
				y += noise * s.noise.normal(first+int64(row), col)
			}
			v.F32[k] = float32(y)
		})
	}, nil
}

func rowSize(f Field) int {
	n := 1
	for _, d := range f.Shape[1:] {
		n *= d
	}
	return n
}

// eachElement calls do for every element of the box: its position in the view,
// its row, and its position in the row of the whole field.
func eachElement(f *Field, b *box, do func(k, row, at int)) {
	if b.rowEmpty() {
		return
	}
	k := 0
	for row := b.lo[0]; row < b.hi[0]; row++ {
		idx := b.first()
		for more := true; more; more = b.next(&idx) {
			do(k, row, f.flat(&idx))
			k++
		}
	}
}

func (s *synthetic) Fields() []Field     { return s.fields }
func (s *synthetic) Tokens() int64       { return 0 }
func (s *synthetic) Examples() int64     { return 0 }
func (s *synthetic) Describe() string    { return s.about }
func (s *synthetic) Fingerprint() string { return s.print }

// ofRows are the fields without the batch, which is no fact of an example.
func ofRows(fields []Field) string {
	var out []string
	for _, f := range fields {
		f.Shape = f.Shape[1:]
		out = append(out, f.String())
	}
	return strings.Join(out, ", ")
}

// fingerprint is of what the numbers are made from, not of the numbers, whose
// last bits may differ between processors. Here the seed is the data.
func (s *synthetic) fingerprint(o syntheticOptions) string {
	h := sha256.New()
	fmt.Fprintf(h, "synthetic 1 %+v\n", o)
	for _, f := range s.fields {
		fmt.Fprintln(h, f.Name, f.DType, f.Shape[1:])
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

func (s *synthetic) Fill(step int64, dst []View) error {
	first, err := s.begun.firstRow(step, s.batch)
	if err != nil {
		return asError("synthetic", err)
	}
	return s.each(streamTrain, dst, func(row int) int64 { return s.seen.at(first + int64(row)) })
}

// Recipe is Source's.
func (s *synthetic) Recipe() Recipe { return *s.recipe() }

func (s *synthetic) recipe() *Recipe {
	return &Recipe{Parts: []Part{{Kind: "synthetic", Print: s.print, Seed: s.seed, Facts: s.facts, fixed: true}}}
}

func (s *synthetic) goOn(_ *Recipe, of []*seen, from begun) { s.seen, s.begun = of[0], from }

func (s *synthetic) Held() int64 { return int64(s.valid) * int64(s.batch) }

func (s *synthetic) HeldOut(number func(row int) int64, dst []View) error {
	return s.each(streamValid, dst, number)
}

// each fills the rows of the views with the examples that number gives.
func (s *synthetic) each(id streamID, dst []View, number func(row int) int64) error {
	if err := checkViews(s.fields, dst); err != nil {
		return asError("synthetic", err)
	}
	random := streams{newStream(s.seed, id), newStream(s.seed, id+streamNoise)}
	for i := range dst {
		if dst[i].skipped() {
			continue
		}
		b, err := s.fields[i].box(&dst[i])
		if err != nil {
			return asError("synthetic", err)
		}
		s.fillRows(i, random, number, b, dst[i])
	}
	return nil
}

// fillRows writes rows whose numbers are consecutive at once.
func (s *synthetic) fillRows(i int, random streams, number func(row int) int64, b box, v View) {
	size, end := b.rowSize(), b.hi[0]
	for b.lo[0] < end {
		row := b.lo[0]
		at := number(row)
		b.hi[0] = row + 1
		for b.hi[0] < end && number(b.hi[0])-at == int64(b.hi[0]-row) {
			b.hi[0]++
		}
		part, n := v, (b.hi[0]-row)*size
		if v.I32 != nil {
			part.I32, v.I32 = v.I32[:n], v.I32[n:]
		} else {
			part.F32, v.F32 = v.F32[:n], v.F32[n:]
		}
		s.fill[i](random, at-int64(row), &s.fields[i], b, part)
		b.lo[0] = b.hi[0]
	}
}
