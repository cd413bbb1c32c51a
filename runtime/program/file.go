package program

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// FileError says which file cannot be read or written, and why.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap gives the cause: one of Decode's, or of the system.
func (e *FileError) Unwrap() error { return e.Err }

func fileError(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) { // names a path of its own, maybe the temporary one
		err = p.Err
	}
	return &FileError{path, err}
}

// ReadFile reads and decodes a plan. Every error is a *FileError.
func ReadFile(path string) (*Plan, error) {
	data, err := ReadBytes(path)
	if err != nil {
		return nil, err
	}
	p, err := Decode(data)
	if err != nil {
		return nil, &FileError{path, err}
	}
	return p, nil
}

// ReadBytes reads the bytes of a plan, for Decode. What does not begin as a plan
// is not read further. Every error is a *FileError.
func ReadBytes(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, &FileError{path, errors.New("is a folder, not a plan")}
	}
	// A text or a device is not read to its end.
	head := make([]byte, len(magic))
	if n, err := io.ReadFull(f, head); err == nil && string(head[:n]) != magic {
		return nil, &FileError{path, ErrNotPlan}
	} else if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fileError(path, err)
	} else {
		head = head[:n]
	}
	rest, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, fileError(path, err)
	}
	return append(head, rest...), nil
}

// WriteFile encodes a plan and puts it at path as a whole: whatever fails, what
// was there remains. Every error is a *FileError.
func WriteFile(path string, p *Plan) error {
	data, err := Encode(p)
	if err != nil {
		return &FileError{path, err}
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		return writeThrough(path, data)
	}
	if err := replace(path, data); err != nil {
		return fileError(path, err)
	}
	return nil
}

// writeThrough writes to what is no file and must not become one, such as
// /dev/stdout.
func writeThrough(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fileError(path, err)
	}
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fileError(path, err)
	}
	return nil
}

// replace writes a new file beside path, puts it on disk and renames it.
func replace(path string, data []byte) (err error) {
	f, err := createBeside(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name()) // the first error is the one to tell
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// createBeside makes a file of its own in the folder of path, since a rename
// cannot cross file systems; unlike os.CreateTemp with the permissions of any
// new file.
func createBeside(path string) (*os.File, error) {
	const tries = 1000
	dir, base := filepath.Split(path)
	for i := 0; ; i++ {
		name := filepath.Join(dir, fmt.Sprintf(".%s.tmp-%d-%d", base, os.Getpid(), i))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil || !errors.Is(err, fs.ErrExist) || i == tries {
			return f, err
		}
	}
}

// syncFolder makes the new name last through a crash, where the system can. The
// file is whole either way, so that failing is no error.
func syncFolder(dir string) {
	if runtime.GOOS == "windows" {
		return
	}
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
