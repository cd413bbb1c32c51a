package data

import (
	"crypto/sha256"
	"fmt"

	"ptc/internal/units"
)

func init() { Register("text", openText) }

// DefaultLimit is how much text a source takes if its option limit is absent.
const DefaultLimit = 64 << 20

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
//	tokenizer  bytes, or the path of a file; tokenizer_sha256 is that file's hash
//	window     tokens in an example, if the batch does not say
//	predict    next: targets [batch, window]; last: targets [batch]
//	valid      share held out, 0.05; absent, it yields to a text that is too short
//	shuffle    true, or false for the order of the files
//	seed       of the shuffle, else the run's
//	limit      bytes of text to take, 64MiB
//
// Fields: tokens i32[batch, window] and targets.
type text struct {
	examples
	parts        []part
	window       int
	last         bool // predict=last
	train, valid windows
}

type textOptions struct {
	tokenOptions
	predict string
	limit   int64
}

func readTextOptions(opts []Option, b Batch) (t textOptions, err error) {
	o := &options{list: opts}
	t = textOptions{
		tokenOptions: o.tokens(b, "bytes"),
		predict:      o.oneOf("predict", "next", "last"),
		limit:        o.size("limit", DefaultLimit),
	}
	if err := o.done(); err != nil {
		return t, err
	}
	t.window, err = windowOf(t.window, b)
	return t, err
}

// windowOf is how many tokens an example has: as the option says, else as the field of
// tokens does, and in no contradiction to the batch.
func windowOf(window int, b Batch) (int, error) {
	for _, f := range b.Fields {
		if f.Name == "tokens" && len(f.Shape) == 2 && window == 0 {
			window = f.Shape[1]
		}
	}
	switch {
	case window < 1:
		return 0, errorf("window, the number of tokens in an example, is not given")
	case b.Window != 0 && b.Window != window:
		return 0, errorf("window = %d, but the batch has windows of %d", window, b.Window)
	}
	return window, nil
}

func openText(opts []Option, b Batch) (Source, error) {
	o, err := readTextOptions(opts, b)
	if err != nil {
		return nil, err
	}
	t := &text{window: o.window, last: o.predict == "last",
		examples: examples{kind: "text", batch: b.Size, shuffle: o.shuffle, seed: o.seed}}
	if t.fields, t.parts, err = windowFields(b.Fields, b.Size, t.window, t.last, false); err != nil {
		return nil, err
	}
	tok, err := findTokenizer(o.tokenizer, o.hash, b.Folder)
	if err != nil {
		return nil, err
	}
	if err := fitsVocabulary(tok, o.vocab); err != nil {
		return nil, err
	}
	files, err := findFiles(o.files, o.exclude, b.Vars)
	if err != nil {
		return nil, err
	}
	files, total := limitFiles(files, o.limit)
	if total == 0 {
		return nil, short("all %d files are empty", len(files))
	}
	if err := readFiles(files); err != nil {
		return nil, err
	}
	return t, t.load(files, total, tok, o, o.vocab)
}

// fitsVocabulary refuses a file's tokenizer with more tokens than the model has;
// of bytes, text may use few.
func fitsVocabulary(tok Tokenizer, vocab int) error {
	if _, file := tok.(fileTokenizer); file && vocab > 0 && tok.Vocab() > vocab {
		return errorf("the tokenizer has %d tokens, but the model's vocabulary has %d", tok.Vocab(), vocab)
	}
	return nil
}

// load splits and tokenizes the files.
func (t *text) load(files []textFile, total int64, tok Tokenizer, o textOptions, vocab int) (err error) {
	if vocab == 0 {
		vocab = tok.Vocab()
	}
	s := splitFiles(files, o.valid)
	valid, err := tokenize(s.valid, tok, vocab)
	if err != nil {
		return err
	}
	t.valid = t.cut(&valid)
	if o.valid > 0 && t.valid.count() == 0 {
		if o.validGiven {
			return errorf("valid = %g holds out %d tokens, but a window needs %d", o.valid, valid.len(), t.window+1)
		}
		s, valid = splitTails(files, 0), tokens{}
	}
	train, err := tokenize(s.train, tok, vocab)
	if err != nil {
		return err
	}
	if t.train = t.cut(&train); t.train.count() == 0 {
		return short("the text has %d tokens for training, and a window needs %d", train.len(), t.window+1)
	}
	t.examples.train, t.examples.valid = &t.train, &t.valid
	t.order()
	t.epoch = t.train.count() * int64(t.window)
	t.about = describeText(files, total, s, t)
	t.print = t.fingerprint(tok, &train, &valid)
	t.facts = []Fact{{"tokenizer", tok.Name()}, {"window", fmt.Sprint(t.window)}, {"predict", o.predict}, {"shuffle", fmt.Sprint(o.shuffle)},
		{"share held out", fmt.Sprint(o.valid)}, {"files", contentFact(files)}}
	return nil
}

func (t *text) cut(seq *tokens) windows {
	return windows{seq: seq, window: t.window, parts: t.parts, last: t.last}
}

func describeText(files []textFile, total int64, s split, t *text) string {
	var size int64
	for _, f := range files {
		size += int64(len(f.text))
	}
	about := fmt.Sprintf("text: %d files, %s", len(files), units.Bytes(size))
	if size < total {
		about += fmt.Sprintf(" of %s", units.Bytes(total))
	}
	about += fmt.Sprintf(", %d windows of %d tokens", t.train.count(), t.window)
	switch {
	case t.valid.count() == 0:
		return about + ", none held out for validation"
	case s.byFiles:
		about += fmt.Sprintf(", %d windows of %d other files for validation", t.valid.count(), len(s.valid))
	default:
		about += fmt.Sprintf(", %d windows of the files' ends for validation", t.valid.count())
	}
	if s.dropped > 0 {
		about += fmt.Sprintf(", %d files that repeat those left out", s.dropped)
	}
	return about
}

func (t *text) fingerprint(tok Tokenizer, train, valid *tokens) string {
	h := sha256.New()
	fmt.Fprintf(h, "text 1 %s window=%d last=%t shuffle=%t\n", tok.Name(), t.window, t.last, t.shuffle)
	train.hashTo(h)
	valid.hashTo(h)
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}
