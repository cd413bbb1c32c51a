package checkpoint

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

// lockName is the file whose lock says that a process saves into the folder. The
// system releases the lock when the process ends, however it ends; the file may
// stay, and means nothing then.
const lockName = ".lock"

// lock is a lock on an open file.
type lock struct {
	file *os.File
	real bool // else the file system has no locks
}

// holder is what the file of a lock says, for people.
type holder struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

func (h holder) String() string {
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

// Lock makes the folder and reserves it for what this process saves, until
// Unlock. Another process that has it is an *Error that names it. Then it clears
// away what a killed run has left unfinished. Where the file system has no locks,
// a warning says so and nothing is cleared away: each save has temporary names of
// its own and appears whole, yet two runs would remove each other's checkpoints.
// A folder of an object store is taken over from who has it, see objects.
func (s *Store) Lock() error {
	p, err := s.place()
	if err != nil {
		return &Error{Dir: s.Dir, Msg: "cannot be locked", Err: err}
	}
	if p.locked() {
		return nil
	}
	if err := p.take(); err != nil {
		return err
	}
	s.sequence, s.replaced, s.known = 0, nil, map[string]int64{}
	if err := s.ready(p); err != nil {
		s.Unlock()
		return &Error{Dir: s.Dir, Msg: "cannot be prepared", Err: err}
	}
	return nil
}

// ready puts the folder in order, and finds out what it has.
func (s *Store) ready(p place) error {
	if err := p.tidy(); err != nil {
		return err
	}
	entries, err := s.List()
	if err != nil {
		return err
	}
	for _, e := range entries {
		s.sequence = max(s.sequence, e.Sequence)
		s.known[e.Dir] = e.Sequence
		if s.Overwrite {
			s.replaced = append(s.replaced, e.Dir)
		}
	}
	return nil
}

// takeTries bounds how often a folder is made anew that others remove.
const takeTries = 1000

// take makes the folder and takes its lock. A run that made the folder and saved nothing removes
// it at its end, which may be now: then it is made again.
func (d disk) take() (err error) {
	for range takeTries {
		if err = d.takeOnce(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

func (d disk) takeOnce() error {
	d.made = missing(d.Dir)
	if err := atomicfile.MkdirAll(d.Dir); err != nil {
		return &Error{Dir: d.Dir, Msg: "cannot be made", Err: err}
	}
	l, err := d.Store.take()
	if err != nil {
		return err
	}
	d.lock = l
	return nil
}

// tidy clears away what a killed run has left.
func (d disk) tidy() error {
	if d.lock.real {
		return errors.Join(d.removeLeftovers(), d.finishReplacing())
	}
	d.warn("the file system of %s has no locks: make sure that no other run saves there", d.Dir)
	return nil
}

func (d disk) locked() bool { return d.lock != nil }

// take takes the lock.
func (s *Store) take() (*lock, error) {
	path := filepath.Join(s.Dir, lockName)
	for {
		f, err := openLock(path)
		if err != nil {
			return nil, &Error{Dir: s.Dir, Msg: "cannot be locked", Err: err}
		}
		err = s.step("lock the folder", func() error { return tryLock(f) })
		switch {
		case errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK):
			return &lock{file: f}, nil
		case errors.Is(err, errHeld):
			by := holderOf(f)
			_ = f.Close()
			return nil, &Error{Dir: s.Dir, Msg: "is in use", Err: &HeldError{by.String()}}
		case err == nil && !leadsTo(path, f): // who had it has removed it
			_ = f.Close()
			continue
		}
		if err == nil {
			err = sign(f)
		}
		if err != nil {
			_ = f.Close()
			return nil, &Error{Dir: s.Dir, Msg: "cannot be locked", Err: err}
		}
		return &lock{f, true}, nil
	}
}

// HeldError says who saves into a folder.
type HeldError struct{ By string }

func (e *HeldError) Error() string { return e.By + " saves into it" }

// openLock opens or makes the file of a lock. It does not wait for what is no
// file.
func openLock(path string) (*os.File, error) {
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
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	text, err := json.Marshal(holder{host, os.Getpid()})
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
func holderOf(f *os.File) (h holder) {
	for range 20 {
		text := make([]byte, 512)
		n, _ := f.ReadAt(text, 0)
		if json.Unmarshal(text[:n], &h) == nil && h.PID > 0 {
			return h
		}
		time.Sleep(5 * time.Millisecond)
	}
	return holder{}
}

// stillLocked finds out whether the lock is the one that others would meet. If
// the folder was removed during the run, it is made and locked again.
func (s *Store) stillLocked() (place, error) {
	p, err := s.place()
	if err != nil {
		return nil, &Error{Dir: s.Dir, Msg: "cannot be used", Err: err}
	}
	if !p.locked() {
		return nil, &Error{Dir: s.Dir, Msg: "is not locked"}
	}
	mine, err := p.mine()
	if err != nil {
		return nil, &Error{Dir: s.Dir, Msg: "cannot be saved into any more", Err: err}
	}
	if mine {
		return p, nil
	}
	s.Unlock()
	known := s.known
	err = s.Lock()
	s.replaced, s.known = nil, known // of the folder that there is now, nothing else is this run's to replace
	return p, err
}

func (d disk) mine() (bool, error) { return leadsTo(filepath.Join(d.Dir, lockName), d.lock.file), nil }

// Unlock ends what Lock began. It may be called without.
func (s *Store) Unlock() {
	if p, err := s.place(); err == nil && p.locked() {
		p.release()
	}
}

func (d disk) release() {
	if path := filepath.Join(d.Dir, lockName); leadsTo(path, d.lock.file) {
		_ = os.Remove(path) // while it is locked: who opened it meanwhile looks again
	}
	_ = d.lock.file.Close()
	d.lock = nil
	for _, dir := range d.made {
		st, err := os.Lstat(dir)
		if err != nil || !st.IsDir() || os.Remove(dir) != nil { // it has something, as after the first save, or is another's
			break
		}
	}
	d.made = nil
}

// missing are the folders of a path that are not there, the deepest first.
func missing(dir string) (out []string) {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return out
		}
		out = append(out, dir)
	}
}
