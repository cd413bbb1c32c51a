package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/storage"
)

// Checkpoint is a loaded checkpoint. It may be read concurrently.
type Checkpoint struct {
	Dir  string
	Meta Meta

	format   int
	sequence int64
	tensors  []Tensor // in order of name
	files    [len(dataFiles)]storage.File
	readers  [len(dataFiles)]*safetensors.Reader
}

// Load opens the checkpoint in a folder and checks that it is what was saved:
// the hashes of the manifest and of each file, the tensors in them, and that
// manifest, files and the folder's name agree on the step. What is wrong is an
// *Error.
func Load(dir string) (*Checkpoint, error) {
	c, err := load(dir)
	if storage.Fault(err) {
		return nil, &Error{Dir: dir, Msg: "cannot be read", Err: err}
	}
	if err != nil {
		return nil, &Error{Dir: dir, Msg: "is damaged", Err: err}
	}
	return c, nil
}

func load(dir string) (*Checkpoint, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() // files that are open stay so
	m, err := readManifest(root)
	if err != nil {
		return nil, err
	}
	if step, _, ok := parseName(storage.Base(dir)); ok && step != m.Step {
		return nil, fmt.Errorf("%s has step %d, and the folder's name step %d", manifestName, m.Step, step)
	}
	c := &Checkpoint{Dir: dir, Meta: m.Meta, format: m.Format, sequence: m.Sequence}
	var g errgroup.Group
	errs := make([]error, len(dataFiles)) // so that the first by order is reported
	for i := range dataFiles {
		g.Go(func() error {
			errs[i] = c.open(root, i, m)
			return nil
		})
	}
	_ = g.Wait() // no function has an error
	if err = errors.Join(errs...); err == nil {
		err = c.match(m)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Checkpoint) open(dir folder, i int, m *manifest) (err error) {
	want := m.Files[i]
	f, err := dir.open(want.Name)
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
	if c.readers[i], err = safetensors.NewReader(f, got.Bytes); err != nil {
		return err
	}
	if step := c.readers[i].Metadata()[stepKey]; step != strconv.FormatInt(m.Step, 10) {
		return fmt.Errorf("%s has step %d, and %s step %q", manifestName, m.Step, want.Name, step)
	}
	return nil
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
		if t == nil || t.DType.Safetensors() != mt.DType || !slices.Equal(t.Shape, mt.Shape) {
			return fmt.Errorf("%s lists %q as %s%v, which the files do not have", manifestName, mt.Name, mt.DType, mt.Shape)
		}
		c.tensors = append(c.tensors, Tensor{*t, mt.Axes})
	}
	return nil
}

func (c *Checkpoint) reader(name string) *safetensors.Reader {
	return c.readers[slices.Index(dataFiles[:], fileOf(name))]
}

// Tensors lists what was saved, in order of name. It is not to be changed.
func (c *Checkpoint) Tensors() []Tensor { return c.tensors }

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
