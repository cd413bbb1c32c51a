package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ptc/runtime/checkpoint/folderlock"
	"ptc/runtime/storage"
)

// Store is the folder with the checkpoints of a run: one of this machine, or the
// objects below s3://bucket/key. To read it needs nothing; to save into it, it has
// to be locked.
type Store struct {
	Dir string

	// Keep is how many checkpoints remain: 0 means DefaultKeep, less keeps all.
	Keep int

	// KeepBest keeps the checkpoint with the lowest validation loss as well.
	KeepBest bool

	// Overwrite says that what Lock finds is to be replaced: it is removed when
	// the first new checkpoint is complete.
	Overwrite bool

	// Peers are the processes that open a checkpoint together; nil: this one does alone.
	Peers *Peers

	// Warn, if set, is told what went wrong that can be done without.
	Warn func(message string)

	lock     *folderlock.Lock // nil: not locked
	away     *objects         // where Dir is of an object store, once it is used
	sequence int64            // the highest number of a save into the folder
	replaced []string         // folders to remove after the first save

	// known are the checkpoints that this process may remove, by folder and number of the save: those that
	// Lock found, and its own. What appears otherwise is another's, or a listing was not whole before.
	known   map[string]int64
	strange bool // it was told that there are others

	// For tests: wrap puts a fault into writes, fault one before any other step; impatient does not wait for
	// folders of other hosts.
	wrap      func(io.WriterAt) io.WriterAt
	fault     func(step string) error
	impatient bool
}

// DefaultKeep is how many checkpoints remain if nothing is said.
const DefaultKeep = 3

// ErrNone says that a folder has no checkpoint.
var ErrNone = errors.New("there is no checkpoint")

const (
	stepPrefix = "step-"
	tmpPrefix  = ".tmp-"
)

// What the name of a checkpoint's folder may end with while another one takes its
// place, see publish.
const (
	newSuffix = ".new"
	oldSuffix = ".old"
)

func stepName(step int64) string { return fmt.Sprintf("%s%08d", stepPrefix, step) }

// parseName is the inverse of stepName and a suffix: one of those above, or the
// number that tells folders of one step in an object store apart, see free.
func parseName(name string) (step int64, suffix string, ok bool) {
	rest, ok := strings.CutPrefix(name, stepPrefix)
	if !ok {
		return 0, "", false
	}
	digits := rest
	if i := strings.IndexByte(rest, '.'); i >= 0 {
		digits, suffix = rest[:i], rest[i:]
	}
	step, err := strconv.ParseInt(digits, 10, 64)
	return step, suffix, err == nil && step >= 0 && stepName(step)+suffix == name && isSuffix(suffix)
}

func isSuffix(s string) bool {
	if s == "" || s == newSuffix || s == oldSuffix {
		return true
	}
	n, err := strconv.ParseInt(s[1:], 10, 64)
	return err == nil && n > 0 && numberSuffix(n) == s
}

func numberSuffix(n int64) string { return fmt.Sprintf(".%d", n) }

func (s *Store) warn(format string, args ...any) {
	if s.Warn != nil {
		s.Warn(fmt.Sprintf(format, args...))
	}
}

// Entry is a checkpoint in a store. Whether it is sound, Load says.
type Entry struct {
	Step int64
	Dir  string

	// Sequence counts the saves into the folder: the highest is the one saved
	// last. 0: an older program saved it. Where the manifest cannot be read,
	// it is what the steps make likely.
	Sequence int64

	// Valid is the validation loss of the checkpoint, nil where it is not known.
	Valid *float64
	// Data is the fingerprint of what the run was fed. Losses on other data do not compare.
	Data string

	readable bool // the manifest is
}

// Best is the checkpoint with the lowest validation loss on the data of the one saved last,
// of equal ones the one saved last; false where none has one.
func Best(entries []Entry) (best Entry, ok bool) {
	for _, e := range entries {
		if e.readable {
			return BestOn(e.Data, entries)
		}
	}
	return Entry{}, false
}

// BestOn is the best one on data with that fingerprint.
func BestOn(data string, entries []Entry) (best Entry, ok bool) {
	for _, e := range entries {
		if e.Valid != nil && e.Data == data && (!ok || *e.Valid < *best.Valid) {
			best, ok = e, true
		}
	}
	return best, ok
}

// List gives the checkpoints, the one saved last first, which need not have the
// highest step: a run may have been taken back to an older one.
func (s *Store) List() ([]Entry, error) {
	p, err := s.place()
	if err != nil {
		return nil, &Error{Dir: s.Dir, Msg: "cannot list", Err: err}
	}
	names, err := p.names()
	if err != nil {
		return nil, &Error{Dir: s.Dir, Msg: "cannot list", Err: err}
	}
	var entries []Entry
	for _, name := range names {
		step, _, ok := parseName(name)
		if !ok {
			continue
		}
		e := Entry{Step: step, Dir: storage.Join(s.Dir, name)}
		m, err := manifestOf(e.Dir)
		if storage.Fault(err) { // which says nothing of the checkpoint
			return nil, &Error{Dir: e.Dir, Msg: "cannot be read", Err: err}
		}
		if err == nil {
			e.Sequence, e.Valid, e.Data, e.readable = m.Sequence, m.Valid, m.Data, true
		}
		entries = append(entries, e)
	}
	likely(entries)
	slices.SortStableFunc(entries, newestFirst)
	return entries, nil
}

func manifestOf(dir string) (*manifest, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return readManifest(root)
}

// likely gives checkpoints whose manifest cannot be read the highest number of a
// save up to their step.
func likely(entries []Entry) {
	for i := range entries {
		e := &entries[i]
		if e.readable {
			continue
		}
		for _, other := range entries {
			if other.readable && other.Step <= e.Step {
				e.Sequence = max(e.Sequence, other.Sequence)
			}
		}
	}
}

// newestFirst orders by the number of the save. Those that cannot be read come
// before the one that they share a number with, so that they are noticed; what
// has no number is in order of its steps.
func newestFirst(a, b Entry) int {
	if a.Sequence == b.Sequence && a.Sequence > 0 && a.readable != b.readable {
		if a.readable {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(b.Sequence, a.Sequence), cmp.Compare(b.Step, a.Step))
}

// Latest loads the checkpoint that was saved last. If it is damaged, the
// warning says so, and the one before it is taken. A store without any gives
// ErrNone. Another process may save meanwhile. With Peers all processes call it, and
// get the same one.
func (s *Store) Latest() (*Checkpoint, error) {
	const tries = 20
	for try := 1; ; try++ {
		entries, err := s.List()
		if s.Peers != nil {
			err = s.agreeOn(entries, err)
		}
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			return nil, &Error{Dir: s.Dir, Msg: "nothing to load", Err: ErrNone}
		}
		c, errs, err := s.first(entries)
		if err != nil {
			return nil, err
		}
		if len(errs) > 0 && s.Peers == nil && try < tries && s.changed(entries) {
			if c != nil {
				_ = c.Close()
			}
			continue // what was found damaged may just have been replaced
		}
		if c == nil {
			return nil, errors.Join(errs...)
		}
		for _, err := range errs {
			s.warn("%v; taking step %d instead", err, c.Meta.Step)
		}
		if c.format == formatNoHash {
			s.warn("checkpoint %s was saved by an older ptc: its manifest has no hash, so that its seed and its names of axes are taken unchecked", c.Dir)
		}
		return c, nil
	}
}

// agreeOn fails on all processes where they see different checkpoints, or one sees none for an error.
func (s *Store) agreeOn(entries []Entry, err error) error {
	if err := s.Peers.Agree(err); err != nil {
		return err
	}
	var seen []byte
	for _, e := range entries {
		seen = fmt.Appendf(seen, "%q %d %v\n", storage.Base(e.Dir), e.Sequence, e.readable)
	}
	if err := s.Peers.same(seen, "sees other checkpoints there than rank 0: all processes need the same folder, on a disk that all see, or in an object store"); err != nil {
		return &Error{Dir: s.Dir, Msg: "nothing to load", Err: err}
	}
	return nil
}

// first loads the first checkpoint that is sound, and says what is wrong with
// those before it. That an object store cannot be read is no reason to go back to
// an older one.
func (s *Store) first(entries []Entry) (c *Checkpoint, wrong []error, err error) {
	for _, e := range entries {
		c, err := loadWith(e.Dir, s.Peers)
		if err == nil {
			return c, wrong, nil
		}
		if faulty(err) {
			return nil, nil, err
		}
		wrong = append(wrong, err)
	}
	return nil, wrong, nil
}

// changed says whether the folder has other checkpoints than were listed.
func (s *Store) changed(listed []Entry) bool {
	now, err := s.List()
	same := func(a, b Entry) bool {
		return a.Dir == b.Dir && a.Sequence == b.Sequence && a.readable == b.readable
	}
	return err == nil && !slices.EqualFunc(now, listed, same)
}
