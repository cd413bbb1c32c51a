package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"ptc/runtime/checkpoint/safetensors"
)

// Writer is a checkpoint that is being written. Slices may be written
// concurrently; Commit or Abort ends it.
type Writer struct {
	store *Store
	tmp   string   // of this writer alone
	dir   *os.Root // the same folder: what is written goes there, whoever has its name
	m     *manifest
	files [len(dataFiles)]*os.File
	parts [len(dataFiles)]*safetensors.Writer
	ended bool
}

// stepKey is the metadata of the data files that says of which step they are.
const stepKey = "step"

// Begin starts a checkpoint of the tensors. The caller writes each element of
// them once, then commits; Abort may be deferred. The store has to be locked.
func (s *Store) Begin(meta Meta, tensors []Tensor) (*Writer, error) {
	if meta.Step < 0 {
		return nil, &Error{Dir: s.Dir, Msg: fmt.Sprintf("there is no step %d", meta.Step)}
	}
	for _, t := range tensors {
		if len(t.Axes) != len(t.Shape) {
			return nil, &Error{Dir: s.Dir, Msg: fmt.Sprintf("tensor %q has axes %v for shape %v", t.Name, t.Axes, t.Shape)}
		}
	}
	if err := s.stillLocked(); err != nil {
		return nil, err
	}
	w := &Writer{store: s, m: newManifest(meta, tensors)}
	w.m.Sequence = s.sequence + 1
	if err := w.open(meta, tensors); err != nil {
		w.Abort()
		return nil, &Error{Dir: s.Dir, Msg: "cannot begin " + stepName(meta.Step), Err: err}
	}
	return w, nil
}

func (w *Writer) open(meta Meta, tensors []Tensor) (err error) {
	if w.tmp, err = w.store.makeTemp(stepName(meta.Step)); err != nil {
		return err
	}
	if w.dir, err = os.OpenRoot(w.tmp); err != nil {
		return err
	}
	about := map[string]string{"producer": "ptc", stepKey: strconv.FormatInt(meta.Step, 10)}
	for i, name := range dataFiles {
		var ts []safetensors.Tensor
		for _, t := range tensors {
			if fileOf(t.Name) == name {
				ts = append(ts, t.Tensor)
			}
		}
		if w.files[i], err = w.create(name); err != nil {
			return err
		}
		var dst io.WriterAt = w.files[i]
		if w.store.wrap != nil {
			dst = w.store.wrap(dst)
		}
		if w.parts[i], err = safetensors.NewWriter(dst, ts, about); err != nil {
			return err
		}
	}
	return nil
}

// makeTemp makes a folder that no other process has.
func (s *Store) makeTemp(name string) (string, error) {
	for i := 0; ; i++ {
		tmp := filepath.Join(s.Dir, fmt.Sprintf("%s%s-%d-%d", tmpPrefix, name, os.Getpid(), i))
		err := s.step("make the temporary folder", func() error { return os.Mkdir(tmp, 0o777) })
		if err == nil {
			return tmp, nil
		}
		if !errors.Is(err, fs.ErrExist) || i == maxTemps {
			return "", err
		}
	}
}

// maxTemps bounds the search for a free name: one may be left by a killed process
// that had this one's number, where folders cannot be locked.
const maxTemps = 1000

func (w *Writer) create(name string) (f *os.File, err error) {
	err = w.store.step("create "+name, func() error {
		f, err = w.dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	return f, err
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
	dir = filepath.Join(w.store.Dir, stepName(w.m.Step))
	w.store.sequence = w.m.Sequence // taken, whether publish fails before or after the rename
	if err := w.publish(dir); err != nil {
		return "", &Error{Dir: dir, Msg: "cannot be put in its place", Err: err}
	}
	w.ended = true
	w.closeAll()
	w.store.removeReplaced(dir)
	w.store.prune()
	return dir, nil
}

// finish puts everything on disk below the temporary folder.
func (w *Writer) finish() error {
	for i, f := range w.files {
		if err := w.parts[i].Finish(); err != nil {
			return err
		}
		if err := w.store.step("sync "+dataFiles[i], f.Sync); err != nil {
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
	if err := w.writeManifest(); err != nil {
		return err
	}
	return w.store.step("sync the temporary folder", func() error { return syncRoot(w.dir) })
}

// writeManifest goes through the open folder, so that a manifest is never among
// the files of another writer. Nothing reads it before the folder has its name.
func (w *Writer) writeManifest() error {
	text, err := w.m.encode()
	if err != nil {
		return err
	}
	f, err := w.create(manifestName)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := w.store.step("write "+manifestName, func() error { _, err := f.Write(text); return err }); err != nil {
		return err
	}
	if err := w.store.step("sync "+manifestName, f.Sync); err != nil {
		return err
	}
	return f.Close()
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

// publish gives a finished folder its name. Where a checkpoint of the same step
// has it, of a run that is passing this step again, both stay readable throughout,
// each under one of the names that List knows:
//
//	.tmp-step-7-…   step-7.new   step-7.new   step-7
//	step-7          step-7       step-7.old   step-7.old   then removed
func (w *Writer) publish(dir string) error {
	s := w.store
	if err := w.isAt(w.tmp); err != nil {
		return err
	}
	st, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := s.rename(w.tmp, dir); err != nil {
			return err
		}
		return s.sync()
	case err != nil:
		return err
	case !st.IsDir():
		return fmt.Errorf("%s is in the way and is no folder", filepath.Base(dir))
	}
	if err := s.rename(w.tmp, dir+newSuffix); err != nil {
		return err
	}
	w.tmp = dir + newSuffix // to be removed if it gets no further
	return s.replace(dir)
}

// replace puts step-N.new in the place of step-N.
func (s *Store) replace(dir string) error {
	s.remove(dir + oldSuffix)
	if err := s.rename(dir, dir+oldSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.rename(dir+newSuffix, dir); err != nil {
		_ = s.rename(dir+oldSuffix, dir) // else it stays readable as old
		return err
	}
	if err := s.sync(); err != nil {
		return err
	}
	s.remove(dir + oldSuffix)
	return nil
}

// isAt checks that a name still leads to the folder that was written.
func (w *Writer) isAt(path string) error {
	mine, err := w.dir.Stat(".")
	if err != nil {
		return err
	}
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(mine, st) {
		return fmt.Errorf("%s was replaced by another process", filepath.Base(path))
	}
	return nil
}

// Abort removes what was written; after Commit or Abort it does nothing.
func (w *Writer) Abort() {
	if w.ended {
		return
	}
	w.ended = true
	w.closeAll()
	if w.tmp != "" { // what remains is a leftover for the next Lock
		_ = w.store.step("remove the temporary folder", func() error { return os.RemoveAll(w.tmp) })
	}
}

func (w *Writer) closeAll() {
	for i, f := range w.files {
		if f != nil {
			_ = f.Close()
			w.files[i] = nil
		}
	}
	if w.dir != nil {
		_ = w.dir.Close()
	}
}
