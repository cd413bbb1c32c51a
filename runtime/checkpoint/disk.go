package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ptc/runtime/checkpoint/atomicfile"
)

// step does something to the file system. Tests stop a save before any of them.
func (s *Store) step(what string, do func() error) error {
	if s.fault != nil {
		if err := s.fault(what); err != nil {
			return err
		}
	}
	return do()
}

func (s *Store) rename(from, to string) error {
	return s.step("rename to "+filepath.Base(to), func() error { return os.Rename(from, to) })
}

// sync makes the names in the store's folder last.
func (s *Store) sync() error {
	return s.step("sync the folder", func() error { return atomicfile.SyncDir(s.Dir) })
}

// syncRoot makes the names in an open folder last.
func syncRoot(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return atomicfile.SyncOpenDir(d)
}

// remove takes the name away first, so that what is half removed is not taken
// for a checkpoint. That it fails is not worth failing a run for.
func (s *Store) remove(dir string) {
	gone := filepath.Join(filepath.Dir(dir), tmpPrefix+filepath.Base(dir)+"-gone")
	err := s.rename(dir, gone)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = s.step("remove "+filepath.Base(dir), func() error { return os.RemoveAll(gone) })
	}
	if err != nil {
		s.warn("checkpoint %s cannot be removed: %v", dir, err)
	}
}
