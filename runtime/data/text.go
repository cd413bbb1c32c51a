package data

import (
	"crypto/sha256"
	"fmt"
	"math"

	"ptc/internal/units"
)

func init() { Register("text", openText) }

// DefaultLimit is how much text a source takes if its option limit is absent.
const DefaultLimit = 64 << 20

// validSeed orders validation windows. It is not the run's seed, so that runs
// with different seeds are measured on the same batches.
const validSeed = 0

// text cuts files into windows of tokens. The files of each side of the split
// are joined with separators into one sequence; window w is its tokens
// [w*window, (w+1)*window), and the token after each is its target, so every
// target is predicted once per epoch and a window may hold the end of one file
// and the start of another. The tail that is no full window is not used.
//
// Options:
//
//	files      glob with ** and ${NAME}; may repeat; also the positional argument
//	exclude    glob on the path below the base of files; may repeat
//	tokenizer  bytes
//	window     tokens in an example, if the batch does not say
//	predict    next: targets [batch, window]; last: targets [batch]
//	valid      share held out, 0.05; absent, it yields to a text that is too short
//	shuffle    true, or false for the order of the files
//	seed       of the shuffle, else the run's
//	limit      bytes of text to take, 64MiB
//
// Fields: tokens i32[batch, window] and targets.
type text struct {
	fields  []Field
	targets []bool // for each field: the tokens' successors, not the tokens
	last    bool   // predict=last
	batch   int
	window  int
	shuffle bool
	seed    uint64

	train, valid         tokens
	trainOrd, validOrd   permutation
	trainWins, validWins int64
	about, print         string
}

type textOptions struct {
	files, exclude []string
	tokenizer      string
	window         int
	predict        string
	valid          float64
	validGiven     bool
	shuffle        bool
	seed           uint64
	limit          int64
}

func readTextOptions(opts []Option, b Batch) (t textOptions, err error) {
	o := &options{list: opts}
	t = textOptions{
		files:      append(o.all(""), o.all("files")...),
		exclude:    o.all("exclude"),
		tokenizer:  o.str("tokenizer", "bytes"),
		window:     o.integer("window", b.Window, 1, math.MaxInt32),
		predict:    o.oneOf("predict", "next", "last"),
		valid:      o.float("valid", 0.05, 0, 0.9),
		validGiven: o.has("valid"),
		shuffle:    o.oneOf("shuffle", "true", "false") == "true",
		seed:       o.seed(b.Seed),
		limit:      o.size("limit", DefaultLimit),
	}
	if err := o.done(); err != nil {
		return t, err
	}
	for _, f := range b.Fields {
		if f.Name == "tokens" && len(f.Shape) == 2 && t.window == 0 {
			t.window = f.Shape[1]
		}
	}
	switch {
	case len(t.files) == 0:
		return t, errorf("no files are given")
	case t.window < 1:
		return t, errorf("no window is given: how many tokens make an example")
	case b.Window != 0 && b.Window != t.window:
		return t, errorf("window = %d, but the batch has windows of %d", t.window, b.Window)
	}
	return t, nil
}

func openText(opts []Option, b Batch) (Source, error) {
	o, err := readTextOptions(opts, b)
	if err != nil {
		return nil, err
	}
	t := &text{batch: b.Size, window: o.window, shuffle: o.shuffle, seed: o.seed, last: o.predict == "last"}
	if err := t.chooseFields(b); err != nil {
		return nil, err
	}
	tok, err := findTokenizer(o.tokenizer)
	if err != nil {
		return nil, err
	}
	files, err := findFiles(o.files, o.exclude, b.Vars)
	if err != nil {
		return nil, err
	}
	files, total := limitFiles(files, o.limit)
	if total == 0 {
		return nil, errorf("all %d files are empty", len(files))
	}
	if err := readFiles(files); err != nil {
		return nil, err
	}
	return t, t.load(files, total, tok, o, b.Vocab)
}

func (t *text) chooseFields(b Batch) (err error) {
	have := []Field{
		{Name: "tokens", DType: I32, Shape: []int{t.batch, t.window}},
		{Name: "targets", DType: I32, Shape: []int{t.batch, t.window}},
	}
	if t.last {
		have[1].Shape = have[1].Shape[:1]
	}
	t.fields, err = chooseFields(b.Fields, have)
	for _, f := range t.fields {
		t.targets = append(t.targets, f.Name == "targets")
	}
	return err
}

// load splits and tokenizes the files.
func (t *text) load(files []textFile, total int64, tok Tokenizer, o textOptions, vocab int) (err error) {
	if vocab == 0 {
		vocab = tok.Vocab()
	}
	s := splitFiles(files, o.valid)
	if t.valid, err = tokenize(s.valid, tok, vocab); err != nil {
		return err
	}
	t.validWins = t.windows(&t.valid)
	if o.valid > 0 && t.validWins == 0 {
		if o.validGiven {
			return errorf("valid = %g holds out %d tokens, and a window needs %d", o.valid, t.valid.len(), t.window+1)
		}
		s, t.valid = splitTails(files, 0), tokens{}
	}
	if t.train, err = tokenize(s.train, tok, vocab); err != nil {
		return err
	}
	if t.trainWins = t.windows(&t.train); t.trainWins == 0 {
		return errorf("the text has %d tokens for training, and a window needs %d", t.train.len(), t.window+1)
	}
	t.trainOrd = newPermutation(t.trainWins, newStream(t.seed, streamTrain))
	t.validOrd = newPermutation(t.validWins, newStream(validSeed, streamValid))
	t.about = describeText(files, total, s, t)
	t.print = t.fingerprint(tok)
	return nil
}

// windows counts the windows that have a target for their last token.
func (t *text) windows(seq *tokens) int64 { return max(0, seq.len()-1) / int64(t.window) }

func describeText(files []textFile, total int64, s split, t *text) string {
	var size int64
	for _, f := range files {
		size += int64(len(f.text))
	}
	about := fmt.Sprintf("text: %d files, %s", len(files), units.Bytes(size))
	if size < total {
		about += fmt.Sprintf(" of %s", units.Bytes(total))
	}
	about += fmt.Sprintf(", %d windows of %d tokens", t.trainWins, t.window)
	switch {
	case t.validWins == 0:
		return about + ", none held out for validation"
	case s.byFiles:
		about += fmt.Sprintf(", %d windows of %d other files for validation", t.validWins, len(s.valid))
	default:
		about += fmt.Sprintf(", %d windows of the files' ends for validation", t.validWins)
	}
	if s.dropped > 0 {
		about += fmt.Sprintf(", %d files that repeat those left out", s.dropped)
	}
	return about
}

func (t *text) fingerprint(tok Tokenizer) string {
	h := sha256.New()
	fmt.Fprintf(h, "text 1 %s window=%d last=%t shuffle=%t\n", tok.Name(), t.window, t.last, t.shuffle)
	t.train.hashTo(h)
	t.valid.hashTo(h)
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

func (t *text) Fields() []Field     { return t.fields }
func (t *text) Tokens() int64       { return t.trainWins * int64(t.window) }
func (t *text) Describe() string    { return t.about }
func (t *text) Fingerprint() string { return t.print }

// ValidationBatches rounds down, but a text with fewer windows than a batch
// still makes one, in which windows repeat.
func (t *text) ValidationBatches() int {
	if t.validWins == 0 {
		return 0
	}
	return int(max(1, t.validWins/int64(t.batch)))
}

func (t *text) Fill(step int64, dst []View) error {
	first, err := firstRow(step, t.batch)
	if err != nil {
		return asError("text", err)
	}
	return t.fill(&t.train, &t.trainOrd, t.shuffle, first, dst)
}

func (t *text) Validation(i int, dst []View) error {
	if i < 0 || i >= t.ValidationBatches() {
		return asError("text", errorf("there is no validation batch %d of %d", i, t.ValidationBatches()))
	}
	return t.fill(&t.valid, &t.validOrd, true, int64(i)*int64(t.batch), dst)
}

// fill writes the examples numbered from first on: number g is element g mod n
// of the order of epoch g / n.
func (t *text) fill(seq *tokens, order *permutation, shuffle bool, first int64, dst []View) error {
	if err := checkViews(t.fields, dst); err != nil {
		return asError("text", err)
	}
	n := int64(order.n)
	for i := range dst {
		if dst[i].skipped() {
			continue
		}
		b, err := t.fields[i].box(&dst[i])
		if err != nil {
			return asError("text", err)
		}
		// Columns of the row, as offsets from the start of its window.
		lo, hi := b.lo[1], b.hi[1]
		if b.rank == 1 {
			lo, hi = t.window-1, t.window
		}
		if t.targets[i] {
			lo, hi = lo+1, hi+1
		}
		out := dst[i].I32
		for row := b.lo[0]; row < b.hi[0]; row++ {
			g := first + int64(row)
			w := g % n
			if shuffle {
				w = order.at(g/n, w)
			}
			seq.copyTo(out[:hi-lo], w*int64(t.window)+int64(lo))
			out = out[hi-lo:]
		}
	}
	return nil
}
