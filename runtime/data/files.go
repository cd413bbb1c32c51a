package data

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sync/errgroup"

	"ptc/internal/order"
	"ptc/internal/processors"
	"ptc/runtime/data/corpus"
	"ptc/runtime/storage"
)

// textFile is a file that a glob matched.
type textFile struct {
	path string // to open it
	name string // for errors: the path, or where that has values of variables, the pattern and rel
	rel  string // slash path below the glob's base: the same on every machine
	rank uint64 // hash of rel, for an order that is not alphabetical
	size int64  // bytes to read of it
	text []byte
	hash [sha256.Size]byte // of text
}

func newTextFile(glob, path, rel string, size int64) textFile {
	name := path
	if hasVariable(glob) {
		name = glob + ": " + rel
	}
	sum := sha256.Sum256([]byte(rel))
	return textFile{path: path, name: name, rel: rel, rank: binary.LittleEndian.Uint64(sum[:]), size: size}
}

// File is a file that a pattern matched.
type File struct {
	Path string // to open it
	Name string // below the pattern's base
	Size int64
}

// List returns the regular files that the patterns match, in the order of a
// source that has them.
func List(patterns []string) ([]File, error) {
	found, err := findFiles(patterns, nil, nil)
	if err != nil {
		return nil, err
	}
	out := make([]File, len(found))
	for i, f := range found {
		out[i] = File{Path: f.path, Name: f.rel, Size: f.size}
	}
	return out, nil
}

// findFiles lists the regular files that the globs match and the excludes,
// patterns on rel, do not: each once, by glob and then by rel, so that the order
// depends on neither the file system nor the place of the base.
func findFiles(globs, excludes []string, vars []Option) ([]textFile, error) {
	for _, x := range excludes {
		if !doublestar.ValidatePattern(x) {
			return nil, &Error{Path: x, Msg: "this exclude is not a valid pattern"}
		}
	}
	var files []textFile
	seen := map[string]bool{}
	for _, g := range globs {
		found, err := matchFiles(g, excludes, vars)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, &Error{Path: g, Msg: "no file matches",
				Hint: "a relative pattern starts at the current directory"}
		}
		for _, f := range found {
			abs, err := f.path, error(nil)
			if !storage.Remote(abs) {
				abs, err = filepath.Abs(f.path)
			}
			if err != nil {
				return nil, &Error{Path: f.name, Msg: "cannot resolve", Err: cause(err)}
			}
			if !seen[abs] {
				seen[abs] = true
				files = append(files, f)
			}
		}
	}
	return files, nil
}

// Files returns the paths that match the patterns, in the order in which a source reads them.
// The error is an *Error.
func Files(globs, excludes []string, vars []Option) ([]string, error) {
	files, err := findFiles(globs, excludes, vars)
	if err != nil {
		return nil, asError("files", err)
	}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.path)
	}
	return paths, nil
}

func matchFiles(glob string, excludes []string, vars []Option) ([]textFile, error) {
	expanded, err := expand(filepath.ToSlash(glob), vars)
	if err != nil {
		return nil, err
	}
	if storage.Remote(expanded) {
		return matchObjects(glob, expanded, excludes)
	}
	base, pattern := splitGlob(literal(expanded))
	if pattern == "" || !doublestar.ValidatePattern(pattern) {
		return nil, &Error{Path: glob, Msg: "this is not a valid pattern"}
	}
	if _, err := os.Stat(base); errors.Is(err, fs.ErrNotExist) {
		msg := "there is no such folder"
		if !hasVariable(glob) {
			msg = "there is no folder " + base
		}
		return nil, &Error{Path: glob, Msg: msg,
			Hint: "a relative pattern starts at the current directory"}
	}
	var files []textFile
	walk := func(rel string, d fs.DirEntry) error {
		if excluded(excludes, rel) {
			return nil
		}
		path := filepath.Join(base, filepath.FromSlash(rel))
		st, err := os.Stat(path) // through a link, unlike d
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a link to nowhere
		}
		if err != nil {
			return err
		}
		if st.Mode().IsRegular() { // opening a FIFO would wait for ever
			files = append(files, newTextFile(glob, path, rel, st.Size()))
		}
		return nil
	}
	err = doublestar.GlobWalk(os.DirFS(base), pattern, walk,
		doublestar.WithFilesOnly(), doublestar.WithNoFollow(), doublestar.WithFailOnIOErrors())
	if err != nil {
		return nil, &Error{Path: glob, Msg: "cannot list the files", Err: cause(err)}
	}
	slices.SortFunc(files, func(a, b textFile) int { return cmp.Compare(a.rel, b.rel) })
	return files, nil
}

func excluded(patterns []string, rel string) bool {
	return slices.ContainsFunc(patterns, func(x string) bool { return doublestar.MatchUnvalidated(x, rel) })
}

// matchObjects does the same for a pattern of objects in a store.
func matchObjects(glob, expanded string, excludes []string) (files []textFile, err error) {
	found, err := storage.List(expanded)
	if err != nil {
		return nil, &Error{Path: glob, Msg: "cannot list the objects", Err: err}
	}
	for _, o := range found {
		if !excluded(excludes, o.Rel) {
			files = append(files, newTextFile(glob, o.Place, o.Rel, o.Size))
		}
	}
	return files, nil
}

// limitFiles keeps files up to limit bytes in the order of their hashes, which
// samples a tree evenly, whereas its first files would all be in one folder. The
// last one is truncated. The order of the others does not change.
func limitFiles(files []textFile, limit int64) (kept []textFile, total int64) {
	for _, f := range files {
		total += f.size
	}
	if total <= limit {
		return files, total
	}
	take := make([]int64, len(files))
	for _, i := range order.By(len(files), func(a, b int) int { return cmp.Compare(files[a].rank, files[b].rank) }) {
		take[i] = min(files[i].size, limit)
		limit -= take[i]
	}
	for i, f := range files {
		if f.size = take[i]; f.size > 0 {
			kept = append(kept, f)
		}
	}
	return kept, total
}

// readFiles reads the text of all files and checks that it is text.
func readFiles(files []textFile) error {
	var g errgroup.Group
	g.SetLimit(max(4, processors.Count()))
	errs := make([]error, len(files)) // so that the first by order is reported
	for i := range files {
		g.Go(func() error {
			errs[i] = files[i].read()
			return nil
		})
	}
	g.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *textFile) read() error {
	r, err := storage.Open(f.path) // again, as the name may have changed hands since it was listed
	if err != nil {
		return &Error{Path: f.name, Msg: "cannot read", Err: cause(err)}
	}
	defer r.Close()
	text := make([]byte, f.size)
	n, err := io.ReadFull(r, text)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{Path: f.name, Msg: "cannot read", Err: cause(err)}
	}
	f.text = text[:n] // shorter if the file shrank since it was listed
	f.hash = sha256.Sum256(f.text)
	return checkText(f.name, f.text)
}

// cause drops the path of a system's error, which may have the value of a variable.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func checkText(path string, text []byte) error {
	if err := corpus.CheckText(text); err != nil {
		return &Error{Path: path, Msg: err.Error(), Hint: "narrow the pattern, or add an exclude"}
	}
	return nil
}
