package checkpoint

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		s.warn("checkpoint %s is not found again where it was saved, so nothing older is removed", saved.Dir)
		return
	}
	var own []Entry
	for _, e := range entries {
		switch {
		case e.Dir == saved.Dir:
			own = append(own, e)
		case !s.knows(e.Dir, e.Sequence) || e.Sequence >= saved.Sequence:
			s.meets(e)
		case slices.Contains(s.replaced, e.Dir) || e.Step == saved.Step:
			p.remove(e.Dir)
		default:
			own = append(own, e)
		}
	}
	s.replaced = nil
	s.prune(p, own)
}

// knows says whether a checkpoint is one that this run found when it began or saved itself. One whose
// manifest cannot be read has a number that depends on the others.
func (s *Store) knows(dir string, sequence int64) bool {
	was, ok := s.known[dir]
	return ok && was >= sequence
}

// meets says once that there are checkpoints which this run leaves as they are.
func (s *Store) meets(e Entry) {
	if !s.strange {
		s.warn("checkpoint %s was not there when this run began, and is not its own: this run removes none that are so; see which of them are wanted", e.Dir)
	}
	s.strange = true
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

// removeLeftovers removes what a killed run left half written or half removed.
// The caller has the lock, so that none of it is of a run that lives.
func (s *Store) removeLeftovers() error {
	names, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		if strings.HasPrefix(e.Name(), tmpPrefix+stepPrefix) {
			path := filepath.Join(s.Dir, e.Name())
			if err := s.step("remove a leftover", func() error { return os.RemoveAll(path) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// finishReplacing ends what a killed run has begun: step-N.new takes the place of
// step-N.
func (s *Store) finishReplacing() error {
	names, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		step, suffix, ok := parseName(e.Name())
		if !ok || !e.IsDir() || suffix != newSuffix {
			continue
		}
		c, err := Load(filepath.Join(s.Dir, e.Name()))
		if err != nil {
			s.warn("%v", err) // and the one that it was to replace stays
			continue
		}
		if older, err := manifestOf(filepath.Join(s.Dir, stepName(step))); err == nil && older.Sequence > c.sequence {
			s.warn("checkpoint %s was saved before %s, and stays next to it", c.Dir, stepName(step))
			_ = c.Close()
			continue
		}
		if err := c.Close(); err != nil {
			return err
		}
		if err := s.replace(filepath.Join(s.Dir, stepName(step))); err != nil {
			return err
		}
	}
	return nil
}
