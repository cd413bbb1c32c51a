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

	mu sync.RWMutex // locked to open and to close it
	f  storage.File
	r  *safetensors.Reader
}

// maxOpen is how many files of a checkpoint are open at once: processes may have few descriptors, and a checkpoint
// thousands of parts.
var maxOpen = 128

// note counts a file that was opened, and closes one that nobody reads where there are too many.
func (c *Checkpoint) note(d *dataFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened = append(c.opened, d); len(c.opened) <= maxOpen {
		return
	}
	for i, old := range c.opened {
		if old != d && old.mu.TryLock() {
			_ = old.shut() // was only read
			old.mu.Unlock()
			c.opened = slices.Delete(c.opened, i, i+1)
			return
		}
	}
}

// verify opens the file, and holds it to its hash.
func (d *dataFile) verify(c *Checkpoint) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := c.root.open(d.want.Name)
	if err != nil {
		return err
	}
	d.f = f
	c.note(d)
	got, err := hashFile(f, d.want.Name)
	switch {
	case err != nil:
		return err
	case got.Bytes != d.want.Bytes:
		return d.otherSize(got.Bytes)
	case got.SHA256 != d.want.SHA256:
		return fmt.Errorf("%s is not what was saved: its SHA-256 differs", d.want.Name)
	}
	return d.header(c)
}

func (d *dataFile) otherSize(bytes int64) error {
	return fmt.Errorf("%s has %d bytes, %d were saved", d.want.Name, bytes, d.want.Bytes)
}

// read reads a slice of what the file has, whose hash was compared before, by this process or another one.
func (d *dataFile) read(c *Checkpoint, name string, s Slice, dst []byte) error {
	for {
		d.mu.RLock()
		if d.r != nil {
			defer d.mu.RUnlock()
			return d.r.ReadSlice(name, s, dst)
		}
		d.mu.RUnlock()
		if err := d.open(c); err != nil {
			return err
		}
	}
}

// open opens the file, if it is not.
func (d *dataFile) open(c *Checkpoint) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.r != nil {
		return nil
	}
	if c.root == nil {
		return fmt.Errorf("%s is closed", d.want.Name)
	}
	f, err := c.root.open(d.want.Name)
	if err != nil {
		return err
	}
	d.f = f
	if f.Size() != d.want.Bytes {
		err = d.otherSize(f.Size())
	} else {
		err = d.header(c)
	}
	if err != nil {
		_ = d.shut() // was only read
		return err
	}
	c.note(d)
	return nil
}

// header reads the header, and holds it to the manifest.
func (d *dataFile) header(c *Checkpoint) error {
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

func (c *Checkpoint) close(d *dataFile) error {
	c.mu.Lock()
	c.opened = slices.DeleteFunc(c.opened, func(x *dataFile) bool { return x == d })
	c.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shut()
}

// shut closes the file, which is locked.
func (d *dataFile) shut() error {
	if d.f == nil {
		return nil
	}
	err := d.f.Close()
	d.f, d.r = nil, nil
	return err
}
