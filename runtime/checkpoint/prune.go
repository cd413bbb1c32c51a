package checkpoint

import (
	"cmp"
	"slices"
)

// retire removes what a checkpoint has made superfluous that this run has just saved: what it overwrites,
// older ones of the same step, and those that are not to be kept. First it finds the checkpoint again where it
// was saved, since a store may have said more than it did. Removed are checkpoints that this run found when it
// began or that it saved itself, and that were saved before this one by the number in the manifest. Nothing here
// is worth failing a run for.
func (s *Store) retire(p place, saved Entry) {
	entries, err := s.List()
	if err != nil {
		s.warn("%v", err)
		return
	}
	at := slices.IndexFunc(entries, func(e Entry) bool { return e.Dir == saved.Dir && e.readable && e.Sequence == saved.Sequence })
	if at < 0 {
		s.warn("ptc does not find checkpoint %s where it saved it, so it removes no older one", saved.Dir)
		return
	}
	var own []Entry
	for _, e := range entries {
		switch {
		case e.Dir == saved.Dir:
			own = append(own, e)
		case !s.saves.knows(e.Dir, e.Sequence) || e.Sequence >= saved.Sequence:
			s.meets(e)
		case slices.Contains(s.saves.replaced, e.Dir) || e.Step == saved.Step:
			p.remove(e.Dir)
		default:
			own = append(own, e)
		}
	}
	s.saves.replaced = nil
	s.prune(p, own)
}

// knows says whether a checkpoint is one that this run found when it began or saved itself. One whose
// manifest cannot be read has a number that depends on the others.
func (s *saves) knows(dir string, sequence int64) bool {
	was, ok := s.known[dir]
	return ok && was >= sequence
}

// meets says once that there are checkpoints which this run leaves as they are.
func (s *Store) meets(e Entry) {
	if !s.saves.strange {
		s.warn("another process saved checkpoint %s during this run, so ptc does not remove it; remove it if nobody needs it", e.Dir)
	}
	s.saves.strange = true
}

// prune removes what is not to be kept: of those that can be read, the ones saved last remain, and others only
// as long as they are newer than one of these.
func (s *Store) prune(p place, entries []Entry) {
	keep := cmp.Or(s.Keep, DefaultKeep)
	if keep < 0 {
		return
	}
	kept := 0
	for _, e := range entries {
		switch {
		case kept == keep && s.KeepBest && isBest(e, entries):
		case kept == keep:
			p.remove(e.Dir)
		case e.readable:
			kept++
		}
	}
}

// isBest reports whether a checkpoint is the best one on its data.
func isBest(e Entry, entries []Entry) bool {
	best, ok := BestOn(e.Data, entries)
	return ok && best.Dir == e.Dir
}
