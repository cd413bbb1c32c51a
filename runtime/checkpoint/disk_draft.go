package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// diskDraft is a checkpoint that is being written to a folder of its own, which then
// gets the checkpoint's name.
type diskDraft struct {
	in    *disk
	saves *saves
	step  int64
	tmp   string   // of this draft alone
	root  *os.Root // the same folder: what is written goes there, whoever has its name
	files map[string]*os.File
	guest bool // another process has begun it, and will end it
}

func (d *disk) begin(step int64, s *saves) (draft, error) {
	w := &diskDraft{in: d, saves: s, step: step, files: map[string]*os.File{}}
	var err error
	if w.tmp, err = d.makeTemp(stepName(step)); err != nil {
		return nil, err
	}
	if w.root, err = os.OpenRoot(w.tmp); err != nil {
		w.abort()
		return nil, err
	}
	return w, nil
}

// joinWait is how long the folder of a draft may take to be seen by another host, which on a disk of a network
// need not be at once.
const joinWait = 3 * time.Second

func (d *disk) join(ticket string) (draft, error) {
	if filepath.Base(ticket) != ticket || !strings.HasPrefix(ticket, tmpPrefix+stepPrefix) {
		return nil, fmt.Errorf("%q is not the folder of a checkpoint in progress", ticket)
	}
	w := &diskDraft{in: d, tmp: filepath.Join(d.dir, ticket), files: map[string]*os.File{}, guest: true}
	var err error
	for end := time.Now().Add(joinWait); ; time.Sleep(joinWait / 100) {
		if w.root, err = os.OpenRoot(w.tmp); !errors.Is(err, fs.ErrNotExist) || d.impatient || time.Now().After(end) {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("this process does not see the folder that rank 0 created: put %s on a disk that all processes see, or in an object store", d.dir)
	}
	return w, err
}

func (w *diskDraft) ticket() string { return filepath.Base(w.tmp) }

func (w *diskDraft) at() string { return w.tmp }

func (w *diskDraft) make(name string) (f *os.File, err error) {
	err = w.in.step("create "+name, func() error {
		f, err = w.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	return f, err
}

func (w *diskDraft) create(name string, _ int64) (io.WriterAt, error) {
	f, err := w.make(name)
	if err != nil {
		return nil, err
	}
	w.files[name] = f
	return f, nil
}

func (w *diskDraft) finish(name string, size int64) (manifestFile, error) {
	f := w.files[name]
	if err := w.in.step("sync "+name, f.Sync); err != nil {
		return manifestFile{}, err
	}
	// Hashed from what the system has, which is what a reader will get.
	st, err := f.Stat()
	if err != nil {
		return manifestFile{}, err
	}
	info, err := hashFile(f, st.Size(), name)
	if err != nil {
		return manifestFile{}, err
	}
	if info.Bytes != size {
		return manifestFile{}, fmt.Errorf("%s has %d bytes, but %d were written", name, info.Bytes, size)
	}
	delete(w.files, name)
	return info, f.Close()
}

func (w *diskDraft) holds(f manifestFile) error {
	st, err := w.root.Stat(f.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was written, but it is not in the folder: put %s on a disk that all processes see, or in an object store", f.Name, w.in.dir)
	case err != nil:
		return err
	case st.Size() != f.Bytes:
		return fmt.Errorf("%s has %d bytes, but %d were written", f.Name, st.Size(), f.Bytes)
	}
	return nil
}

// publish puts everything on disk below the temporary folder, and then gives it its
// name.
func (w *diskDraft) publish(manifest []byte) (string, *Error) {
	err := w.writeManifest(manifest)
	if err == nil {
		err = w.in.step("sync the temporary folder", func() error { return syncRoot(w.root) })
	}
	if err != nil {
		return "", &Error{Dir: w.tmp, Msg: "ptc cannot finish it", Err: err}
	}
	dir := filepath.Join(w.in.dir, stepName(w.step))
	if err := w.name(dir); err != nil {
		return "", &Error{Dir: dir, Msg: "ptc cannot move it to its place", Err: err}
	}
	w.tmp = ""
	w.closeAll()
	return dir, nil
}

// writeManifest goes through the open folder, so that a manifest is never among
// the files of another writer. Nothing reads it before the folder has its name.
func (w *diskDraft) writeManifest(text []byte) error {
	f, err := w.make(manifestName)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := w.in.step("write "+manifestName, func() error { _, err := f.Write(text); return err }); err != nil {
		return err
	}
	if err := w.in.step("sync "+manifestName, f.Sync); err != nil {
		return err
	}
	return f.Close()
}

// name gives a finished folder its name. Where a checkpoint of the same step
// has it, of a run that is passing this step again, both stay readable throughout,
// each under one of the names that List knows:
//
//	.tmp-step-7-…   step-7.new   step-7.new   step-7
//	step-7          step-7       step-7.old   step-7.old   then removed
func (w *diskDraft) name(dir string) error {
	if err := w.isAt(w.tmp); err != nil {
		return err
	}
	st, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := w.in.rename(w.tmp, dir); err != nil {
			return err
		}
		return w.in.sync()
	case err != nil:
		return err
	case !st.IsDir():
		return fmt.Errorf("%s is in the way: it is not a folder", filepath.Base(dir))
	}
	if _, known := w.saves.known[dir]; !known {
		return fmt.Errorf("%s is in the way: another process created it during this run", filepath.Base(dir))
	}
	if err := w.in.rename(w.tmp, dir+newSuffix); err != nil {
		return err
	}
	w.tmp = dir + newSuffix // to be removed if it gets no further
	return w.in.replace(dir)
}

// isAt checks that a name still leads to the folder that was written.
func (w *diskDraft) isAt(path string) error {
	mine, err := w.root.Stat(".")
	if err != nil {
		return err
	}
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(mine, st) {
		return fmt.Errorf("another process has replaced %s", filepath.Base(path))
	}
	return nil
}

func (w *diskDraft) abort() {
	w.closeAll()
	if w.tmp != "" && !w.guest { // what remains is a leftover for the next Lock
		_ = w.in.step("remove the temporary folder", func() error { return os.RemoveAll(w.tmp) })
	}
}

func (w *diskDraft) leave() { w.closeAll() }

func (w *diskDraft) closeAll() {
	for _, f := range w.files {
		_ = f.Close()
	}
	clear(w.files)
	if w.root != nil {
		_ = w.root.Close()
	}
}

func (d *disk) mark() (string, func(), error) {
	dir, err := d.makeTemp(stepPrefix + "seen")
	return filepath.Base(dir), func() { _ = os.Remove(dir) }, err // what is left is removed with other leftovers
}

func (d *disk) sees(mark string) error {
	w, err := d.join(mark)
	if err == nil {
		w.leave()
	}
	return err
}
