package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ptc/internal/regular"
	"ptc/runtime/storage"
)

// place is where the checkpoints of a store are: a folder of this machine, or
// objects. All that is not the same for both is behind it, and behind folder and
// draft.
type place interface {
	// names lists the folders that may be checkpoints, in order.
	names() ([]string, error)
	// locked says whether this process has reserved the place.
	locked() bool
	// take makes the place and reserves it.
	take() error
	// tidy clears away what a killed run has left unfinished.
	tidy() error
	// mine finds out whether the place is still this process's.
	mine() (bool, error)
	// release ends what take began.
	release()
	// begin starts a checkpoint, of which nothing is seen before it is published.
	begin(step int64) (draft, error)
	// join takes part in a checkpoint that another process has begun, by its ticket.
	join(ticket string) (draft, error)
	// mark leaves a mark in the place, which other processes are to see; unmark removes it.
	mark() (mark string, unmark func(), err error)
	sees(mark string) error
	// remove removes a checkpoint. That it fails is a warning.
	remove(dir string)
	// probe writes n bytes as a checkpoint would be.
	probe(n int64) (time.Duration, error)
}

// folder is a checkpoint that is open for reading.
type folder interface {
	open(name string) (storage.File, error)
	Close() error
}

// draft is a checkpoint that is being written.
type draft interface {
	// at names it in errors.
	at() string
	// ticket is by which other processes join: a short text.
	ticket() string
	// create starts a data file, of about size bytes.
	create(name string, size int64) (io.WriterAt, error)
	// finish makes a data file last, and gives what is there, hashed.
	finish(name string, size int64) (manifestFile, error)
	// holds finds out whether a data file that another process has finished is here.
	holds(f manifestFile) error
	// publish makes the checkpoint appear, whole, and gives its folder.
	publish(manifest []byte) (dir string, err *Error)
	// abort removes what is not published, as far as it can: of a draft that it has joined, what this process
	// has written.
	abort()
	// leave ends what join began, where the checkpoint is published.
	leave()
}

// place is that of the store's folder.
func (s *Store) place() (place, error) {
	if !storage.Remote(s.Dir) {
		return disk{s}, nil
	}
	if s.away == nil {
		f, err := storage.OpenFolder(s.Dir)
		if err != nil {
			return nil, err
		}
		s.away = &objects{s: s, f: f}
	}
	return s.away, nil
}

// disk is a folder of this machine.
type disk struct{ *Store }

func (d disk) names() (out []string, err error) {
	names, err := os.ReadDir(d.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, n := range names {
		if n.IsDir() {
			out = append(out, n.Name())
		}
	}
	return out, err
}

func (d disk) remove(dir string) { d.Store.remove(dir) }

func (d disk) mark() (string, func(), error) {
	dir, err := d.makeTemp(stepPrefix + "seen")
	return filepath.Base(dir), func() { _ = os.Remove(dir) }, err // what is left is removed with other leftovers
}

func (d disk) sees(mark string) error {
	w, err := d.join(mark)
	if err == nil {
		w.leave()
	}
	return err
}

// openFolder opens a checkpoint for reading, and does not wait for what is none.
func openFolder(dir string) (folder, error) {
	if storage.Remote(dir) {
		f, err := storage.OpenFolder(dir)
		if err != nil {
			return nil, err
		}
		return objectFolder{f}, nil
	}
	st, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, fmt.Errorf("it is %s, and a checkpoint is a folder", regular.Kind(st.Mode()))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return diskFolder{root}, nil
}

// diskFolder reads files of an open folder, outside of which no name leads.
type diskFolder struct{ *os.Root }

func (d diskFolder) open(name string) (storage.File, error) {
	f, err := regular.OpenIn(d.Root, name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return diskFile{f, st.Size()}, nil
}

type diskFile struct {
	*os.File
	size int64
}

func (f diskFile) Size() int64 { return f.size }
