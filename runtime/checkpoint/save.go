package checkpoint

import (
	"fmt"
	"strconv"

	"ptc/runtime/checkpoint/safetensors"
)

// Writer is a checkpoint that is being written. Slices may be written
// concurrently, but for an object store, see Order; Commit or Abort ends it.
type Writer struct {
	store *Store
	place place
	draft draft
	m     *manifest
	names [len(dataFiles)]string
	files [len(dataFiles)]*safetensors.Writer
	ended bool
}

// Begin starts a checkpoint of the tensors. The caller writes each element of
// them once, then commits; Abort may be deferred. The store has to be locked.
func (s *Store) Begin(meta Meta, tensors []Tensor) (*Writer, error) {
	w, err := s.begin(meta, tensors)
	if err != nil {
		return nil, err
	}
	if err := w.create(dataFiles, tensors, meta.Step); err != nil {
		w.Abort()
		return nil, &Error{Dir: s.Dir, Msg: "ptc cannot write " + stepName(meta.Step), Err: err}
	}
	return w, nil
}

// begin starts a checkpoint that has no files yet.
func (s *Store) begin(meta Meta, tensors []Tensor) (*Writer, error) {
	if meta.Step < 0 {
		return nil, &Error{Dir: s.Dir, Msg: fmt.Sprintf("%d is not the number of a step", meta.Step)}
	}
	for _, t := range tensors {
		if len(t.Axes) != len(t.Shape) {
			return nil, &Error{Dir: s.Dir, Msg: fmt.Sprintf("tensor %q has axes %v for shape %v", t.Name, t.Axes, t.Shape)}
		}
	}
	p, err := s.stillLocked()
	if err != nil {
		return nil, err
	}
	w := &Writer{store: s, place: p, m: newManifest(meta, tensors)}
	w.m.Sequence = s.saves.last + 1
	err = w.m.checkPhases() // nobody could read it
	if err == nil {
		w.draft, err = p.begin(meta.Step, &s.saves)
	}
	if err != nil {
		return nil, &Error{Dir: s.Dir, Msg: "ptc cannot write " + stepName(meta.Step), Err: err}
	}
	return w, nil
}

// create makes the files for tensors, which may be slices of others.
func (w *Writer) create(names [len(dataFiles)]string, tensors []Tensor, step int64) error {
	w.names = names
	about := map[string]string{"producer": "ptc", stepKey: strconv.FormatInt(step, 10)}
	for i, file := range dataFiles {
		var ts []safetensors.Tensor
		size := int64(0)
		for _, t := range tensors {
			if fileOf(t.Name) == file {
				ts = append(ts, t.Tensor)
				size += t.Bytes()
			}
		}
		dst, err := w.draft.create(names[i], size)
		if err != nil {
			return err
		}
		if w.files[i], err = safetensors.NewWriter(w.store.writer(dst), ts, about); err != nil {
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
		return &Error{Dir: w.draft.at(), Msg: "it is already complete or aborted"}
	}
	i := fileIndex(name, 0)
	if err := w.files[i].WriteSlice(name, s, data); err != nil {
		return &Error{Dir: w.draft.at(), Msg: "cannot write " + w.names[i], Err: err}
	}
	return nil
}

// Commit puts the checkpoint in its place and gives its folder; then it removes
// those that are not to be kept. If it fails, the older checkpoints are as they
// were.
func (w *Writer) Commit() (dir string, err error) {
	if w.ended {
		return "", &Error{Dir: w.draft.at(), Msg: "it is already complete or aborted"}
	}
	defer w.Abort()
	if w.m.Files, err = w.finish(); err != nil {
		return "", &Error{Dir: w.draft.at(), Msg: "ptc cannot finish it", Err: err}
	}
	return w.publish()
}

// finish makes the data files last, and says what they are.
func (w *Writer) finish() (files []manifestFile, err error) {
	for i, f := range w.files {
		if err := f.Finish(); err != nil {
			return nil, err
		}
		info, err := w.draft.finish(w.names[i], f.Size())
		if err != nil {
			return nil, err
		}
		files = append(files, info)
	}
	return files, nil
}

// publish puts the checkpoint in its place, whose files are complete.
func (w *Writer) publish() (dir string, err error) {
	text, err := w.m.encode()
	if err != nil {
		return "", &Error{Dir: w.draft.at(), Msg: "ptc cannot finish it", Err: err}
	}
	w.store.saves.last = w.m.Sequence // taken, whether publish fails before or after the checkpoint is seen
	dir, failed := w.draft.publish(text)
	if failed != nil {
		return "", failed
	}
	w.ended = true
	w.store.saves.known[dir] = w.m.Sequence
	w.store.retire(w.place, Entry{Step: w.m.Step, Dir: dir, Sequence: w.m.Sequence})
	return dir, nil
}

// Abort removes what was written; after Commit or Abort it does nothing.
func (w *Writer) Abort() {
	if w.ended {
		return
	}
	w.ended = true
	if w.draft != nil {
		w.draft.abort()
	}
}
