package data

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash"
	"math"

	"ptc/internal/order"
	"ptc/internal/units"
	"ptc/runtime/data/corpus"
)

func init() { Register("tokens", openTokens) }

// shards are files of tokens, which stay where they are. The files of each side
// of the split are joined into one sequence, of which windows are cut.
//
// Options:
//
//	files      glob with ** and ${NAME}; may repeat; also the positional argument
//	exclude    glob on the path below the base of files; may repeat
//	dtype      auto, or what a token of a file without a header is: u16, u32, …
//	column     the text, or the tokens, of a record of JSON lines and parquet
//	prompt     the text before it, of which no token is a target, is in this column
//	tokenizer  of text: bytes, or the path of a file; with it all files are text
//	window     tokens in an example, if the batch does not say
//	predict    next: targets [batch, window]; last: targets [batch]
//	valid      share held out, 0.05; absent, it yields to data that is too short
//	shuffle    true, or false for the order of the files
//	seed       of the shuffle, else the run's
//	documents  true: the fields document and position, and no targets across documents
//	separator  the number of a token that ends a document
//	below      tokens have to be below it, where the model has fewer than the axis vocab says
//
// Fields: tokens i32[batch, window] and targets; document and position of that
// shape.
type shards struct {
	examples
	window int
	last   bool
	parts  []part
	docs   bool
	sep    int32
	prompt bool
}

type shardOptions struct {
	tokenOptions
	dtype          string
	column, prompt string
	predict        string
	docs           bool
	separator      int
}

func readShardOptions(opts []Option, b Batch) (s shardOptions, err error) {
	o := &options{list: opts}
	words := []string{"auto"}
	for _, n := range numbers {
		words = append(words, n.name)
	}
	s = shardOptions{
		tokenOptions: o.tokens(b, ""),
		dtype:        o.oneOf("dtype", words...),
		column:       o.str("column", "text"),
		prompt:       o.str("prompt", ""),
		predict:      o.oneOf("predict", "next", "last"),
		docs:         o.oneOf("documents", "false", "true") == "true",
		separator:    o.integer("separator", -1, -1, math.MaxInt32),
	}
	if err := o.done(); err != nil {
		return s, err
	}
	if s.prompt != "" && s.tokenizer == "" {
		return s, errorf("prompt = %q needs a tokenizer, because prompts are text", s.prompt)
	}
	s.window, err = windowOf(s.window, b)
	return s, err
}

func openTokens(opts []Option, b Batch) (Source, error) {
	o, err := readShardOptions(opts, b)
	if err != nil {
		return nil, err
	}
	s := &shards{window: o.window, last: o.predict == "last", docs: o.docs, sep: int32(o.separator), prompt: o.prompt != "",
		examples: examples{kind: "tokens", batch: b.Size, shuffle: o.shuffle, seed: o.seed}}
	if s.fields, s.parts, err = windowFields(b.Fields, b.Size, s.window, s.last, s.docs); err != nil {
		return nil, err
	}
	files, stores, total, err := openStores(o, b)
	if err != nil {
		return nil, err
	}
	for _, st := range stores {
		if st.number.marked {
			return nil, &Error{Path: st.name, Msg: "it has conversations, in which not every token is a target", Hint: "use data.chat, or data.preferences for pairs"}
		}
	}
	return s, s.split(files, stores, total, o)
}

func openStores(o shardOptions, b Batch) (files []textFile, stores []*store, total int64, err error) {
	if files, err = findFiles(o.files, o.exclude, b.Vars); err != nil {
		return nil, nil, 0, err
	}
	files = leaveOutCompanions(files)
	var tok Tokenizer
	if o.tokenizer != "" {
		if tok, err = findTokenizer(o.tokenizer, o.hash, b.Folder); err != nil {
			return nil, nil, 0, err
		}
		if err := fitsVocabulary(tok, o.vocab); err != nil {
			return nil, nil, 0, err
		}
	}
	for _, f := range files {
		if o.prompt != "" && !corpus.Structured(f.path) {
			return nil, nil, 0, &Error{Path: f.name, Msg: "prompts need records, but this file is neither JSON lines nor parquet"}
		}
		open := func() (*store, error) { return openStore(f, o.dtype, o.vocab) }
		if needsSpool(f) || tok != nil {
			open = func() (*store, error) { return spooled(f, o, tok) }
		}
		s, err := open()
		if err != nil {
			return nil, nil, 0, err
		}
		if s.vocab = o.vocab; tok != nil {
			s.tokenizer = tok.Name()
		}
		stores, total = append(stores, s), total+s.n
	}
	if err := lostIndex(stores); err != nil {
		return nil, nil, 0, err
	}
	if tok == nil {
		if err := verifyShards(files, stores, o.dtype); err != nil {
			return nil, nil, 0, err
		}
	}
	if total == 0 {
		return nil, nil, 0, short("all %d files are empty", len(files))
	}
	return files, stores, total, nil
}

// ReadTokens reads some tokens of files from the token of a number on, and counts
// all.
func ReadTokens(patterns []string, dtype string, from, count int64) (ids []int32, total int64, err error) {
	if _, ok := findNumber(dtype); !ok && dtype != "auto" {
		return nil, 0, asError("tokens", errorf("%q is not a type of tokens", dtype))
	}
	_, stores, total, err := openStores(shardOptions{tokenOptions: tokenOptions{files: patterns}, dtype: dtype}, Batch{})
	if err != nil {
		return nil, 0, asError("tokens", err)
	}
	var list []segment
	for _, s := range stores {
		list = append(list, segment{s, 0, s.n})
	}
	if from > total {
		return nil, total, asError("tokens", errorf("there are %d tokens, but the first to show is %d", total, from))
	}
	ids = make([]int32, min(count, total-from))
	if err := joinSegments(list, -1).copyTo(ids, from); err != nil {
		return nil, total, asError("tokens", err)
	}
	return ids, total, nil
}

// split holds out whole files or, where there are few, the ends of all.
func (s *shards) split(files []textFile, stores []*store, total int64, o shardOptions) error {
	train, valid := splitStores(files, stores, o.valid)
	if o.valid > 0 && s.cut(valid).count() == 0 {
		if o.validGiven {
			return errorf("valid = %g holds out %d tokens, but a window needs %d", o.valid, joinSegments(valid, -1).len(), s.window+1)
		}
		train, valid = splitStores(files, stores, 0)
	}
	w := s.cut(train)
	if w.count() == 0 {
		return short("the files have %d tokens for training, and a window needs %d", w.seq.len(), s.window+1)
	}
	s.train, s.valid = w, s.cut(valid)
	s.order()
	s.epoch = w.count() * int64(s.window)
	s.about = fmt.Sprintf("tokens: %d files, %s, %d windows of %d tokens", len(files), units.Count(total, "token"), w.count(), s.window)
	if n := s.Held(); n > 0 {
		s.about += fmt.Sprintf(", %d windows for validation", n)
	} else {
		s.about += ", none held out for validation"
	}
	s.facts = s.factsOf(files, stores, o)
	print, err := s.fingerprint(files, stores, o)
	s.print = print
	return err
}

func (s *shards) cut(list []segment) *windows {
	seq := joinSegments(list, s.sep)
	w := &windows{seq: seq, window: s.window, parts: s.parts, last: s.last}
	if s.docs {
		w.docs = seq
	}
	if s.prompt {
		w.masked = seq
	}
	return w
}

func splitStores(files []textFile, stores []*store, share float64) (train, valid []segment) {
	held := int(math.Round(share * float64(len(files))))
	whole := held >= 1 && held < len(files)
	out := map[int]bool{}
	if whole {
		ranks := order.By(len(files), func(a, b int) int {
			return cmp.Or(cmp.Compare(files[a].rank, files[b].rank), cmp.Compare(files[a].rel, files[b].rel))
		})
		for _, i := range ranks[:held] {
			out[i] = true
		}
	}
	for i, s := range stores {
		cut := s.n
		switch {
		case out[i]:
			cut = 0
		case !whole:
			cut -= int64(math.Round(share * float64(s.n)))
		}
		train = append(train, segment{s, 0, cut})
		valid = append(valid, segment{s, cut, s.n})
	}
	return train, valid
}

// samples of a file are hashed for the fingerprint: all of a corpus would take
// as long as reading it.
const (
	sampleCount = 16
	sampleBytes = 1 << 12
)

// hashSamples hashes samples of size bytes.
func hashSamples(h hash.Hash, size int64, readAt func(raw []byte, at int64) error) error {
	raw := make([]byte, min(sampleBytes, size))
	for k := range int64(sampleCount) {
		if err := readAt(raw, max(0, size-sampleBytes)/(sampleCount-1)*k); err != nil {
			return err
		}
		h.Write(raw)
	}
	return nil
}

// fingerprint is of names, sizes and samples of the files.
func (s *shards) fingerprint(files []textFile, stores []*store, o shardOptions) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "tokens 1 window=%d last=%t shuffle=%t documents=%t separator=%d valid=%g\n", s.window, s.last, o.shuffle, s.docs, s.sep, o.valid)
	if s.prompt {
		fmt.Fprintf(h, "prompt %q\n", o.prompt)
	}
	for i, st := range stores {
		fmt.Fprintf(h, "%q %s %d\n", files[i].rel, st.number.name, st.n)
		for _, r := range st.prompts {
			fmt.Fprintf(h, "%d %d\n", r.from, r.to)
		}
		if err := hashSamples(h, st.n*int64(st.number.bytes), st.readAt); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil)), nil
}
