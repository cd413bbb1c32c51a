package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// File is a temporary file, most often beside its destination.
type File struct {
	*os.File
	path string // as the caller gave it, for errors
	dest string // what the file replaces: path, with links followed
	copy bool   // dest is a device or a pipe: written to, not replaced
	done bool
}

// Create starts a file that Commit will put at path. The temporary file is in
// the same folder, since a rename cannot cross file systems. Unlike a file of
// os.CreateTemp it has the permissions of any new file.
//
// A link stays a link: what it leads to is replaced. A device or a pipe gets
// the bytes at Commit. A folder is an error. Errors name path, not the
// temporary file.
func Create(path string) (*File, error) {
	file := &File{path: path, dest: path}
	if p, err := filepath.EvalSymlinks(path); err == nil {
		file.dest = p
	}
	dir, base := filepath.Split(file.dest)
	if st, err := os.Stat(file.dest); err == nil {
		switch {
		case st.IsDir():
			return nil, file.error(errFolder)
		case !st.Mode().IsRegular():
			file.copy, dir = true, os.TempDir()
		}
	}
	for i := 0; ; i++ {
		name := filepath.Join(dir, fmt.Sprintf(".%s.tmp-%d-%d", base, os.Getpid(), i))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			file.File = f
			return file, nil
		}
		if !errors.Is(err, fs.ErrExist) || i == maxTemps {
			return nil, file.error(err)
		}
	}
}

// maxTemps bounds the search for a free name; a name is taken by another file
// of this process, or left by a killed one that had its number.
const maxTemps = 1000

var errFolder = errors.New("it is a folder")

// error gives a failure of the system the name of the destination.
func (f *File) error(err error) error {
	if err == nil {
		return nil
	}
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	}
	return &fs.PathError{Op: "write", Path: f.path, Err: err}
}

// Commit puts the file on disk and then in its place. If it fails, it aborts.
func (f *File) Commit() error {
	if f.done {
		return fs.ErrClosed
	}
	if f.copy {
		defer f.Abort()
		return f.error(f.deliver())
	}
	err := f.Sync()
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), f.dest)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to tell
		f.done = true
		return f.error(err)
	}
	f.done = true
	return SyncDir(filepath.Dir(f.dest))
}

// deliver copies the bytes to a device or a pipe.
func (f *File) deliver() error {
	to, err := os.OpenFile(f.dest, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer to.Close()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(to, f.File); err != nil {
		return err
	}
	return to.Close()
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
