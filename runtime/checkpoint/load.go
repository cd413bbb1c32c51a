package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/storage"
)

// Checkpoint is a loaded checkpoint. It may be read concurrently.
type Checkpoint struct {
	Dir  string
	Meta Meta

	format   int
	sequence int64
	parts    int
	tensors  []Tensor // in order of name
	grids    []grid   // of each
	files    []*dataFile
	pool     pool
}

// filesAtOnce is how many files are hashed at once: of a disk that is several, and of an object
// store several connections.
const filesAtOnce = 8

// Load opens the checkpoint in a folder and checks that it is what was saved:
// the hashes of the manifest and of each file, the tensors in them, and that
// manifest, files and the folder's name agree on the step. What is wrong is an
// *Error.
func Load(dir string) (*Checkpoint, error) { return loadWith(dir, nil) }

// loadWith is Load of several processes, which all call it: each compares the hashes of some of the
// files, and all have an error where one has.
func loadWith(dir string, p *Peers) (*Checkpoint, error) {
	c, err := load(dir, p)
	if err != nil {
		msg := "is damaged"
		if storage.Fault(err) {
			msg = "cannot be read"
		}
		err = &Error{Dir: dir, Msg: msg, Err: err}
	}
	if p == nil {
		return c, err
	}
	if err = p.Agree(err); err != nil && c != nil {
		_ = c.Close()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func load(dir string, p *Peers) (*Checkpoint, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Dir: dir, pool: pool{root: root}}
	if err := c.open(p); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Checkpoint) open(p *Peers) error {
	m, err := readManifest(c.pool.root)
	if err != nil {
		return err
	}
	if step, _, ok := parseName(storage.Base(c.Dir)); ok && step != m.Step {
		return fmt.Errorf("%s has step %d, but the name of the folder has step %d", manifestName, m.Step, step)
	}
	c.Meta, c.format, c.sequence, c.parts = m.Meta, m.Format, m.Sequence, m.Parts
	if err := c.list(m); err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(filesAtOnce)
	errs := make([]error, len(c.files)) // so that the first by order is reported
	for i, f := range c.files {
		if p != nil && i%p.Size != p.Rank {
			continue // another one compares its hash
		}
		g.Go(func() error {
			errs[i] = f.verify(&c.pool)
			if p != nil { // the file need not be one that this process reads
				_ = c.pool.close(f) // was only read
			}
			return nil
		})
	}
	_ = g.Wait() // no function has an error
	return errors.Join(errs...)
}

// list takes the tensors and files of the manifest over.
func (c *Checkpoint) list(m *manifest) error {
	for _, f := range m.Files {
		c.files = append(c.files, &dataFile{want: f, step: m.Step})
	}
	for _, mt := range m.Tensors {
		d, ok := dtype.ParseSafetensors(mt.DType)
		if !ok {
			return fmt.Errorf("%s lists %q with the unknown type %s", manifestName, mt.Name, mt.DType)
		}
		t := safetensors.Tensor{Name: mt.Name, DType: d, Shape: mt.Shape}
		c.tensors = append(c.tensors, Tensor{t, mt.Axes})
		c.grids = append(c.grids, mt.grid)
		for _, h := range mt.grid.slices(mt.Shape) {
			f := c.files[fileIndex(mt.Name, h.part)]
			t.Shape = h.Extent
			f.tensors = append(f.tensors, t)
		}
	}
	return nil
}

// Tensors lists what was saved, in order of name. It is not to be changed.
func (c *Checkpoint) Tensors() []Tensor { return c.tensors }

// Read reads a slice of a tensor into dst, which must have its size: elements
// of the tensor's type, row-major, little-endian. Of parts it reads those that
// have some of the slice, and of each no more than that.
func (c *Checkpoint) Read(name string, s Slice, dst []byte) error {
	if err := c.read(name, s, dst); err != nil {
		return &Error{Dir: c.Dir, Msg: "cannot read", Err: err}
	}
	return nil
}

func (c *Checkpoint) read(name string, s Slice, dst []byte) error {
	i, ok := slices.BinarySearchFunc(c.tensors, name, func(t Tensor, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return fmt.Errorf("there is no tensor %q", name)
	}
	t := &c.tensors[i]
	s, err := s.Within(&t.Tensor, int64(len(dst)))
	if err != nil {
		return err
	}
	for _, h := range c.grids[i].slices(t.Shape) {
		both, ok := s.And(h.Slice)
		if !ok {
			continue
		}
		file := c.files[fileIndex(name, h.part)]
		in := both.From(h.Offset)
		if slices.Equal(both.Extent, s.Extent) {
			return file.read(&c.pool, name, in, dst)
		}
		buf := make([]byte, dtype.Bytes(t.DType, both.Elems()))
		if err := file.read(&c.pool, name, in, buf); err != nil {
			return err
		}
		to := safetensors.Tensor{Name: name, DType: t.DType, Shape: s.Extent}
		if err := both.From(s.Offset).Place(&to, dst, buf); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the files.
func (c *Checkpoint) Close() error {
	var errs []error
	for _, f := range c.files {
		errs = append(errs, c.pool.close(f))
	}
	return errors.Join(append(errs, c.pool.end())...)
}
