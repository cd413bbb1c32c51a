package checkpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/storage"
)

// dataFile is one of the files of a checkpoint, which is opened when something of it is read.
type dataFile struct {
	want    manifestFile
	step    int64                // of which it has to be
	tensors []safetensors.Tensor // that it has to have, or slices of them, in order of name

	mu sync.RWMutex // locked to open and to close it
	f  storage.File
	r  *safetensors.Reader
}

// maxOpen is how many files of a checkpoint are open at once: processes may have few descriptors, and a checkpoint
// thousands of parts.
var maxOpen = 128

// pool is the files of a checkpoint that are open.
type pool struct {
	root   folder // nil: the checkpoint is closed
	mu     sync.Mutex
	opened []*dataFile // the one opened first first
}

// note counts a file that was opened, and closes one that nobody reads where there are too many.
func (p *pool) note(d *dataFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened = append(p.opened, d); len(p.opened) <= maxOpen {
		return
	}
	for i, old := range p.opened {
		if old != d && old.mu.TryLock() {
			_ = old.shut() // was only read
			old.mu.Unlock()
			p.opened = slices.Delete(p.opened, i, i+1)
			return
		}
	}
}

func (p *pool) close(d *dataFile) error {
	p.mu.Lock()
	p.opened = slices.DeleteFunc(p.opened, func(x *dataFile) bool { return x == d })
	p.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shut()
}

// end closes the folder, of which no file is open.
func (p *pool) end() error {
	if p.root == nil {
		return nil
	}
	err := p.root.Close()
	p.root = nil
	return err
}

// verify opens the file, and holds it to its hash.
func (d *dataFile) verify(p *pool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := p.root.open(d.want.Name)
	if err != nil {
		return err
	}
	d.f = f
	p.note(d)
	got, err := hashFile(f, f.Size(), d.want.Name)
	switch {
	case err != nil:
		return err
	case got.Bytes != d.want.Bytes:
		return d.otherSize(got.Bytes)
	case got.SHA256 != d.want.SHA256:
		return fmt.Errorf("%s has changed since it was saved: its SHA-256 differs", d.want.Name)
	}
	return d.header()
}

func (d *dataFile) otherSize(bytes int64) error {
	return fmt.Errorf("%s has %d bytes, but %d were saved", d.want.Name, bytes, d.want.Bytes)
}

// read reads a slice of what the file has, whose hash was compared before, by this process or another one.
func (d *dataFile) read(p *pool, name string, s Slice, dst []byte) error {
	for {
		d.mu.RLock()
		if d.r != nil {
			defer d.mu.RUnlock()
			return d.r.ReadSlice(name, s, dst)
		}
		d.mu.RUnlock()
		if err := d.open(p); err != nil {
			return err
		}
	}
}

// open opens the file, if it is not.
func (d *dataFile) open(p *pool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.r != nil {
		return nil
	}
	if p.root == nil {
		return fmt.Errorf("%s is closed", d.want.Name)
	}
	f, err := p.root.open(d.want.Name)
	if err != nil {
		return err
	}
	d.f = f
	if f.Size() != d.want.Bytes {
		err = d.otherSize(f.Size())
	} else {
		err = d.header()
	}
	if err != nil {
		_ = d.shut() // was only read
		return err
	}
	p.note(d)
	return nil
}

// header reads the header, and holds it to the manifest.
func (d *dataFile) header() error {
	r, err := safetensors.NewReader(d.f, d.want.Bytes)
	if err != nil {
		return fmt.Errorf("%s: %w", d.want.Name, err)
	}
	if step := r.Metadata()[stepKey]; step != strconv.FormatInt(d.step, 10) {
		return fmt.Errorf("%s has step %d, but %s has step %q", manifestName, d.step, d.want.Name, step)
	}
	if n := len(r.Tensors()); n != len(d.tensors) {
		return fmt.Errorf("%s lists %d tensors in %s, but the file has %d", manifestName, len(d.tensors), d.want.Name, n)
	}
	for _, t := range r.Tensors() {
		i, ok := slices.BinarySearchFunc(d.tensors, t.Name, func(x safetensors.Tensor, name string) int { return strings.Compare(x.Name, name) })
		if !ok || d.tensors[i].DType != t.DType || !slices.Equal(d.tensors[i].Shape, t.Shape) {
			return fmt.Errorf("%s has %q as %s%v, which %s does not list", d.want.Name, t.Name, t.DType.Safetensors(), t.Shape, manifestName)
		}
	}
	d.r = r
	return nil
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
