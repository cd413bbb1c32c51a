package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// result of compiling a case: the digest of its plan, or the message of its rejection.
type result struct {
	Plan    string `json:"plan,omitempty"`
	Message string `json:"message,omitempty"`
}

// results are those of one build, by the digest of the case, so that a build is asked once.
type results struct {
	mu   sync.Mutex
	all  map[string]result
	file string // empty: they are not kept
}

// read takes the results of a build from a file, if there is one.
func read(file string) (*results, error) {
	r := &results{all: map[string]result{}, file: file}
	if file == "" {
		return r, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r.all)
	}
	return r, err
}

// digest of everything that a build is given.
func digest(e entry) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", e.source, e.set, e.layout, e.target)))
}

func (r *results) of(e entry) (result, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, ok := r.all[digest(e)]
	return x, ok
}

func (r *results) add(e entry, x result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[digest(e)] = x
}

// write keeps the results for the next time.
func (r *results) write() error {
	if r.file == "" {
		return nil
	}
	text, err := json.Marshal(r.all) // keys in order
	if err != nil {
		return err
	}
	return os.WriteFile(r.file, text, 0o666)
}
