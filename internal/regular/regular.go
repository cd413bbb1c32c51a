package regular

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Error says that a path leads to something that is no regular file.
type Error struct{ Mode fs.FileMode }

func (e *Error) Error() string {
	return "it is " + Kind(e.Mode) + ", and a regular file is expected"
}

// Kind names what has that mode, with an article: a folder, a FIFO.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO (a pipe)"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeCharDevice != 0:
		return "a character device"
	case mode&fs.ModeDevice != 0:
		return "a block device"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "no file that can be read"
}

// Open opens a regular file for reading; links are followed. It never waits. An
// error is an *fs.PathError, whose cause is an *Error if the path leads to
// something else.
func Open(path string) (*os.File, error) {
	return open(path, os.Stat, os.OpenFile)
}

// OpenIn does the same for a name in an open folder, outside of which it does
// not lead.
func OpenIn(dir *os.Root, name string) (*os.File, error) {
	return open(name, dir.Stat, dir.OpenFile)
}

func open(path string, stat func(string) (fs.FileInfo, error), openFile func(string, int, fs.FileMode) (*os.File, error)) (*os.File, error) {
	// Asked before it is opened, since to open a device may do something; and
	// again afterwards, since the name may have gone to another file meanwhile.
	st, err := stat(path)
	if err != nil {
		return nil, err
	}
	if err := check(path, st); err != nil {
		return nil, err
	}
	f, err := openFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if st, err = f.Stat(); err == nil {
		err = check(path, st)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func check(path string, st fs.FileInfo) error {
	if st.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: &Error{st.Mode()}}
}

// ReadAll reads the rest of a file that is to have at most limit bytes.
func ReadAll(f *os.File, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("it is longer than %d bytes", limit)}
	}
	return text, err
}
