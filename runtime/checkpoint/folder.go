package checkpoint

import (
	"fmt"
	"os"

	"ptc/internal/regular"
	"ptc/runtime/storage"
)

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

// objectFolder reads the objects of a checkpoint.
type objectFolder struct{ f *storage.Folder }

func (o objectFolder) open(name string) (storage.File, error) { return o.f.Open(name) }
func (o objectFolder) Close() error                           { return nil }
