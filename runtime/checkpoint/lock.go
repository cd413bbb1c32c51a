package checkpoint

import (
	"errors"
	"os"

	"ptc/runtime/checkpoint/folderlock"
)

// lockName is the file, or the object, whose lock says that a process saves into the folder.
const lockName = folderlock.Name

// HeldError says who saves into a folder.
type HeldError = folderlock.HeldError

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

// take makes the folder and takes its lock.
func (d disk) take() error {
	l, err := folderlock.Take(d.Dir, func(f *os.File) error {
		return d.step("lock the folder", func() error { return folderlock.Try(f) })
	})
	var held *HeldError
	switch {
	case errors.As(err, &held):
		return &Error{Dir: d.Dir, Msg: "is in use", Err: held}
	case err != nil:
		return &Error{Dir: d.Dir, Msg: "cannot be locked", Err: err}
	}
	d.lock = l
	return nil
}

// tidy clears away what a killed run has left.
func (d disk) tidy() error {
	if d.lock.Real {
		return errors.Join(d.removeLeftovers(), d.finishReplacing())
	}
	d.warn("the file system of %s has no locks: make sure that no other run saves there", d.Dir)
	return nil
}

func (d disk) locked() bool { return d.lock != nil }

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

func (d disk) mine() (bool, error) { return d.lock.Leads(), nil }

// Unlock ends what Lock began. It may be called without.
func (s *Store) Unlock() {
	if p, err := s.place(); err == nil && p.locked() {
		p.release()
	}
}

func (d disk) release() {
	d.lock.Release()
	d.lock = nil
}
