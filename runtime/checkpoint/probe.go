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

func (d disk) probe(n int64) (took time.Duration, err error) {
	dir, err := d.makeTemp(stepPrefix + "probe")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	begun := time.Now()
	err = d.probeFile(filepath.Join(dir, modelFile), n)
	return time.Since(begun), err
}

func (s *Store) probeFile(path string, n int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := s.fill(f, n); err != nil {
		return err
	}
	if err := s.step("sync the probe", f.Sync); err != nil {
		return err
	}
	_, err = hashFile(diskFile{f, n}, modelFile)
	return err
}

// fill writes n bytes that no file system makes less of.
func (s *Store) fill(dst io.WriterAt, n int64) error {
	h, block := sha256.New(), make([]byte, 0, 1<<20)
	for len(block) < cap(block) {
		h.Write([]byte{byte(len(block))})
		block = h.Sum(block)
	}
	if s.wrap != nil {
		dst = s.wrap(dst)
	}
	for at := int64(0); at < n; at += int64(len(block)) {
		if _, err := dst.WriteAt(block[:min(int64(len(block)), n-at)], at); err != nil {
			return err
		}
	}
	return nil
}
