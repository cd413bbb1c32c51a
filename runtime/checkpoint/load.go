package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"ptc/runtime/checkpoint/safetensors"
)

// Checkpoint is a loaded checkpoint. It may be read concurrently.
type Checkpoint struct {
	Dir  string
	Meta Meta

	tensors []Tensor // in order of name
	files   [len(dataFiles)]*os.File
	readers [len(dataFiles)]*safetensors.Reader
}

// Load opens the checkpoint in a folder and checks that it is what was saved:
// the hash of each file, and the tensors in it. What is wrong is an *Error.
func Load(dir string) (*Checkpoint, error) {
	m, err := readManifest(filepath.Join(dir, manifestName))
	if err != nil {
		return nil, &Error{Dir: dir, Msg: "is damaged", Err: err}
	}
	c := &Checkpoint{Dir: dir, Meta: m.meta()}
	var g errgroup.Group
	errs := make([]error, len(dataFiles)) // so that the first by order is reported
	for i := range dataFiles {
		g.Go(func() error {
			errs[i] = c.open(i, m.Files[i])
			return nil
		})
	}
	g.Wait()
	err = errors.Join(errs...)
	if err == nil {
		err = c.match(m)
	}
	if err != nil {
		c.Close()
		return nil, &Error{Dir: dir, Msg: "is damaged", Err: err}
	}
	return c, nil
}

func (c *Checkpoint) open(i int, want manifestFile) (err error) {
	f, err := os.Open(filepath.Join(c.Dir, want.Name))
	if err != nil {
		return err
	}
	c.files[i] = f
	got, err := hashFile(f, want.Name)
	switch {
	case err != nil:
		return err
	case got.Bytes != want.Bytes:
		return fmt.Errorf("%s has %d bytes, %d were saved", want.Name, got.Bytes, want.Bytes)
	case got.SHA256 != want.SHA256:
		return fmt.Errorf("%s is not what was saved: its SHA-256 differs", want.Name)
	}
	c.readers[i], err = safetensors.NewReader(f, got.Bytes)
	return err
}

// match checks that the manifest and the files list the same tensors.
func (c *Checkpoint) match(m *manifest) error {
	inFiles := 0
	for _, r := range c.readers {
		inFiles += len(r.Tensors())
	}
	if inFiles != len(m.Tensors) {
		return fmt.Errorf("%s lists %d tensors, the files have %d", manifestName, len(m.Tensors), inFiles)
	}
	for _, mt := range m.Tensors {
		t := c.reader(mt.Name).Find(mt.Name)
		if t == nil || t.DType.String() != mt.DType || !slices.Equal(t.Shape, mt.Shape) {
			return fmt.Errorf("%s lists %q as %s%v, which the files do not have", manifestName, mt.Name, mt.DType, mt.Shape)
		}
		c.tensors = append(c.tensors, Tensor{Name: t.Name, DType: t.DType, Shape: t.Shape, Axes: mt.Axes})
	}
	return nil
}

func (c *Checkpoint) reader(name string) *safetensors.Reader {
	return c.readers[slices.Index(dataFiles[:], fileOf(name))]
}

// Tensors lists what was saved, in order of name. It is not to be changed.
func (c *Checkpoint) Tensors() []Tensor { return c.tensors }

// Find gives the tensor of that name, or nil.
func (c *Checkpoint) Find(name string) *Tensor {
	i, ok := slices.BinarySearchFunc(c.tensors, name, func(t Tensor, name string) int {
		return strings.Compare(t.Name, name)
	})
	if !ok {
		return nil
	}
	return &c.tensors[i]
}

// Read reads a slice of a tensor into dst, which must have its size: elements
// of the tensor's type, row-major, little-endian.
func (c *Checkpoint) Read(name string, s Slice, dst []byte) error {
	if err := c.reader(name).ReadSlice(name, s, dst); err != nil {
		return &Error{Dir: c.Dir, Msg: "cannot read", Err: err}
	}
	return nil
}

// Close closes the files.
func (c *Checkpoint) Close() error {
	var errs []error
	for i, f := range c.files {
		if f != nil {
			errs = append(errs, f.Close())
			c.files[i] = nil
		}
	}
	return errors.Join(errs...)
}
