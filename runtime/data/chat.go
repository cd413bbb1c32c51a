package data

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"time"

	"ptc/internal/units"
	"ptc/runtime/chat"
	"ptc/runtime/data/corpus"
	"ptc/runtime/tokenizer"
)

func init() {
	Register("chat", func(opts []Option, b Batch) (Source, error) { return openChat(opts, b, false) })
	Register("preferences", func(opts []Option, b Batch) (Source, error) { return openChat(opts, b, true) })
}

// conversations are records of messages, each in a window of its own or several in one;
// or, of the kind preferences, pairs of answers.
//
// Options:
//
//	files      glob with ** and ${NAME}; may repeat; also the positional argument
//	exclude    glob on the path below the base of files; may repeat
//	tokenizer  the path of a tokenizer.json, next to the chat template; not for
//	           files of `ptc data prepare`
//	template   the path of a chat template in the place of that one
//	messages   the column of the messages; else it is found by the columns that are there
//	date       of today, for templates that write it
//	window     tokens in an example, if the batch does not say
//	pack       true: several conversations in a window, none of them cut at its end
//	pad        the token behind the last one, 0
//	truncation right, or left: a conversation that is too long loses its beginning
//	valid      share held out, 0.05
//	shuffle    true, or false for the order of the files
//	seed       of the shuffle, else the run's
//	documents  true: the fields document and position
//	below      tokens have to be below it, where the model has fewer than the axis vocab says
//
// Fields: tokens i32[batch, window] and targets, with -1 for what is not to be predicted;
// document and position of that shape. Of preferences: chosen, chosen_targets, rejected,
// rejected_targets.
type conversations struct{ examples }

type chatOptions struct {
	tokenOptions
	template, date string
	columns        chat.Columns
	pad            int
	pack, docs     bool
	left           bool // truncation
	pairs          bool
}

func readChatOptions(opts []Option, b Batch, pairs bool) (c chatOptions, err error) {
	o := &options{list: opts}
	c = chatOptions{
		tokenOptions: o.tokens(b, ""),
		pairs:        pairs,
		template:     o.str("template", ""),
		date:         o.str("date", ""),
		columns:      chat.Columns{Messages: o.str("messages", "")},
		pad:          o.integer("pad", 0, 0, tokenBits),
		pack:         o.oneOf("pack", "false", "true") == "true",
		left:         o.oneOf("truncation", "right", "left") == "left",
		docs:         o.oneOf("documents", "false", "true") == "true",
	}
	if err := o.done(); err != nil {
		return c, err
	}
	if c.vocab > 0 && c.pad >= c.vocab {
		return c, errorf("pad = %d, but the vocabulary has %d", c.pad, c.vocab)
	}
	for _, f := range b.Fields { // pairs have no field tokens
		if c.window == 0 && len(f.Shape) == 2 {
			c.window = f.Shape[1]
		}
	}
	c.window, err = windowOf(c.window, b)
	return c, err
}

func openChat(opts []Option, b Batch, pairs bool) (Source, error) {
	o, err := readChatOptions(opts, b, pairs)
	if err != nil {
		return nil, err
	}
	rows := &chatRows{window: o.window, pad: int32(o.pad), pairs: pairs}
	kind := "chat"
	if pairs {
		kind = "preferences"
	}
	s := &conversations{examples{kind: kind, batch: b.Size, shuffle: o.shuffle, seed: o.seed}}
	if s.fields, rows.parts, err = chatFields(b, o); err != nil {
		return nil, err
	}
	files, id, err := rows.open(o, b)
	if err != nil {
		return nil, err
	}
	if err := rows.cut(o.left); err != nil {
		return nil, err
	}
	if o.pack {
		rows.packed(o.window)
	} else {
		rows.apart()
	}
	return s, s.split(rows, files, id, o)
}

// chatFields are those that are asked for, with what each has.
func chatFields(b Batch, o chatOptions) (fields []Field, parts []chatPart, err error) {
	names := []string{"tokens", "targets", "document", "position"}
	all := []chatPart{{0, partTokens}, {0, partTargets}, {0, partDocument}, {0, partPosition}}
	if o.pairs {
		names = []string{"chosen", "chosen_targets", "rejected", "rejected_targets"}
		all = []chatPart{{0, partTokens}, {0, partTargets}, {1, partTokens}, {1, partTargets}}
	} else if !o.docs {
		names = names[:2]
	}
	var have []Field
	for _, n := range names {
		have = append(have, Field{Name: n, DType: I32, Shape: []int{b.Size, o.window}})
	}
	if fields, err = chooseFields(b.Fields, have); err != nil {
		return nil, nil, err
	}
	for _, f := range fields {
		for i, n := range names {
			if f.Name == n {
				parts = append(parts, all[i])
			}
		}
	}
	return fields, parts, nil
}

// open reads the files; id tells the template of those that have text.
func (r *chatRows) open(o chatOptions, b Batch) (files []textFile, id string, err error) {
	if files, err = findFiles(o.files, o.exclude, b.Vars); err != nil {
		return nil, "", err
	}
	files = leaveOutCompanions(files)
	var page *chat.Template
	for i, f := range files {
		var s *store
		if corpus.Structured(f.path) {
			if page == nil {
				if page, err = findTemplate(o, time.Time{}, []string{b.Folder}); err != nil {
					return nil, "", err
				}
				id = page.ID()
			}
			s, err = spooledChat(f, o, page)
		} else if s, err = openStore(f, "auto", o.vocab); err == nil && !s.number.marked {
			err = &Error{Path: f.name, Msg: "it has no conversations", Hint: "conversations come from JSON lines, parquet, and the output of ptc data prepare --chat"}
		}
		if err != nil {
			return nil, "", err
		}
		s.vocab = o.vocab
		list, err := s.records(i)
		if err != nil {
			return nil, "", err
		}
		if o.pairs != s.pairs {
			return nil, "", &Error{Path: f.name, Msg: "a record of preferences has two answers, a record of conversations one",
				Hint: "use data.preferences for --pairs, and data.chat for --chat"}
		}
		r.stores, r.list = append(r.stores, s), append(r.list, list...)
	}
	if err := verifyShards(files, r.stores, "auto"); err != nil {
		return nil, "", err
	}
	if len(r.list) == 0 {
		return nil, "", short("all %d files are empty", len(files))
	}
	return files, id, nil
}

// findTemplate opens the tokenizer and the template next to it: from the current
// directory, or in one of the folders, such as that of the plan. now is the date where the
// options have none.
func findTemplate(o chatOptions, now time.Time, folders []string) (*chat.Template, error) {
	if o.tokenizer == "" {
		return nil, errorf("conversations as text need a tokenizer with a chat template next to it")
	}
	co := chat.Options{File: o.template, Now: now}
	if o.date != "" {
		now, err := chat.Date(o.date)
		if err != nil {
			return nil, errorf("date: %v", err)
		}
		co.Now = now
	}
	paths := []string{o.tokenizer}
	for _, folder := range folders {
		if folder != "" && !filepath.IsAbs(o.tokenizer) {
			paths = append(paths, filepath.Join(folder, o.tokenizer))
		}
	}
	for _, path := range paths {
		tok, err := tokenizer.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && o.hash != "" && tok.Hash() != o.hash {
			err = fmt.Errorf("the plan was compiled with another tokenizer: this is %.12s, the plan's is %.12s", tok.Hash(), o.hash)
		}
		if err != nil {
			return nil, &Error{Path: path, Msg: "the tokenizer cannot be used", Err: cause(err)}
		}
		if err := fitsVocabulary(fileTokenizer{tok}, o.vocab); err != nil {
			return nil, err
		}
		page, err := chat.Open(path, tok, co)
		if err != nil {
			return nil, &Error{Path: path, Msg: "its chat template cannot be used", Err: cause(err)}
		}
		return page, nil
	}
	return nil, &Error{Path: o.tokenizer, Msg: "the tokenizer file does not exist", Hint: "ptc looks for it in the current directory and next to the plan"}
}

// spooledChat makes tokens of a file of records, in a temporary file.
func spooledChat(f textFile, o chatOptions, page *chat.Template) (*store, error) {
	s := &store{name: f.name, number: marked, pairs: o.pairs}
	file, err := toSpool(func(w *bufio.Writer) error {
		return corpus.Read(f.path, corpus.Columns{Record: true}, func(d corpus.Document) error {
			ids, err := EncodeRecord(page, d.Record, o.columns, o.pairs)
			if err != nil {
				return fmt.Errorf("%s: %w", d.Place, err)
			}
			s.n += int64(len(ids))
			return binary.Write(w, binary.LittleEndian, ids)
		})
	})
	if err != nil {
		return nil, &Error{Path: f.name, Msg: "cannot be read", Err: cause(err)}
	}
	s.file = file
	return s, nil
}

// EncodeRecord gives the tokens of a record as files have them: of a conversation, or
// of the chosen and the rejected answer.
func EncodeRecord(page *chat.Template, raw []byte, columns chat.Columns, pairs bool) ([]int32, error) {
	var list [2]chat.Conversation
	var err error
	n := 1
	if pairs {
		n = 2
		list[0], list[1], err = chat.ParsePair(raw)
	} else {
		list[0], err = chat.Parse(raw, columns)
	}
	if err != nil {
		return nil, err
	}
	var out []int32
	for _, c := range list[:n] {
		e, err := page.Encode(c)
		if err != nil {
			return nil, err
		}
		if len(e.Tokens) == 0 {
			return nil, errors.New("the chat template cannot render it")
		}
		out = append(out, Mark(e)...)
	}
	return out, nil
}

// split holds windows out, in a fixed random order, as records are often sorted.
func (s *conversations) split(r *chatRows, files []textFile, id string, o chatOptions) error {
	n := r.count()
	held := int64(math.Round(o.valid * float64(n)))
	if n-held < 1 || o.validGiven && o.valid > 0 && held == 0 {
		return errorf("valid = %g holds out %d of %d windows", o.valid, held, n)
	}
	s.holdOut(r, held)
	s.epoch = (n - held) * int64(o.window)
	var err error
	if s.about, err = r.describe(s.kind, len(files)); err != nil {
		return err
	}
	if held > 0 {
		s.about += fmt.Sprintf(", %d for validation", held)
	} else {
		s.about += ", none held out for validation"
	}
	s.facts = []Fact{{"window", fmt.Sprint(o.window)}, {"pack", fmt.Sprint(o.pack)}, {"shuffle", fmt.Sprint(o.shuffle)}, {"share held out", fmt.Sprint(o.valid)},
		{"pad", fmt.Sprint(o.pad)}, {"conversations", fmt.Sprint(len(r.list))}, {"chat template", "sha256:" + id}}
	h := sha256.New()
	fmt.Fprintf(h, "%s 1 window=%d pack=%t documents=%t shuffle=%t valid=%g pad=%d template=%q\n", s.kind, o.window, o.pack, o.docs, o.shuffle, o.valid, o.pad, id)
	if o.left { // without it, runs of before go on
		s.facts = append(s.facts, Fact{"truncation", "left"})
		fmt.Fprintln(h, "truncation=left")
	}
	for i, st := range r.stores {
		fmt.Fprintf(h, "%q %d\n", files[i].rel, st.n)
		if err := hashSamples(h, 4*st.n, st.readAt); err != nil {
			return err
		}
	}
	s.print = fmt.Sprintf("sha256:%x", h.Sum(nil))
	return nil
}

// describe counts what there is; without one target there is nothing to learn.
func (r *chatRows) describe(kind string, files int) (string, error) {
	var tokens, targets, empty int64
	for _, x := range r.list {
		tokens, targets = tokens+int64(x.n), targets+int64(x.targets)
		if x.targets == 0 {
			empty++
		}
	}
	if targets == 0 {
		return "", errorf("no token of %d conversations is a target: none has an assistant message", len(r.list))
	}
	about := fmt.Sprintf("%s: %d files, %s, %s of which %.3g%% are targets, %d windows of %d tokens", kind, files,
		units.Plural(len(r.list), "conversation"), units.Count(tokens, "token"), 100*float64(targets)/float64(tokens), r.count(), r.window)
	if r.long > 0 {
		about += fmt.Sprintf(", %d longer conversations are truncated", r.long)
		if r.left {
			about += " at the beginning"
		}
	}
	if empty > 0 {
		about += fmt.Sprintf(", %d have no target", empty)
	}
	return about, nil
}
