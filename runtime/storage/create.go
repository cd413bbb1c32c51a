package storage

import (
	"io"
	"path"
	"path/filepath"
	"strings"

	"ptc/runtime/checkpoint/atomicfile"
)

// Output is a file that is being written. It is at its place, whole, once Commit returns without
// an error, and what was there before is untouched until then; Abort may be deferred.
type Output interface {
	io.WriterAt
	Commit() error
	Abort()
}

// Create starts a file of about size bytes. An object of a store has to be written from its start
// to its end.
func Create(place string, size int64) (Output, error) {
	if !Remote(place) {
		f, err := atomicfile.Create(place)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	f, name, err := oneObject(place)
	if err != nil {
		return nil, err
	}
	return f.Create(name, size, false), nil
}

// oneObject is the folder and the name of one object.
func oneObject(place string) (*Folder, string, error) {
	name := Base(place)
	if strings.HasSuffix(place, "/") || name == "" {
		return nil, "", &Error{Msg: "an object is s3://bucket/key, and this names none"}
	}
	f, err := OpenFolder(Parent(place))
	return f, name, err
}

// Probe finds out whether a file could be written to a place.
func Probe(place string) error {
	if !Remote(place) {
		f, err := atomicfile.Create(place)
		if err != nil {
			return err
		}
		f.Abort()
		return nil
	}
	f, name, err := oneObject(place)
	if err != nil {
		return err
	}
	u := f.Create(name, 0, false)
	u.s = f.s // not patient: nothing is lost yet
	defer u.Abort()
	return u.begin()
}

// Join is the place of something below another.
func Join(place string, names ...string) string {
	if Remote(place) {
		return scheme + path.Join(append([]string{place[len(scheme):]}, names...)...)
	}
	return filepath.Join(append([]string{place}, names...)...)
}

// Base is the last name of a place.
func Base(place string) string {
	if Remote(place) {
		_, key, _ := strings.Cut(place[len(scheme):], "/")
		if key = strings.Trim(path.Clean("/"+key), "/"); key == "" {
			return ""
		}
		return path.Base(key)
	}
	return filepath.Base(place)
}

// Parent is the place that another is in.
func Parent(place string) string {
	if Remote(place) {
		return scheme + path.Dir(path.Clean(place[len(scheme):]))
	}
	return filepath.Dir(place)
}
