package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// freshLog is what a sink makes before it is told anything: where a run fails before its first
// step, nothing of it is left.
type freshLog struct {
	sink    sinkFlag
	missing []string         // files and folders that were not there, the deepest first
	had     map[string]bool  // what was in the folder of a sink that adds a file to it
	sizes   map[string]int64 // of the files that were made, as they were opened
}

// freshOf looks at the target of a sink that is not open yet.
func freshOf(s sinkFlag) *freshLog {
	f := &freshLog{sink: s, had: map[string]bool{}, sizes: map[string]int64{}}
	if s.kind.Target == "ADDR" {
		return f
	}
	for path := filepath.Clean(s.target); ; path = filepath.Dir(path) {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		f.missing = append(f.missing, path)
	}
	if s.kind.Target == "DIR" {
		for _, name := range namesIn(s.target) {
			f.had[name] = true
		}
	}
	return f
}

// opened notes the files that opening made.
func (f *freshLog) opened() freshLog {
	note := func(path string) {
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
			f.sizes[path] = st.Size()
		}
	}
	if len(f.missing) > 0 && f.sink.kind.Target == "FILE" {
		note(f.missing[0])
	}
	if f.sink.kind.Target == "DIR" {
		for _, name := range namesIn(f.sink.target) {
			if !f.had[name] {
				note(filepath.Join(f.sink.target, name))
			}
		}
	}
	return *f
}

// forget removes what was made, unless something was told since.
func (f *freshLog) forget() {
	for path, size := range f.sizes {
		if st, err := os.Lstat(path); err == nil && st.Size() == size {
			_ = os.Remove(path)
		}
	}
	for _, path := range f.missing {
		if st, err := os.Lstat(path); err == nil && st.IsDir() && os.Remove(path) != nil {
			return // it has something
		}
	}
}

// namesIn are the names in a folder, none where it cannot be read.
func namesIn(dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
