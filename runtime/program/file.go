package program

import (
	"errors"
	"io"
	"io/fs"

	"ptc/internal/regular"
)

// FileError says which file cannot be read, and why.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap gives the cause: one of Decode's, or of the system.
func (e *FileError) Unwrap() error { return e.Err }

func fileError(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) { // names the path as well
		err = p.Err
	}
	return &FileError{path, err}
}

// ReadFile reads and decodes a plan. Every error is a *FileError.
func ReadFile(path string) (*Plan, error) {
	p, _, err := Read(path)
	return p, err
}

// Read is ReadFile, and gives the bytes of the plan as well.
func Read(path string) (*Plan, []byte, error) {
	data, err := ReadBytes(path)
	if err != nil {
		return nil, nil, err
	}
	p, err := Decode(data)
	if err != nil {
		return nil, nil, &FileError{path, err}
	}
	return p, data, nil
}

// ReadBytes reads the bytes of a plan, for Decode. What does not begin as a plan
// is not read further. Every error is a *FileError.
func ReadBytes(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	defer f.Close()
	// A long text is not read to its end.
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
