package checkpoint

import (
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Probe says how long a checkpoint of n bytes takes below the folder, by writing that
// many to a file, putting them on disk, and hashing what the system has of them, as a
// save does. Nothing is left of it. The store has to be locked.
func (s *Store) Probe(n int64) (took time.Duration, err error) {
	if err := s.stillLocked(); err != nil {
		return 0, err
	}
	dir, err := s.makeTemp(stepPrefix + "probe")
	if err != nil {
		return 0, &Error{Dir: s.Dir, Msg: "cannot be written to", Err: err}
	}
	defer os.RemoveAll(dir)
	begun := time.Now()
	if err := s.probe(filepath.Join(dir, modelFile), n); err != nil {
		return 0, &Error{Dir: s.Dir, Msg: "cannot be written to", Err: err}
	}
	return time.Since(begun), nil
}

func (s *Store) probe(path string, n int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	// Bytes that no file system makes less of.
	h, block := sha256.New(), make([]byte, 0, 1<<20)
	for len(block) < cap(block) {
		h.Write([]byte{byte(len(block))})
		block = h.Sum(block)
	}
	var dst io.WriterAt = f
	if s.wrap != nil {
		dst = s.wrap(dst)
	}
	for at := int64(0); at < n; at += int64(len(block)) {
		if _, err := dst.WriteAt(block[:min(int64(len(block)), n-at)], at); err != nil {
			return err
		}
	}
	if err := s.step("sync the probe", f.Sync); err != nil {
		return err
	}
	_, err = hashFile(f, modelFile)
	return err
}
