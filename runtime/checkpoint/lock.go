package checkpoint

import (
	"time"
)

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
	s.saves = saves{known: map[string]int64{}, strange: s.saves.strange}
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
		s.saves.last = max(s.saves.last, e.Sequence)
		s.saves.known[e.Dir] = e.Sequence
		if s.Overwrite {
			s.saves.replaced = append(s.saves.replaced, e.Dir)
		}
	}
	return nil
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
		return nil, &Error{Dir: s.Dir, Msg: "ptc can no longer save into it", Err: err}
	}
	if mine {
		return p, nil
	}
	s.Unlock()
	known := s.saves.known
	err = s.Lock()
	s.saves.replaced, s.saves.known = nil, known // of the folder that there is now, nothing else is this run's to replace
	return p, err
}

// Unlock ends what Lock began. It may be called without.
func (s *Store) Unlock() {
	if p, err := s.place(); err == nil && p.locked() {
		p.release()
	}
}

// Seen finds out whether every process sees what rank 0, which has locked the store, writes there. All call it.
func (s *Store) Seen(p *Peers) error {
	mark, unmark, err := "", func() {}, error(nil)
	var at place
	if at, err = s.place(); err == nil && p.Rank == 0 {
		mark, unmark, err = at.mark()
	}
	defer unmark()
	if err := p.Agree(err); err != nil {
		return err
	}
	if mark, err = p.tell(mark); err != nil {
		return err
	}
	if err = at.sees(mark); err != nil {
		err = &Error{Dir: s.Dir, Msg: "it is not the folder of rank 0", Err: err}
	}
	return p.Agree(err)
}

// Probe says how long a checkpoint of n bytes takes below the folder, by writing that
// many to a file, putting them on disk, and hashing what the system has of them, as a
// save does; or by uploading them. Nothing is left of it. The store has to be locked.
func (s *Store) Probe(n int64) (took time.Duration, err error) {
	p, err := s.stillLocked()
	if err != nil {
		return 0, err
	}
	if took, err = p.probe(n); err != nil {
		return 0, &Error{Dir: s.Dir, Msg: "cannot be written to", Err: err}
	}
	return took, nil
}
