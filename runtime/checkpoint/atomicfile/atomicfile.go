package atomicfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"ptc/internal/regular"
)

// File is a temporary file, most often next to its destination.
type File struct {
	*os.File
	path string // as the caller gave it, for errors
	dest string // what the file replaces: path, with links followed
	copy bool   // dest is a device or a descriptor: written to, not replaced
	done bool
}

// Create starts a file that Commit will put at path. The temporary file is in
// the same folder, since a rename cannot cross file systems. Unlike a file of
// os.CreateTemp it has the permissions of any new file.
//
// A link stays a link: what it leads to is replaced. A character device, such as
// /dev/null, and what the process has open under a name such as /dev/stdout, get
// the bytes at Commit. A folder, a FIFO, a socket and a block device are errors:
// to open a FIFO would wait for a reader, who may come after hours of work or
// never. Errors name path, not the temporary file.
func Create(path string) (*File, error) {
	file := &File{path: path, dest: path}
	p, named := filepath.EvalSymlinks(path) // a descriptor's link leads to no name
	if named == nil {
		file.dest = p
	}
	dir, base := filepath.Split(file.dest)
	if st, err := os.Stat(file.dest); err == nil && !st.Mode().IsRegular() {
		isDescriptor := named != nil && st.Mode()&fs.ModeNamedPipe != 0
		if st.Mode()&fs.ModeCharDevice == 0 && !isDescriptor {
			return nil, file.error(&regular.Error{Mode: st.Mode()})
		}
		file.copy, dir = true, os.TempDir()
	}
	for i := 0; ; i++ {
		name := filepath.Join(dir, fmt.Sprintf(".%s"+tempMark+"%d-%d", base, os.Getpid(), i))
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

// tempMark is in the name of a temporary file, behind that of what it becomes.
const tempMark = ".tmp-"

// Temporary says whether a name, without its folder, is that of a temporary file, as a
// killed process leaves it.
func Temporary(name string) bool {
	_, ok := TemporaryOf(name)
	return ok
}

// TemporaryOf gives the name of what a temporary file was to become.
func TemporaryOf(name string) (of string, ok bool) {
	at := strings.LastIndex(name, tempMark)
	if at < 1 || name[0] != '.' {
		return "", false
	}
	pid, number, ok := strings.Cut(name[at+len(tempMark):], "-")
	return name[1:at], ok && digits(pid) && digits(number)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// maxTemps bounds the search for a free name; a name is taken by another file
// of this process, or left by a killed one that had its number.
const maxTemps = 1000

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

// deliver copies the bytes to a device or a pipe. It does not wait for a reader
// of a pipe that has none.
func (f *File) deliver() error {
	to, err := os.OpenFile(f.dest, os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
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

// WriteJSON writes a whole file with a value as indented JSON.
func WriteJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(path, append(text, '\n'))
}

// MkdirAll makes a folder and those above it that are missing, and makes their
// names last through a crash: each folder that got a new name in it is synced, up
// to the first that was there.
func MkdirAll(dir string) error {
	if st, err := os.Stat(dir); err == nil {
		if !st.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		if st, e := os.Stat(dir); e != nil || !st.IsDir() {
			return err
		} // else another process was faster
	}
	return SyncDir(parent)
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
	return SyncOpenDir(d)
}

// SyncOpenDir is SyncDir for a folder that is open.
func SyncOpenDir(d *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err // EINVAL: a file system whose folders need no sync
	}
	return nil
}
