package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// File is a temporary file beside its destination.
type File struct {
	*os.File
	path string
	done bool
}

// Create starts a file that Commit will put at path. The temporary file is in
// the same folder, since a rename cannot cross file systems. Unlike a file of
// os.CreateTemp it has the permissions of any new file.
func Create(path string) (*File, error) {
	dir, base := filepath.Split(path)
	for i := 0; ; i++ {
		name := filepath.Join(dir, fmt.Sprintf(".%s.tmp-%d-%d", base, os.Getpid(), i))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			return &File{File: f, path: path}, nil
		}
		if !errors.Is(err, fs.ErrExist) || i == maxTemps {
			return nil, err
		}
	}
}

// maxTemps bounds the search for a free name; a name is taken by another file
// of this process, or left by a killed one that had its number.
const maxTemps = 1000

// Commit puts the file on disk and then in its place. If it fails, it aborts.
func (f *File) Commit() error {
	if f.done {
		return fs.ErrClosed
	}
	err := f.Sync()
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to tell
		f.done = true
		return err
	}
	f.done = true
	return SyncDir(filepath.Dir(f.path))
}

// Abort removes the temporary file; after Commit or Abort it does nothing, so
// that it can be deferred.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// WriteFile writes a whole file.
func WriteFile(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// SyncDir makes the names in a folder last through a crash, where the system
// can do that.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be opened for this
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err // EINVAL: a file system whose folders need no sync
	}
	return nil
}
