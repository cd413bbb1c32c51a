package checkpoint

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
)

// prune removes what is not to be kept, after a checkpoint was saved and found
// sound: of those that can be read, the ones saved last remain, and others only as
// long as they are newer than one of these. Nothing here is worth failing a run for.
func (s *Store) prune(p place) {
	keep := cmp.Or(s.Keep, DefaultKeep)
	if keep < 0 {
		return
	}
	entries, err := s.List()
	if err != nil {
		s.warn("%v", err)
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

// removeReplaced removes the checkpoints of an earlier run that this one
// overwrites, once this one has saved one of its own.
func (s *Store) removeReplaced(p place, saved string) {
	for _, dir := range s.replaced {
		if dir != saved {
			p.remove(dir)
		}
	}
	s.replaced = nil
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
		if err := c.Close(); err != nil {
			return err
		}
		if err := s.replace(filepath.Join(s.Dir, stepName(step))); err != nil {
			return err
		}
	}
	return nil
}
