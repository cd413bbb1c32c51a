package data

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"golang.org/x/sync/errgroup"

	"ptc/internal/processors"
	"ptc/internal/units"
	"ptc/runtime/storage"
)

// verifyAtOnce is the bytes of shards that are hashed before the first step: some seconds of work. What is
// beyond is hashed while the run goes on, which ends if a shard is wrong.
const verifyAtOnce = 4 << 30

// prepared is a shard that a manifest lists.
type prepared struct {
	store *store
	path  string
	Shard
}

// verifyShards holds the files that "ptc data prepare" has written to the manifest next to them: type, length
// and SHA-256, and one tokenizer for all. A file that the manifest does not list is of something else. Of shards
// in an object store lengths are compared alone, as all of each would have to be fetched.
func verifyShards(files []textFile, stores []*store, dtype string) error {
	manifests := map[string]*Manifest{}
	var first *Manifest
	var list []prepared
	for i, f := range files {
		s := stores[i]
		if !s.bare || needsSpool(f) {
			continue
		}
		m, err := siblingManifest(f, manifests, dtype)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		if first == nil {
			first = m
		}
		if m.Tokenizer != first.Tokenizer {
			return &Error{Path: s.name, Msg: fmt.Sprintf("its tokens are of another tokenizer than those of %s, as the manifests next to them say", stores[0].name),
				Hint: "prepare both with one tokenizer"}
		}
		p := prepared{store: s, path: f.path}
		if err := p.find(m, dtype); err != nil {
			return err
		}
		if p.SHA256 != "" && !storage.Remote(f.path) {
			list = append(list, p)
		}
	}
	return hashShards(list, verifyAtOnce)
}

// siblingManifest reads each manifest once. One of another program, where the user says what the numbers are, is none.
func siblingManifest(f textFile, read map[string]*Manifest, dtype string) (*Manifest, error) {
	path := storage.Sibling(f.path, manifestName)
	if m, ok := read[path]; ok {
		return m, nil
	}
	m, err := readManifest(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err != nil && dtype != "auto":
		m = nil
	case err != nil:
		return nil, &Error{Path: f.name, Msg: "the " + manifestName + " next to it cannot be used", Err: err}
	}
	read[path] = m
	return m, nil
}

// find looks for the shard in the manifest. A file that is not there may be any other if the user says what it is.
func (p *prepared) find(m *Manifest, dtype string) error {
	name := storage.Base(p.path)
	for _, s := range m.Shards {
		if s.Name != name {
			continue
		}
		p.Shard = s
		switch have := p.store.n; {
		case p.store.number.name != m.DType:
			return &Error{Path: p.store.name, Msg: fmt.Sprintf("dtype = %s is given, and the %s next to it says %s", p.store.number.name, manifestName, m.DType), Hint: "leave dtype out"}
		case have != s.Tokens:
			return p.wrong(fmt.Sprintf("the file has %s, and the %s next to it says %s", units.Plural(int(have), "token"), manifestName, units.Plural(int(s.Tokens), "token")))
		}
		return nil
	}
	if dtype != "auto" || len(m.Shards) == 0 { // a manifest by hand, which says what the numbers are
		return nil
	}
	return &Error{Path: p.store.name, Msg: "the " + manifestName + " next to it does not list it, so nothing says what its tokens are", Hint: "leave it out, or move it to another folder"}
}

// wrong is an error of a shard that is not what was written.
func (p *prepared) wrong(msg string) *Error {
	return &Error{Path: p.store.name, Msg: msg, Hint: "delete the folder and prepare it again"}
}

// hashShards compares the SHA-256 of shards: of the first ones, up to a number of bytes, before it returns, and
// of the others behind what goes on.
func hashShards(list []prepared, atOnce int64) error {
	var g errgroup.Group
	g.SetLimit(processors.Count())
	errs := make([]error, len(list)) // so that the first by order is reported
	for i, p := range list {
		if atOnce -= p.Tokens * int64(p.store.number.bytes); atOnce < 0 {
			go hashBehind(list[i:])
			break
		}
		g.Go(func() error {
			if err := p.hash(); err != nil {
				errs[i] = err
			}
			return nil
		})
	}
	_ = g.Wait() // no function has an error
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// hashBehind leaves what is wrong with a shard where its tokens are read.
func hashBehind(list []prepared) {
	for _, p := range list {
		if err := p.hash(); err != nil {
			for _, q := range list {
				q.store.failed.Store(err)
			}
			return
		}
	}
}

// hash compares a file with what was written.
func (p *prepared) hash() *Error {
	h := sha256.New()
	_, err := io.CopyBuffer(h, io.NewSectionReader(p.store.file, 0, p.Tokens*int64(p.store.number.bytes)), make([]byte, 1<<20))
	if err != nil {
		return &Error{Path: p.store.name, Msg: "cannot read", Err: cause(err)}
	}
	if hex.EncodeToString(h.Sum(nil)) != p.SHA256 {
		return p.wrong("it is not what was written: its SHA-256 is not that of the " + manifestName + " next to it")
	}
	return nil
}

// unfinished refuses a file of a folder that is being prepared, or whose preparation was interrupted.
func unfinished(f textFile) error {
	there, err := storage.Exists(storage.Sibling(f.path, PartialName))
	if err != nil {
		return &Error{Path: f.name, Msg: "cannot look for " + PartialName + " next to it", Err: cause(err)}
	}
	if there {
		return &Error{Path: f.name, Msg: "its folder is not whole: `ptc data prepare` is at work there, or was interrupted", Hint: "wait, or run the same `ptc data prepare` again, which goes on"}
	}
	return nil
}
