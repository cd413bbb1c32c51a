package folderlock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"ptc/internal/regular"
	"ptc/runtime/checkpoint/atomicfile"
)

// Name is the file whose lock reserves its folder. The system releases the lock when the process ends;
// the file may stay.
const Name = ".lock"

// Lock is a lock that this process has.
type Lock struct {
	Real bool // else the file system has no locks

	file *os.File
	path string
	made []string // folders that Take made, the deepest first
}

// HeldError says who has the lock of a folder.
type HeldError struct{ By string }

func (e *HeldError) Error() string { return e.By + " is using it" }

// Holder is what the file of a lock says, for people.
type Holder struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

// Self is this process.
func Self() Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Holder{host, os.Getpid()}
}

func (h Holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d on host %s", h.PID, hostText(h.Host))
}

// hostText is the name of a host for a terminal, whatever a lock says.
func hostText(s string) string {
	const most = 80
	if len(s) > most || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.QuoteToASCII(s[:min(most, len(s))])
	}
	return s
}

// errHeld is of a lock that another process has.
var errHeld = errors.New("locked")

// tries bounds how often a folder is made anew that others remove.
const tries = 1000

// Take makes the folder and takes its lock, which try does to an open file: Try, or a test's. A process that
// made the folder and left nothing in it removes it at its end, which may be now: then it is made again.
// Where the file system has no locks, the lock is not real.
func Take(dir string, try func(*os.File) error) (l *Lock, err error) {
	for range tries {
		if l, err = takeOnce(dir, try); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return l, err
}

func takeOnce(dir string, try func(*os.File) error) (*Lock, error) {
	made := missing(dir)
	if err := atomicfile.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("ptc cannot create the folder: %w", err)
	}
	path := filepath.Join(dir, Name)
	for {
		f, err := open(path)
		if err != nil {
			return nil, err
		}
		err = try(f)
		switch {
		case errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK):
			return &Lock{file: f, path: path, made: made}, nil
		case errors.Is(err, errHeld):
			by := holderOf(f)
			_ = f.Close()
			return nil, &HeldError{by.String()}
		case err == nil && !leadsTo(path, f): // who had it has removed it
			_ = f.Close()
			continue
		}
		if err == nil {
			err = sign(f)
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		return &Lock{Real: true, file: f, path: path, made: made}, nil
	}
}

// open opens or makes the file of a lock. It does not wait for what is no file.
func open(path string) (*os.File, error) {
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: &regular.Error{Mode: st.Mode()}}
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o666)
}

// leadsTo says whether a path is that of an open file.
func leadsTo(path string, f *os.File) bool {
	st, err := os.Lstat(path)
	if err != nil {
		return false
	}
	open, err := f.Stat()
	return err == nil && os.SameFile(st, open)
}

// sign writes who has the lock.
func sign(f *os.File) error {
	text, err := json.Marshal(Self())
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(text, '\n'), 0)
	}
	return err
}

// holderOf reads who has the lock. Who took it a moment ago may not have signed
// yet.
func holderOf(f *os.File) (h Holder) {
	for range 20 {
		text := make([]byte, 512)
		n, _ := f.ReadAt(text, 0)
		if json.Unmarshal(text[:n], &h) == nil && h.PID > 0 {
			return h
		}
		time.Sleep(5 * time.Millisecond)
	}
	return Holder{}
}

// Leads says whether the lock is the one that others would meet: the folder may have been removed.
func (l *Lock) Leads() bool { return leadsTo(l.path, l.file) }

// Release gives the folder back, and removes the folders that Take made if nothing is in them.
func (l *Lock) Release() {
	if l.Leads() {
		_ = os.Remove(l.path) // while it is locked: who opened it meanwhile looks again
	}
	_ = l.file.Close()
	for _, dir := range l.made {
		st, err := os.Lstat(dir)
		if err != nil || !st.IsDir() || os.Remove(dir) != nil { // it has something, as after the first save, or is another's
			break
		}
	}
	l.made = nil
}

// Die ends the lock as the end of the process does, and removes nothing. It is for tests.
func (l *Lock) Die() { _ = l.file.Close() }

// missing are the folders of a path that are not there, the deepest first.
func missing(dir string) (out []string) {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return out
		}
		out = append(out, dir)
	}
}
