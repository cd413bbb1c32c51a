package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"ptc/compiler"
	"ptc/editor/analysis"
	"ptc/editor/query"
	"ptc/editor/text"
	"ptc/lang/source"
	"ptc/runtime/checkpoint/atomicfile"
	"ptc/stdlib"
)

// document is an open one.
type document struct {
	uri     string
	path    string // in the file system; empty for one that is in none
	version int
	text    *text.Text
}

// state is a program with an open document as its main file, as of the last edit of any
// document. done is closed when program is set, compiled when structure is; either is
// nil where an edit ended it.
type state struct {
	main      *document
	cancel    context.CancelFunc
	done      chan struct{}
	program   *analysis.Program
	bug       error // of ours, for which there is none
	compiled  chan struct{}
	structure *analysis.Structure
	// good is the last program without mistakes of syntax, which stands in for one with.
	good *analysis.Program
}

// pathOf is the path of a file: URI, or empty.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	p := u.Path
	if runtime.GOOS == "windows" {
		p = strings.TrimPrefix(p, "/")
	}
	return filepath.Clean(filepath.FromSlash(p))
}

// uriOf is the file: URI of a path.
func uriOf(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// update makes the programs of all open documents anew, after an edit; s.mu is held.
func (s *server) update() {
	old := s.programs
	s.programs = map[string]*state{}
	docs := slices.Collect(maps.Values(s.docs))
	for uri, d := range s.docs {
		ctx, cancel := context.WithCancel(context.Background())
		n := &state{main: d, cancel: cancel, done: make(chan struct{}), compiled: make(chan struct{})}
		if o := old[uri]; o != nil {
			n.good = o.good
			select {
			case <-o.done:
				if o.program != nil && !o.program.Broken && len(o.program.Seen) > 0 {
					n.good = o.program
				}
			default:
			}
		}
		s.programs[uri] = n
		layout := s.layout
		if y := s.layouts[uri]; y != "" {
			layout = y
		}
		go n.run(ctx, inputOf(d, docs, s.folders, layout, s.target), s.options.Delay)
	}
	for _, o := range old {
		o.cancel()
	}
	s.schedule()
}

// run checks the program, and compiles it once it was left alone for a while.
func (n *state) run(ctx context.Context, in analysis.Input, delay time.Duration) {
	_, n.bug = guarded(func() (any, error) {
		n.program = analysis.Check(ctx, in)
		return nil, nil
	})
	close(n.done)
	defer close(n.compiled)
	p := n.program
	if p == nil || len(p.Errs) > 0 || !p.Trains || p.Autos[p.Layout] {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-time.After(delay):
	}
	_, _ = guarded(func() (any, error) {
		n.structure = analysis.Compile(ctx, in, p.Layout)
		return nil, nil
	})
}

// inputOf is a program whose imports are read as they are in the editor, or else from
// below the folder that the editor has open.
func inputOf(d *document, docs []*document, folders []string, layout, target string) analysis.Input {
	in := analysis.Input{Name: d.uri, Text: d.text.String, Layout: layout, Target: target}
	if d.path == "" {
		in.Name = filepath.ToSlash(filepath.Base(d.uri))
		return in
	}
	dir := filepath.Dir(d.path)
	in.Name = filepath.Base(d.path)
	root := folderOf(dir, folders)
	disk, err := compiler.ImportsBelow(root, dir)
	in.Read = func(p string) ([]byte, error) {
		path := filepath.Join(dir, filepath.FromSlash(p))
		if !below(root, path) {
			return nil, source.ErrOutside
		}
		for _, o := range docs {
			if o.path == path {
				return []byte(o.text.String), nil
			}
		}
		if err != nil {
			return nil, err
		}
		return disk(p)
	}
	return in
}

// folderOf is the folder that a program in dir imports from, and from below it: the
// innermost of those that the editor has open, or else dir itself.
func folderOf(dir string, folders []string) string {
	root := ""
	for _, f := range folders {
		if below(f, dir) && len(f) > len(root) {
			root = f
		}
	}
	if root == "" {
		return dir
	}
	return root
}

// below is whether a path is a folder, or in it.
func below(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// uriOfFile is where an editor finds a file of a program.
func (s *server) uriOfFile(n *state, f *source.File) string {
	switch {
	case f.Std:
		return s.library(f.Name)
	case n.main.path == "" || f.Name == filepath.Base(n.main.path):
		return n.main.uri
	}
	path := filepath.Join(filepath.Dir(n.main.path), filepath.FromSlash(f.Name))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.docs {
		if d.path == path {
			return d.uri // as the editor writes it
		}
	}
	return uriOf(path)
}

// library writes a file of the standard library to where editors can read it, once, and
// gives its URI; empty where that cannot be.
func (s *server) library(name string) string {
	base := strings.TrimPrefix(name, source.StdPrefix)
	src, ok := stdlib.Read(strings.TrimSuffix(base, ".ptl"))
	if !ok || s.options.Library == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(src))
	path := filepath.Join(s.options.Library, hex.EncodeToString(sum[:4]), base)
	if now, err := os.ReadFile(path); err == nil && string(now) == src {
		return uriOf(path)
	}
	if err := writeOnce(path, src); err != nil {
		return ""
	}
	return uriOf(path)
}

func writeOnce(path, src string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write([]byte(src)); err != nil {
		return err
	}
	if err := f.Chmod(0o444); err != nil { // to be read, and not edited
		return err
	}
	return f.Commit()
}

// stateOf is the program that a document is shown as part of: its own, or, for modules
// that it trains nothing of, the first open one that imports it.
func (s *server) stateOf(ctx context.Context, uri string) (*state, *document, error) {
	s.mu.Lock()
	d, own := s.docs[uri], s.programs[uri]
	var others []*state
	for u, n := range s.programs {
		if u != uri {
			others = append(others, n)
		}
	}
	s.mu.Unlock()
	if d == nil {
		return nil, nil, fmt.Errorf("%s is not open", uri)
	}
	if err := own.wait(ctx); err != nil {
		return nil, nil, err
	}
	if own.program.Trains {
		return own, d, nil
	}
	sort.Slice(others, func(i, j int) bool { return others[i].main.uri < others[j].main.uri })
	for _, n := range others {
		if n.wait(ctx) == nil && n.program.Trains && n.fileAt(d.path) != nil {
			return n, d, nil
		}
	}
	return own, d, ctx.Err()
}

// wait waits for the program.
func (n *state) wait(ctx context.Context) error {
	select {
	case <-n.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if n.program == nil {
		if n.bug != nil {
			return n.bug
		}
		return errStale
	}
	return nil
}

// fileAt is the file of the program at a path.
func (n *state) fileAt(path string) *source.File {
	if n.program == nil || path == "" || n.main.path == "" {
		return nil
	}
	return fileIn(n.program, n.main, path)
}

func fileIn(p *analysis.Program, main *document, path string) *source.File {
	i := slices.IndexFunc(p.Files, func(f *source.File) bool {
		return !f.Std && filepath.Join(filepath.Dir(main.path), filepath.FromSlash(f.Name)) == path
	})
	if i < 0 {
		return nil
	}
	return p.Files[i]
}

// view is a document as it is now, in its program; of one with mistakes of syntax, in
// the last program without. With patience, it has what a compilation says.
func (s *server) view(ctx context.Context, uri string, compiled bool) (*query.View, error) {
	n, d, err := s.stateOf(ctx, uri)
	if err != nil {
		return nil, err
	}
	p := n.program
	if p.Broken && n.good != nil {
		p = n.good
	}
	v := s.viewOf(n, d, p)
	if compiled && p == n.program {
		select {
		case <-n.compiled:
			v.Structure = n.structure
		case <-time.After(s.options.Patience):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return v, nil
}

// mistaken is a document in the program whose mistakes are told, with those of the
// passes if they are known by now.
func (s *server) mistaken(ctx context.Context, uri string) (*query.View, error) {
	n, d, err := s.stateOf(ctx, uri)
	if err != nil {
		return nil, err
	}
	v := s.viewOf(n, d, n.program)
	select {
	case <-n.compiled:
		v.Structure = n.structure
	default:
	}
	return v, nil
}

// viewOf is a document in a program of n: the one of now, or an earlier one.
func (s *server) viewOf(n *state, d *document, p *analysis.Program) *query.View {
	v := &query.View{Program: p, File: p.Main, Now: d.text, URI: func(f *source.File) string { return s.uriOfFile(n, f) }}
	if d != n.main {
		v.File = fileIn(p, n.main, d.path)
	}
	v.Text = func(f *source.File) *text.Text {
		s.mu.Lock()
		defer s.mu.Unlock()
		if f.Std || n.main.path == "" {
			return nil
		}
		path := filepath.Join(filepath.Dir(n.main.path), filepath.FromSlash(f.Name))
		for _, o := range s.docs {
			if o.path == path {
				return o.text
			}
		}
		return nil
	}
	return v
}
