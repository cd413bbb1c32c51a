package checkpoint

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/storage"
)

// dataFile is one of the files of a checkpoint, which is opened when something of it is read.
type dataFile struct {
	want    manifestFile
	tensors int // that it has to have, or slices of them

	mu sync.Mutex
	f  storage.File
	r  *safetensors.Reader
}

// verify opens the file, and holds it to its hash.
func (d *dataFile) verify(c *Checkpoint) error {
	f, err := c.root.open(d.want.Name)
	if err != nil {
		return err
	}
	d.f = f
	got, err := hashFile(f, d.want.Name)
	switch {
	case err != nil:
		return err
	case got.Bytes != d.want.Bytes:
		return d.otherSize(got.Bytes)
	case got.SHA256 != d.want.SHA256:
		return fmt.Errorf("%s is not what was saved: its SHA-256 differs", d.want.Name)
	}
	return d.read(c)
}

func (d *dataFile) otherSize(bytes int64) error {
	return fmt.Errorf("%s has %d bytes, %d were saved", d.want.Name, bytes, d.want.Bytes)
}

// open gives the tensors of the file, whose hash was compared before, by this process or another one.
func (d *dataFile) open(c *Checkpoint) (*safetensors.Reader, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.r != nil {
		return d.r, nil
	}
	if c.root == nil {
		return nil, fmt.Errorf("%s is closed", d.want.Name)
	}
	f, err := c.root.open(d.want.Name)
	if err != nil {
		return nil, err
	}
	d.f = f
	if f.Size() != d.want.Bytes {
		err = d.otherSize(f.Size())
	} else {
		err = d.read(c)
	}
	if err != nil {
		_ = f.Close()
		d.f = nil
		return nil, err
	}
	return d.r, nil
}

// read reads the header, and holds it to the manifest.
func (d *dataFile) read(c *Checkpoint) error {
	r, err := safetensors.NewReader(d.f, d.want.Bytes)
	if err != nil {
		return fmt.Errorf("%s: %w", d.want.Name, err)
	}
	if step := r.Metadata()[stepKey]; step != strconv.FormatInt(c.Meta.Step, 10) {
		return fmt.Errorf("%s has step %d, and %s step %q", manifestName, c.Meta.Step, d.want.Name, step)
	}
	if n := len(r.Tensors()); n != d.tensors {
		return fmt.Errorf("%s lists %d tensors of %s, which has %d", manifestName, d.tensors, d.want.Name, n)
	}
	for _, t := range r.Tensors() {
		if !c.has(d, &t) {
			return fmt.Errorf("%s has %q as %s%v, which %s does not list", d.want.Name, t.Name, t.DType.Safetensors(), t.Shape, manifestName)
		}
	}
	d.r = r
	return nil
}

// has says whether the manifest lists what a file has.
func (c *Checkpoint) has(d *dataFile, t *safetensors.Tensor) bool {
	i := c.find(t.Name)
	if i < 0 || c.tensors[i].DType != t.DType {
		return false
	}
	shape := c.tensors[i].Shape
	if c.parts == 0 {
		return c.files[fileIndex(t.Name, 0)] == d && slices.Equal(shape, t.Shape)
	}
	part := slices.Index(c.files, d)/len(dataFiles) + 1
	s, ok := c.grids[i].of(part, shape)
	return ok && c.files[fileIndex(t.Name, part)] == d && slices.Equal(s.Extent, t.Shape)
}

func (d *dataFile) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.f == nil {
		return nil
	}
	err := d.f.Close()
	d.f, d.r = nil, nil
	return err
}
