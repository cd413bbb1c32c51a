package data

// rows are examples that can be had by their number, in the order of the files.
type rows interface {
	count() int64

	// read writes the part b of field number field of example n, whose axes from
	// the second on count, to i32 or to f32, whichever is the field's type. The
	// box goes by value, as a pointer would move it to the heap.
	read(field int, n int64, b box, i32 []int32, f32 []float32) error
}

// examples are batches of rows: a side for training and one that is held out.
type examples struct {
	kind    string
	fields  []Field
	batch   int
	shuffle bool
	seed    uint64
	facts   []Fact
	begun   begun
	seen    *seen

	train, valid       rows // valid is nil where nothing is held out
	trainOrd, validOrd permutation
	epoch              int64 // tokens, 0 if a row has none
	about, print       string
}

// validSeed orders what is held out. It is not the run's seed, so that runs with
// different seeds are measured on the same batches.
const validSeed = 0

// order makes the permutations, when both sides are known.
func (e *examples) order() {
	e.trainOrd = newPermutation(e.train.count(), newStream(e.seed, streamTrain))
	e.validOrd = newPermutation(e.Held(), newStream(validSeed, streamValid))
}

// holdOut divides rows into those for training and some that are held out: in a fixed random order, because rows are
// often sorted, or the last ones where the examples are not shuffled.
func (e *examples) holdOut(all rows, held int64) {
	n := all.count()
	order := newPermutation(n, newStream(validSeed, streamSplit))
	e.train = &someRows{all, order, e.shuffle, 0, n - held}
	e.valid = &someRows{all, order, e.shuffle, n - held, held}
	e.order()
}

// Held counts the examples that are held out.
func (e *examples) Held() int64 {
	if e.valid == nil {
		return 0
	}
	return e.valid.count()
}

func (e *examples) Fields() []Field     { return e.fields }
func (e *examples) Tokens() int64       { return e.epoch }
func (e *examples) Describe() string    { return e.about }
func (e *examples) Fingerprint() string { return e.print }
func (e *examples) Examples() int64     { return e.train.count() }

// Fill takes the examples that were not seen. Number g of all is element g mod n of the order of
// epoch g / n.
func (e *examples) Fill(step int64, dst []View) error {
	first, err := e.begun.firstRow(step, e.batch)
	if err != nil {
		return asError(e.kind, err)
	}
	n := int64(e.trainOrd.n)
	return e.each(dst, e.train, func(row int) int64 {
		g := e.seen.at(first + int64(row))
		if !e.shuffle {
			return g % n
		}
		return e.trainOrd.at(g/n, g%n)
	})
}

// Recipe is Source's.
func (e *examples) Recipe() Recipe { return *e.recipe() }

func (e *examples) recipe() *Recipe {
	return &Recipe{Parts: []Part{{Kind: e.kind, Print: e.print, Seed: e.seed, Facts: e.facts}}}
}

func (e *examples) goOn(r *Recipe, of []*seen, from begun) {
	e.seed, e.seen, e.begun = r.Parts[0].Seed, of[0], from
	e.order()
}

func (e *examples) HeldOut(number func(row int) int64, dst []View) error {
	if e.Held() == 0 {
		return asError(e.kind, errorf("nothing is held out"))
	}
	return e.each(dst, e.valid, func(row int) int64 { return e.validOrd.at(0, number(row)%int64(e.validOrd.n)) })
}

// each fills the rows of the views with the examples that number gives.
func (e *examples) each(dst []View, from rows, number func(row int) int64) error {
	if err := checkViews(e.fields, dst); err != nil {
		return asError(e.kind, err)
	}
	for i := range dst {
		if dst[i].skipped() {
			continue
		}
		b, err := e.fields[i].box(&dst[i])
		if err != nil {
			return asError(e.kind, err)
		}
		i32, f32, size := dst[i].I32, dst[i].F32, b.rowSize()
		for row := b.lo[0]; row < b.hi[0]; row++ {
			var ints []int32
			var floats []float32
			if i32 != nil {
				ints, i32 = i32[:size], i32[size:]
			} else {
				floats, f32 = f32[:size], f32[size:]
			}
			if err := from.read(i, number(row), b, ints, floats); err != nil {
				return asError(e.kind, err)
			}
		}
	}
	return nil
}

// someRows are some of the rows, in a fixed random order or in that of the files.
type someRows struct {
	of      rows
	order   permutation
	mixed   bool
	from, n int64
}

func (r *someRows) count() int64 { return r.n }

func (r *someRows) read(field int, n int64, b box, i32 []int32, f32 []float32) error {
	if n += r.from; r.mixed {
		n = r.order.at(0, n)
	}
	return r.of.read(field, n, b, i32, f32)
}
