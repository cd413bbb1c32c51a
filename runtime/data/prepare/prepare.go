package prepare

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ptc/internal/processors"
	"ptc/runtime/chat"
	"ptc/runtime/checkpoint/folderlock"
	"ptc/runtime/data"
	"ptc/runtime/data/corpus"
	"ptc/runtime/tokenizer"
)

// Options say what becomes of which files.
type Options struct {
	Patterns  []string
	Tokenizer *tokenizer.Tokenizer
	File      string // of the tokenizer, which is copied next to the shards; may be empty
	Dir       string
	ShardSize int64  // bytes, after which a shard ends with its document
	Separator string // a token behind each document; none if empty
	Column    string // of JSON lines and parquet
	Threads   int    // 0: as many as there are processors

	// Chat makes tokens of conversations, which then have marks; nil: text.
	Chat    *chat.Template
	Columns chat.Columns // of conversations
	Pairs   bool         // records are two answers, of which one is preferred
	Date    string       // that the template writes; empty: none

	// Progress is told what is done, after each shard and now and then.
	Progress func(Progress)
}

// Progress is how far the work is.
type Progress struct {
	Files, AllFiles   int
	Bytes, AllBytes   int64 // of the files that are done
	Tokens, Documents int64
	Shards, Kept      int // kept are those of an earlier call
}

// Run makes the shards that are not there yet. No other process prepares the folder meanwhile.
func Run(ctx context.Context, o Options) (*data.Manifest, error) {
	release, err := reserve(o.Dir)
	if err != nil {
		return nil, err
	}
	defer release()
	return run(ctx, o)
}

// reserve makes the folder and takes its lock, so that shards of two calls do not mix.
func reserve(dir string) (release func(), err error) {
	l, err := folderlock.Take(dir, folderlock.Try)
	var held *folderlock.HeldError
	switch {
	case errors.As(err, &held):
		return nil, fmt.Errorf("%s is in use: %w; wait until it has ended, or name another folder", dir, held)
	case err != nil:
		return nil, fmt.Errorf("%s cannot be prepared: %w", dir, err)
	}
	return l.Release, nil
}

func run(ctx context.Context, o Options) (*data.Manifest, error) {
	files, err := data.List(o.Patterns)
	if err != nil {
		return nil, err
	}
	w := &writer{o: o, separator: -1}
	if o.Separator != "" {
		id, ok := o.Tokenizer.Special(o.Separator)
		if !ok {
			return nil, fmt.Errorf("the tokenizer has no token %q", o.Separator)
		}
		w.separator = id
	}
	threads := o.Threads
	if threads < 1 {
		threads = processors.Count()
	}
	content, err := contentHash(ctx, files, threads)
	if err != nil {
		return nil, err
	}
	w.m = data.Manifest{Content: content, Format: data.ManifestFormat, DType: "u16", Vocab: o.Tokenizer.Vocab(), Tokenizer: o.Tokenizer.Hash(),
		Separator: o.Separator, Input: inputHash(files, o)}
	if o.Tokenizer.Vocab() > 1<<16 {
		w.m.DType = "u32"
	}
	if o.Chat != nil {
		w.describeChat()
	}
	tok, err := w.tokenizerFile()
	if err != nil {
		return nil, err
	}
	done, err := w.resume(ctx)
	if err == nil && !done { // before all other files, which nothing else would tell from files of tokens
		err = w.write(data.PartialName)
	}
	if err == nil { // a folder with shards of something else stays as it is
		if err = w.keepTokenizer(tok); err == nil {
			err = w.keepTemplate()
		}
	}
	if err == nil && done {
		err = w.sweep()
	}
	if done || err != nil {
		return &w.m, err
	}
	for _, f := range files {
		w.p.AllBytes += f.Size
	}
	w.p.AllFiles = len(files)
	if err := w.all(ctx, files, threads); err != nil {
		return nil, err
	}
	return &w.m, w.finish()
}

// inputHash is of the files and of what else the bytes of the shards depend on.
func inputHash(files []data.File, o Options) string {
	h := sha256.New()
	fmt.Fprintf(h, "shards of %d, column %q\n", o.ShardSize, o.Column)
	if o.Chat != nil {
		fmt.Fprintf(h, "conversations %q %q pairs %t\n", o.Chat.ID(), o.Columns.Messages, o.Pairs)
	}
	for _, f := range files {
		fmt.Fprintf(h, "%q %d\n", f.Name, f.Size)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// resume takes up what an earlier call has done, and says whether that is all.
func (w *writer) resume(ctx context.Context) (done bool, err error) {
	for _, name := range []string{data.ManifestName, data.PartialName} {
		path := filepath.Join(w.o.Dir, name)
		old, err := data.ReadManifest(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("%s cannot be used: %w", path, err)
		}
		if name == data.PartialName && len(old.Shards) == 0 { // of a call that was ended before it had anything
			continue
		}
		if old.Tokenizer != w.m.Tokenizer || old.Separator != w.m.Separator || old.Input != w.m.Input || old.DType != w.m.DType {
			return false, fmt.Errorf("%s has shards of other files, of another tokenizer or with other options; name another folder, or delete it", w.o.Dir)
		}
		if old.Content != "" && old.Content != w.m.Content { // older programs did not write it down
			return false, fmt.Errorf("the files have changed since %s was begun, though not in their names and sizes; name another folder, or delete it", w.o.Dir)
		}
		for _, s := range old.Shards {
			if err := w.check(ctx, s); err != nil {
				return false, err
			}
		}
		w.m, w.p.Shards, w.p.Kept = *old, len(old.Shards), len(old.Shards)
		w.skip = old.Documents
		return name == data.ManifestName, nil
	}
	return false, nil
}

// job is a document on its way through a thread.
type job struct {
	doc  corpus.Document
	name string
	file int // the number of files that are read when this document is
	ids  []int32
	err  error
	done chan struct{}
}

// all reads the files in order, encodes documents in threads, and writes in order.
func (w *writer) all(ctx context.Context, files []data.File, threads int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work, order := make(chan *job), make(chan *job, 4*threads)
	for range threads {
		go func() {
			for j := range work {
				w.encode(j)
				close(j.done)
			}
		}()
	}
	failed := make(chan error, 1)
	go func() {
		failed <- w.read(ctx, files, work, order)
		close(work)
		close(order)
	}()
	err := w.collect(ctx, order, files)
	if err == nil {
		err = <-failed
	} else { // who reads and encodes stops by itself, a document later at most, which may be a gigabyte of text
		cancel()
	}
	if err != nil {
		w.drop()
	}
	return err
}

// collect writes documents in order, until there are no more, one fails or ctx is done.
func (w *writer) collect(ctx context.Context, order <-chan *job, files []data.File) error {
	for {
		var j *job
		var more bool
		select {
		case j, more = <-order:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !more {
			return nil
		}
		select {
		case <-j.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := w.take(j, files); err != nil {
			return err
		}
	}
}

// read hands out the documents of all files but those that are in shards already.
func (w *writer) read(ctx context.Context, files []data.File, work, order chan<- *job) error {
	n := int64(0)
	for i, f := range files {
		err := corpus.Read(f.Path, corpus.Columns{Text: w.o.Column, Record: w.o.Chat != nil}, func(d corpus.Document) error {
			if n++; n <= w.skip {
				return ctx.Err()
			}
			j := &job{doc: d, name: f.Path, file: i, done: make(chan struct{})}
			select {
			case order <- j:
			case <-ctx.Done():
				return ctx.Err()
			}
			select {
			case work <- j:
			case <-ctx.Done():
				return ctx.Err()
			}
			return nil
		})
		if err != nil {
			if errors.Is(err, context.Canceled) {
				return err
			}
			return &FileError{f.Path, err}
		}
	}
	if n < w.skip {
		return fmt.Errorf("%s has shards of %d documents, and the files have %d", w.o.Dir, w.skip, n)
	}
	return nil
}

// FileError is a file whose text cannot be used.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *FileError) Unwrap() error { return e.Err }

func (w *writer) encode(j *job) {
	if w.o.Chat != nil {
		w.encodeChat(j)
		return
	}
	if j.doc.Tokens != nil {
		j.ids = j.doc.Tokens
		for _, id := range j.ids {
			if int(id) >= w.m.Vocab {
				j.err = &FileError{j.name, fmt.Errorf("the token %d is not below %d, the tokenizer's number of tokens", id, w.m.Vocab)}
				return
			}
		}
	} else if j.ids, j.err = w.o.Tokenizer.Encode(j.doc.Text); j.err != nil {
		j.err = &FileError{j.name, j.err}
	}
	if len(j.ids) > 0 && w.separator >= 0 {
		j.ids = append(j.ids, w.separator)
	}
}
