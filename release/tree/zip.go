package tree

import (
	"archive/zip"
	"bytes"
	"strings"
	"time"
)

// Zip gives the tree as a zip archive in which everything has the time at. Files below
// last, a folder with its slash, are the archive's end; where it is empty all are sorted.
func (t Tree) Zip(at time.Time, last string) ([]byte, error) {
	entries, err := t.Entries()
	if err != nil {
		return nil, err
	}
	// A zip archive has no time before 1980.
	if first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); at.Before(first) {
		at = first
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, end := range []bool{false, true} {
		for _, f := range entries {
			if f.Mode.IsDir() || (last != "" && strings.HasPrefix(f.Path, last)) != end {
				continue
			}
			h := &zip.FileHeader{Name: f.Path, Method: zip.Deflate, Modified: at.UTC()}
			h.SetMode(f.Mode)
			w, err := z.CreateHeader(h)
			if err != nil {
				return nil, err
			}
			if _, err := w.Write(f.Data); err != nil {
				return nil, err
			}
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
