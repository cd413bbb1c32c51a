package native

import (
	"errors"
	"fmt"
	"os"
)

// AllocFile maps zeroed memory that is a file in dir (empty: the system's folder
// for temporary files): what is seldom touched need not stay in memory. The file
// has no name, so that it is gone with the process, and all of its room is
// reserved here: a disk that is full is an error now, and not a fault later. The
// memory starts at a multiple of a page.
//
// free returns the memory and the room; it may be called once, or never.
func AllocFile(dir string, bytes int64) (mem []byte, free func(), err error) {
	if dir == "" {
		dir = os.TempDir()
	}
	fail := func(err error) error {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return fmt.Errorf("a file of %d bytes in %s cannot be made: %w", bytes, dir, err)
	}
	if bytes < 0 || bytes > maxAlloc {
		return nil, nil, fail(errors.New("that is too much"))
	}
	f, err := os.CreateTemp(dir, "ptc-offload-*")
	if err != nil {
		return nil, nil, fail(err)
	}
	defer f.Close() // the mapping stays
	if err := os.Remove(f.Name()); err != nil {
		return nil, nil, fail(err)
	}
	if err := reserve(f, max(bytes, 1)); err != nil {
		return nil, nil, fail(err)
	}
	whole, err := mapFile(f, int(max(bytes, 1)))
	if err != nil {
		return nil, nil, fail(err)
	}
	return whole[:bytes:bytes], func() { unmapMemory(whole) }, nil
}

// fill reserves a file's room by writing it, where the file system has no other
// way.
func fill(f *os.File, bytes int64) error {
	zero := make([]byte, 1<<20)
	for at := int64(0); at < bytes; at += int64(len(zero)) {
		if _, err := f.WriteAt(zero[:min(int64(len(zero)), bytes-at)], at); err != nil {
			return err
		}
	}
	return nil
}
