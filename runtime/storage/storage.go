package storage

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ptc/internal/regular"
)

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Closer
	Size() int64
}

// Object is a file that a pattern matched.
type Object struct {
	Place string
	Rel   string // below the pattern's base
	Size  int64
}

// scheme begins the place of an object.
const scheme = "s3://"

// Remote says whether a place is not on this machine.
func Remote(place string) bool { return strings.HasPrefix(place, scheme) }

// Open opens a file.
func Open(place string) (File, error) {
	if Remote(place) {
		s, err := fromEnvironment()
		if err != nil {
			return nil, err
		}
		return s.open(place)
	}
	return Local(regular.Open(place))
}

// Local returns an open file of this machine, or the error of opening it.
func Local(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &local{f, st.Size()}, nil
}

// local is a file of this machine.
type local struct {
	*os.File
	size int64
}

func (l *local) Size() int64 { return l.size }

// Exists says whether there is such a file.
func Exists(place string) (bool, error) {
	if !Remote(place) {
		_, err := os.Stat(place)
		return err == nil, nil
	}
	return there(Open(place))
}

// Has asks the store for an object.
func (f *Folder) Has(name string) (bool, error) { return there(f.Open(name)) }

// there says whether a file could be opened, and closes it.
func there(f File, err error) (bool, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// Sibling returns the place of the file of that name in the folder of place.
func Sibling(place, name string) string {
	if Remote(place) {
		return place[:strings.LastIndexByte(place, '/')+1] + name
	}
	return filepath.Join(filepath.Dir(place), name)
}

// List lists the objects that a pattern matches, in the order of their names. What ends
// with / or names no object is a folder, and means all below it.
func List(pattern string) ([]Object, error) {
	s, err := fromEnvironment()
	if err != nil {
		return nil, err
	}
	return s.list(pattern)
}
