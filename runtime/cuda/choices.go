package cuda

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"ptc/runtime/cuda/blaslt"
)

// choiceKey says what a choice is of.
type choiceKey [sha256.Size]byte

// choices keeps bytes by their keys, from one run to the next.
type choices interface {
	get(key choiceKey) []byte // nil: there are none that can be used
	put(key choiceKey, b []byte)
}

// decided is what was chosen in this process, by key: all of its devices choose alike, so that what several of
// them compute is the same on each.
var decided struct {
	sync.Mutex
	of map[choiceKey][]blaslt.Algorithm
}

// offered says whether each of the algorithms, if there are any, is offered now.
func offered(algos []blaslt.Algorithm, offers [][]blaslt.Algorithm) bool {
	if len(algos) == 0 {
		return true
	}
	if len(algos) != len(offers) {
		return false
	}
	for i, a := range algos {
		if !slices.Contains(offers[i], a) {
			return false
		}
	}
	return true
}

// load is a choice that was kept: which of the algorithms that are offered now, or none of them. A file can
// say nothing else, so one that is damaged or somebody else's costs time at most.
func load(from choices, key choiceKey, offers [][]blaslt.Algorithm) (algos []blaslt.Algorithm, ok bool) {
	bytes := from.get(key)
	if len(bytes)%sizeofAlgorithm != 0 || bytes == nil {
		return nil, false
	}
	for ; len(bytes) > 0; bytes = bytes[sizeofAlgorithm:] {
		var a blaslt.Algorithm
		for i := range a.Config {
			a.Config[i] = binary.LittleEndian.Uint64(bytes[8*i:])
		}
		a.Workspace = binary.LittleEndian.Uint64(bytes[8*len(a.Config):])
		algos = append(algos, a)
	}
	return algos, offered(algos, offers)
}

// save keeps a choice.
func save(to choices, key choiceKey, algos []blaslt.Algorithm) {
	bytes := []byte{}
	for _, a := range algos {
		for _, x := range a.Config {
			bytes = binary.LittleEndian.AppendUint64(bytes, x)
		}
		bytes = binary.LittleEndian.AppendUint64(bytes, a.Workspace)
	}
	to.put(key, bytes)
}

// sizeofAlgorithm is the bytes of an algorithm in a file.
const sizeofAlgorithm = 8 * (8 + 1)

// folders are where choices are files; the first that can be written is.
type folders []string

const (
	choiceMagic  = "ptcblas1"
	choiceSuffix = ".blas"
	maxChoice    = 1 << 20 // bytes of a file
)

func choiceName(key choiceKey) string { return hex.EncodeToString(key[:]) + choiceSuffix }

// choiceHead is what a file begins with: of what it is, and a checksum.
func choiceHead(key choiceKey, body []byte) []byte {
	sum := sha256.Sum256(body)
	return slices.Concat([]byte(choiceMagic), key[:], sum[:])
}

func (f folders) get(key choiceKey) []byte {
	for _, dir := range f {
		if body := readChoice(filepath.Join(dir, choiceName(key)), key); body != nil {
			return body
		}
	}
	return nil
}

func readChoice(path string, key choiceKey) []byte {
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	all, err := io.ReadAll(io.LimitReader(f, maxChoice))
	n := len(choiceHead(key, nil))
	if err != nil || len(all) < n || !bytes.Equal(all[:n], choiceHead(key, all[n:])) {
		return nil
	}
	return all[n:]
}

// put writes a file that appears whole or not at all. Where none can be written, the next run chooses
// again.
func (f folders) put(key choiceKey, body []byte) {
	for _, dir := range f {
		if writeChoice(dir, key, body) == nil {
			return
		}
	}
}

func writeChoice(dir string, key choiceKey, body []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, choiceName(key)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(choiceHead(key, body), body...))
	if end := f.Close(); err == nil {
		err = end
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, choiceName(key)))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
