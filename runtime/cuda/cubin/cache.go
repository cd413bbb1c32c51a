package cubin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ptc/internal/regular"
	"ptc/runtime/checkpoint/atomicfile"
)

const (
	magic    = "ptccubin"
	header   = len(magic) + 2*sha256.Size
	suffix   = ".cubin"
	maxBytes = 1 << 30 // of a file
	maxFiles = 512     // of a folder; the oldest make room
)

// Key says what code was made of, for what and by whom.
type Key [sha256.Size]byte

// KeyOf is the key of text of PTX that a driver of that version compiles for an architecture.
func KeyOf(text []byte, arch string, driver int) Key {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n%d\n", arch, driver, len(text))
	h.Write(text)
	return Key(h.Sum(nil))
}

// Cache is folders, the first of which that can be used is written to. Nil is a cache of nothing.
type Cache struct{ dirs []string }

// Open makes a cache of folders, which need not exist.
func Open(dirs []string) *Cache {
	if len(dirs) == 0 {
		return nil
	}
	return &Cache{slices.Clone(dirs)}
}

// Get is what was kept for a key, or nil.
func (c *Cache) Get(key Key) []byte {
	if c == nil {
		return nil
	}
	for _, dir := range c.dirs {
		if b := read(dir, key); b != nil {
			return b
		}
	}
	return nil
}

// Put keeps code for a key. The error says why no folder can be written.
func (c *Cache) Put(key Key, code []byte) (err error) {
	if c == nil {
		return nil
	}
	for _, dir := range c.dirs {
		e := write(dir, key, code)
		if e == nil {
			return nil
		}
		err = cmp.Or(err, e)
	}
	return err
}

func name(key Key) string { return hex.EncodeToString(key[:]) + suffix }

// read is nil for whatever is not the code of that key, kept by somebody who is trusted.
func read(dir string, key Key) []byte {
	if trusted(dir) != nil {
		return nil
	}
	f, err := regular.Open(filepath.Join(dir, name(key)))
	if err != nil {
		return nil
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !own(st) || st.Size() > maxBytes {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil || len(b) <= header {
		return nil
	}
	body := b[header:]
	if !bytes.Equal(b[:header], head(key, body)) {
		return nil
	}
	return body
}

// head is what a file begins with.
func head(key Key, body []byte) []byte {
	sum := sha256.Sum256(body)
	return slices.Concat([]byte(magic), key[:], sum[:])
}

func write(dir string, key Key, code []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := trusted(dir); err != nil {
		return err
	}
	if len(code) == 0 || len(code) > maxBytes-header {
		return fmt.Errorf("%d bytes of code are not kept", len(code))
	}
	prune(dir)
	path := filepath.Join(dir, name(key))
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s is in the way: %w", path, &regular.Error{Mode: st.Mode()})
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := f.Chmod(0o600); err != nil {
		return err
	}
	if _, err := f.Write(slices.Concat(head(key, code), code)); err != nil {
		return err
	}
	return f.Commit()
}

// trusted says why nobody may rely on a folder: others can put files there. So can whoever
// made it a link.
func trusted(dir string) error {
	link, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !st.IsDir():
		return fmt.Errorf("%s is no folder", dir)
	case !own(st) || !owned(link):
		return fmt.Errorf("%s is another user's, or others may write to it", dir)
	}
	return nil
}

// prune makes room for one more file, by removing the oldest. What cannot be removed stays.
func prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var old []os.FileInfo
	for _, e := range entries {
		if st, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), suffix) && st.Mode().IsRegular() {
			old = append(old, st)
		}
	}
	slices.SortFunc(old, func(a, b os.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	for _, st := range old[:max(0, len(old)-maxFiles+1)] {
		_ = os.Remove(filepath.Join(dir, st.Name()))
	}
}
