package checkpoint

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"time"

	"ptc/internal/regular"
	"ptc/runtime/checkpoint/folderlock"
	"ptc/runtime/storage"
)

// lockName is the file, or the object, whose lock says that a process saves into the folder.
const lockName = folderlock.Name

// HeldError says who saves into a folder.
type HeldError = folderlock.HeldError

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
	begin(step int64, s *saves) (draft, error)
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

// saves is what a process that has locked a folder knows of the checkpoints there.
type saves struct {
	last     int64    // the highest number of a save
	replaced []string // folders to remove after the first save

	// known are the checkpoints that this process may remove, by folder and number of the save: those that
	// Lock found, and its own. What appears otherwise is another's, or a listing was not whole before.
	known   map[string]int64
	strange bool // it was told that there are others
}

// hooks are for tests.
type hooks struct {
	wrap      func(io.WriterAt) io.WriterAt // puts a fault into writes
	fault     func(step string) error       // puts one before any other step
	impatient bool                          // does not wait for folders of other hosts
}

// step does something to the place, unless a test stops a save before it.
func (h *hooks) step(what string, do func() error) error {
	if h.fault != nil {
		if err := h.fault(what); err != nil {
			return err
		}
	}
	return do()
}

// writer is dst, which a test may let fail.
func (h *hooks) writer(dst io.WriterAt) io.WriterAt {
	if h.wrap != nil {
		return h.wrap(dst)
	}
	return dst
}

// fill writes n bytes that no file system makes less of.
func fill(dst io.WriterAt, n int64) error {
	h, block := sha256.New(), make([]byte, 0, 1<<20)
	for len(block) < cap(block) {
		h.Write([]byte{byte(len(block))})
		block = h.Sum(block)
	}
	for at := int64(0); at < n; at += int64(len(block)) {
		if _, err := dst.WriteAt(block[:min(int64(len(block)), n-at)], at); err != nil {
			return err
		}
	}
	return nil
}

// folder is a checkpoint that is open for reading.
type folder interface {
	open(name string) (storage.File, error)
	Close() error
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
		return nil, fmt.Errorf("it is %s, but a checkpoint is a folder", regular.Kind(st.Mode()))
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
	return storage.Local(regular.OpenIn(d.Root, name))
}

// objectFolder reads the objects of a checkpoint.
type objectFolder struct{ f *storage.Folder }

func (o objectFolder) open(name string) (storage.File, error) { return o.f.Open(name) }
func (o objectFolder) Close() error                           { return nil }
