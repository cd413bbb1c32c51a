package tree

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// File is a file, or, where Mode says so, a folder. Only folders that need a mode or
// an owner of their own are in a tree; others follow from the paths.
type File struct {
	Path  string // with slashes, relative
	Mode  fs.FileMode
	Owner int // number of user and group
	Data  []byte
}

// Tree is files in any order.
type Tree []File

// Read takes the files below dir that match one of the patterns of [path.Match], with
// mode 0644.
func Read(dir string, patterns ...string) (Tree, error) {
	var out Tree
	for _, p := range patterns {
		names, err := fs.Glob(os.DirFS(dir), p)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s has no %s", dir, p)
		}
		for _, n := range names {
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(n)))
			if err != nil {
				return nil, err
			}
			out = append(out, File{Path: n, Mode: 0o644, Data: data})
		}
	}
	return out, nil
}

// Below gives the tree in a folder.
func (t Tree) Below(dir string) Tree {
	out := slices.Clone(t)
	for i := range out {
		out[i].Path = path.Join(dir, out[i].Path)
	}
	return out
}

// Entries are the files with all folders above them, sorted, each folder before what
// is in it.
func (t Tree) Entries() (Tree, error) {
	seen := map[string]bool{}
	var out Tree
	for _, f := range t {
		switch {
		case !fs.ValidPath(f.Path) || f.Path == ".":
			return nil, fmt.Errorf("%q is no path within an archive", f.Path)
		case seen[f.Path]:
			return nil, fmt.Errorf("%s is there twice", f.Path)
		}
		seen[f.Path] = true
		out = append(out, f)
	}
	for _, f := range t {
		for dir := path.Dir(f.Path); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			out = append(out, File{Path: dir, Mode: fs.ModeDir | 0o755})
		}
	}
	slices.SortFunc(out, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// Tar gives the tree as a tar archive in which everything has the time at.
func (t Tree) Tar(at time.Time) ([]byte, error) {
	entries, err := t.Entries()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range entries {
		h := &tar.Header{Name: f.Path, Mode: int64(f.Mode.Perm()), Uid: f.Owner, Gid: f.Owner, ModTime: at, Format: tar.FormatUSTAR,
			Typeflag: tar.TypeReg, Size: int64(len(f.Data))}
		if f.Mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if f.Mode.IsDir() {
			h.Name, h.Typeflag, h.Size = f.Path+"/", tar.TypeDir, 0
		}
		if f.Owner == 0 {
			h.Uname, h.Gname = "root", "root"
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Gzip gives the tree as a compressed tar archive.
func (t Tree) Gzip(at time.Time) ([]byte, error) {
	data, err := t.Tar(at)
	if err != nil {
		return nil, err
	}
	return Compress(data)
}

// Compress gives data in the format of gzip, without a name or a time.
func Compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// WriteFolder replaces a folder by the tree.
func (t Tree) WriteFolder(dir string) error {
	entries, err := t.Entries()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, f := range entries {
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		if f.Mode.IsDir() {
			err = os.Mkdir(name, f.Mode.Perm())
		} else {
			err = os.WriteFile(name, f.Data, f.Mode.Perm())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Sums is the text of SHA256SUMS for the artifacts in a folder, which are its files,
// not those in folders below.
func Sums(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, e := range entries {
		if !e.Type().IsRegular() || e.Name() == "SHA256SUMS" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return []byte(b.String()), nil
}
