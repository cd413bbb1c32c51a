package checkpoint

import (
	"errors"
	"fmt"
	"slices"

	"ptc/runtime/storage"
)

// Store is the folder with the checkpoints of a run: one of this machine, or the
// objects below s3://bucket/key. To read it needs nothing; to save into it, it has
// to be locked.
type Store struct {
	Dir string // not to be changed once the store was used

	// Keep is how many checkpoints remain: 0 means DefaultKeep, less keeps all.
	Keep int

	// KeepBest keeps the checkpoint with the lowest validation loss as well.
	KeepBest bool

	// Overwrite says that what Lock finds is to be replaced: it is removed when
	// the first new checkpoint is complete.
	Overwrite bool

	// Warn, if set, is told what went wrong that can be done without.
	Warn func(message string)

	at    place // once it is used
	saves saves
	hooks
}

// DefaultKeep is how many checkpoints remain if nothing is said.
const DefaultKeep = 3

// ErrNone says that a folder has no checkpoint.
var ErrNone = errors.New("there is no checkpoint")

func (s *Store) warn(format string, args ...any) {
	if s.Warn != nil {
		s.Warn(fmt.Sprintf(format, args...))
	}
}

// place is that of the store's folder.
func (s *Store) place() (place, error) {
	switch {
	case s.at != nil:
	case storage.Remote(s.Dir):
		f, err := storage.OpenFolder(s.Dir)
		if err != nil {
			return nil, err
		}
		s.at = &objects{lease: lease{hooks: &s.hooks, f: f}, dir: s.Dir, warn: s.warn}
	default:
		s.at = &disk{hooks: &s.hooks, dir: s.Dir, warn: s.warn}
	}
	return s.at, nil
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

// Latest loads the checkpoint that was saved last. If it is damaged, the
// warning says so, and the one before it is taken. A store without any gives
// ErrNone. Another process may save meanwhile.
func (s *Store) Latest() (*Checkpoint, error) { return s.latest(nil) }

// latest is Latest of several processes, which all call it and get the same one.
func (s *Store) latest(p *Peers) (*Checkpoint, error) {
	const tries = 20
	for try := 1; ; try++ {
		entries, err := s.List()
		if p != nil {
			err = p.agreeOn(s.Dir, entries, err)
		}
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 {
			return nil, &Error{Dir: s.Dir, Msg: "nothing to load", Err: ErrNone}
		}
		c, errs, err := first(entries, p)
		if err != nil {
			return nil, err
		}
		if len(errs) > 0 && p == nil && try < tries && s.changed(entries) {
			if c != nil {
				_ = c.Close()
			}
			continue // what was found damaged may just have been replaced
		}
		if c == nil {
			return nil, errors.Join(errs...)
		}
		for _, err := range errs {
			s.warn("%v; ptc takes the checkpoint of step %d instead", err, c.Meta.Step)
		}
		if c.format == formatNoHash {
			s.warn("an older ptc saved checkpoint %s without a hash in its manifest, so ptc cannot check its seed and its axis names", c.Dir)
		}
		return c, nil
	}
}

// agreeOn fails on all processes where they see different checkpoints, or one sees none for an error.
func (p *Peers) agreeOn(dir string, entries []Entry, err error) error {
	if err := p.Agree(err); err != nil {
		return err
	}
	var seen []byte
	for _, e := range entries {
		seen = fmt.Appendf(seen, "%q %d %v\n", storage.Base(e.Dir), e.Sequence, e.readable)
	}
	if err := p.same(seen, "sees other checkpoints there than rank 0: all processes need the same folder, on a disk that all see, or in an object store"); err != nil {
		return &Error{Dir: dir, Msg: "nothing to load", Err: err}
	}
	return nil
}

// first loads the first checkpoint that is sound, and says what is wrong with
// those before it. That an object store cannot be read is no reason to go back to
// an older one.
func first(entries []Entry, p *Peers) (c *Checkpoint, wrong []error, err error) {
	for _, e := range entries {
		c, err := loadWith(e.Dir, p)
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
