package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Store is the folder with the checkpoints of a run.
type Store struct {
	Dir string

	// Keep is how many checkpoints remain: 0 means DefaultKeep, less keeps all.
	Keep int

	// Warn, if set, is told what went wrong that can be done without.
	Warn func(message string)

	wrap func(io.WriterAt) io.WriterAt // puts a fault in, for tests
}

// DefaultKeep is how many checkpoints remain if nothing is said.
const DefaultKeep = 3

// ErrNone says that a folder has no checkpoint.
var ErrNone = errors.New("there is no checkpoint")

const (
	latestName = "latest"
	stepPrefix = "step-"
	tmpPrefix  = ".tmp-"
	oldSuffix  = ".old"
)

func stepName(step int64) string { return fmt.Sprintf("%s%08d", stepPrefix, step) }

// parseStep is the inverse of stepName.
func parseStep(name string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, stepPrefix)
	if !ok {
		return 0, false
	}
	step, err := strconv.ParseInt(digits, 10, 64)
	return step, err == nil && step >= 0 && stepName(step) == name
}

func (s *Store) warn(format string, args ...any) {
	if s.Warn != nil {
		s.Warn(fmt.Sprintf(format, args...))
	}
}

// Entry is a checkpoint in a store. Whether it is sound, Load says.
type Entry struct {
	Step int64
	Dir  string
}

// List gives the checkpoints, the newest first.
func (s *Store) List() ([]Entry, error) {
	names, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{Dir: s.Dir, Msg: "cannot list", Err: err}
	}
	var entries []Entry
	current := map[int64]bool{}
	for _, pass := range []string{"", oldSuffix} {
		for _, e := range names {
			name, ok := strings.CutSuffix(e.Name(), pass)
			step, isStep := parseStep(name)
			if ok && isStep && e.IsDir() && !current[step] {
				current[step] = true
				entries = append(entries, Entry{step, filepath.Join(s.Dir, e.Name())})
			}
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(b.Step, a.Step) })
	return entries, nil
}

// Latest loads the checkpoint that was saved last. If it is damaged, the
// warning says so, and the one before it is taken. A store without any gives
// ErrNone.
func (s *Store) Latest() (*Checkpoint, error) {
	entries, err := s.List()
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, &Error{Dir: s.Dir, Msg: "nothing to load", Err: ErrNone}
	}
	// The one saved last need not have the highest step: a run may have been
	// taken back to an older one.
	if step, ok := s.pointer(); !ok {
		s.warn("the file %s names no checkpoint; taking the highest step", filepath.Join(s.Dir, latestName))
	} else if i := slices.IndexFunc(entries, func(e Entry) bool { return e.Step <= step }); i >= 0 {
		if entries[i].Step != step {
			s.warn("checkpoint %s is gone; taking the one before it", filepath.Join(s.Dir, stepName(step)))
		}
		entries = entries[i:]
	} else {
		s.warn("checkpoint %s is gone; taking the highest step", filepath.Join(s.Dir, stepName(step)))
	}
	var errs []error
	for _, e := range entries {
		c, err := Load(e.Dir)
		if err == nil {
			for _, err := range errs {
				s.warn("%v; taking step %d instead", err, e.Step)
			}
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// pointer reads the file latest.
func (s *Store) pointer() (int64, bool) {
	f, err := os.Open(filepath.Join(s.Dir, latestName))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 256))
	if err != nil {
		return 0, false
	}
	return parseStep(strings.TrimSpace(string(text)))
}

// Resume loads what a person points at: a checkpoint's folder, which must be
// sound, or a store, of which the latest sound one is taken.
func Resume(path string, warn func(string)) (*Checkpoint, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, &Error{Dir: path, Msg: "cannot open", Err: err}
	}
	if !st.IsDir() {
		return nil, &Error{Dir: path, Msg: "is a file, and a checkpoint is a folder"}
	}
	_, isStep := parseStep(strings.TrimSuffix(filepath.Base(path), oldSuffix))
	if _, err := os.Lstat(filepath.Join(path, manifestName)); isStep || err == nil {
		return Load(path)
	}
	return (&Store{Dir: path, Warn: warn}).Latest()
}

// prune removes what is not to be kept, after step was saved and found sound.
// Steps above it are of a run that was taken back; they are left alone. Nothing
// here is worth failing a run for.
func (s *Store) prune(step int64) {
	keep := cmp.Or(s.Keep, DefaultKeep)
	entries, err := s.List()
	if err != nil {
		s.warn("%v", err)
		return
	}
	kept := 0
	for _, e := range entries {
		if e.Step > step {
			continue
		}
		if kept++; keep < 0 || kept <= keep {
			if !strings.HasSuffix(e.Dir, oldSuffix) {
				s.remove(e.Dir + oldSuffix)
			}
			continue
		}
		s.remove(e.Dir)
	}
}

// remove takes the name away first, so that what is half removed is not taken
// for a checkpoint.
func (s *Store) remove(dir string) {
	gone := filepath.Join(filepath.Dir(dir), tmpPrefix+filepath.Base(dir))
	err := os.Rename(dir, gone)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = os.RemoveAll(gone)
	}
	if err != nil {
		s.warn("checkpoint %s cannot be removed: %v", dir, err)
	}
}

// removeLeftovers removes what a killed run left half written or half removed.
func (s *Store) removeLeftovers() error {
	names, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		name, ok := strings.CutPrefix(e.Name(), tmpPrefix)
		_, isStep := parseStep(strings.TrimSuffix(name, oldSuffix))
		if ok && isStep || strings.HasPrefix(e.Name(), "."+latestName+".tmp-") {
			if err := os.RemoveAll(filepath.Join(s.Dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
