package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/checkpoint/safetensors"
)

// Writer is a checkpoint that is being written. Slices may be written
// concurrently; Commit or Abort ends it.
type Writer struct {
	store *Store
	tmp   string
	m     *manifest
	files [len(dataFiles)]*os.File
	parts [len(dataFiles)]*safetensors.Writer
	ended bool
}

// Begin starts a checkpoint of the tensors. The caller writes each element of
// them once, then commits; Abort may be deferred.
func (s *Store) Begin(meta Meta, tensors []Tensor) (*Writer, error) {
	w := &Writer{store: s, tmp: filepath.Join(s.Dir, tmpPrefix+stepName(meta.Step))}
	if meta.Step < 0 {
		return nil, &Error{Dir: s.Dir, Msg: fmt.Sprintf("there is no step %d", meta.Step)}
	}
	for _, t := range tensors {
		if len(t.Axes) != len(t.Shape) {
			return nil, &Error{Dir: s.Dir, Msg: fmt.Sprintf("tensor %q has axes %v for shape %v", t.Name, t.Axes, t.Shape)}
		}
	}
	w.m = newManifest(meta, tensors)
	if err := w.open(meta, tensors); err != nil {
		w.Abort()
		return nil, &Error{Dir: s.Dir, Msg: "cannot begin " + stepName(meta.Step), Err: err}
	}
	return w, nil
}

func (w *Writer) open(meta Meta, tensors []Tensor) error {
	if err := os.MkdirAll(w.store.Dir, 0o777); err != nil {
		return err
	}
	if err := w.store.removeLeftovers(); err != nil {
		return err
	}
	if err := os.Mkdir(w.tmp, 0o777); err != nil {
		return err
	}
	about := map[string]string{"producer": "ptc", "step": strconv.FormatInt(meta.Step, 10)}
	for i, name := range dataFiles {
		var ts []safetensors.Tensor
		for _, t := range tensors {
			if fileOf(t.Name) == name {
				ts = append(ts, safetensors.Tensor{Name: t.Name, DType: t.DType, Shape: t.Shape})
			}
		}
		f, err := os.OpenFile(filepath.Join(w.tmp, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		w.files[i] = f
		var dst io.WriterAt = f
		if w.store.wrap != nil {
			dst = w.store.wrap(dst)
		}
		if w.parts[i], err = safetensors.NewWriter(dst, ts, about); err != nil {
			return err
		}
	}
	return nil
}

// Write writes a slice of a tensor: its elements, row-major, little-endian. Of
// replicas only one is to be written. It writes through, and keeps nothing of
// data.
func (w *Writer) Write(name string, s Slice, data []byte) error {
	if w.ended {
		return &Error{Dir: w.tmp, Msg: "has ended"}
	}
	for i := range dataFiles {
		if dataFiles[i] == fileOf(name) {
			if err := w.parts[i].WriteSlice(name, s, data); err != nil {
				return &Error{Dir: w.tmp, Msg: "cannot write " + dataFiles[i], Err: err}
			}
		}
	}
	return nil
}

// Commit puts the checkpoint in its place and gives its folder; then it removes
// those that are not to be kept. If it fails, the older checkpoints are as they
// were.
func (w *Writer) Commit() (dir string, err error) {
	if w.ended {
		return "", &Error{Dir: w.tmp, Msg: "has ended"}
	}
	defer w.Abort()
	if err := w.finish(); err != nil {
		return "", &Error{Dir: w.tmp, Msg: "cannot be finished", Err: err}
	}
	name := stepName(w.m.Step)
	dir = filepath.Join(w.store.Dir, name)
	if err := publish(w.tmp, dir); err != nil {
		return "", &Error{Dir: dir, Msg: "cannot be put in its place", Err: err}
	}
	w.ended = true
	if err := atomicfile.WriteFile(filepath.Join(w.store.Dir, latestName), []byte(name+"\n")); err != nil {
		return "", &Error{Dir: dir, Msg: "is saved, but the file " + latestName + " cannot be written", Err: err}
	}
	w.store.prune(w.m.Step)
	return dir, nil
}

// finish puts everything on disk below the temporary folder.
func (w *Writer) finish() error {
	for i, f := range w.files {
		if err := w.parts[i].Finish(); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		// Hashed from what the system has, which is what a reader will get.
		info, err := hashFile(f, dataFiles[i])
		if err != nil {
			return err
		}
		if info.Bytes != w.parts[i].Size() {
			return fmt.Errorf("%s has %d bytes, %d were written", dataFiles[i], info.Bytes, w.parts[i].Size())
		}
		w.m.Files = append(w.m.Files, info)
		w.files[i] = nil
		if err := f.Close(); err != nil {
			return err
		}
	}
	text, err := w.m.encode()
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(w.tmp, manifestName), text) // and syncs the folder
}

func hashFile(f *os.File, name string) (manifestFile, error) {
	st, err := f.Stat()
	if err != nil {
		return manifestFile{}, err
	}
	h := sha256.New()
	n, err := io.CopyBuffer(h, io.NewSectionReader(f, 0, st.Size()), make([]byte, 1<<20))
	return manifestFile{Name: name, Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

// publish renames a finished folder. One of the same step, which a run that
// resumed from an older step has passed again, steps aside until then; a reader
// takes it under that name if everything stops between the two renames.
func publish(tmp, dir string) error {
	old := dir + oldSuffix
	st, err := os.Lstat(dir)
	if err == nil {
		if !st.IsDir() {
			return fmt.Errorf("%s is in the way and is no folder", filepath.Base(dir))
		}
		if err := os.RemoveAll(old); err != nil {
			return err
		}
		if err := os.Rename(dir, old); err != nil {
			return err
		}
	} else if !os.IsNotExist(err) {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		if st != nil {
			_ = os.Rename(old, dir) // else it stays readable as old
		}
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(dir))
}

// Abort removes what was written; after Commit or Abort it does nothing.
func (w *Writer) Abort() {
	if w.ended {
		return
	}
	w.ended = true
	for _, f := range w.files {
		if f != nil {
			_ = f.Close()
		}
	}
	_ = os.RemoveAll(w.tmp) // what remains is a leftover for the next Begin
}
