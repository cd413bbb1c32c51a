package weights

import (
	"errors"
	"io/fs"
	"path/filepath"

	"ptc/runtime/checkpoint"
	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/checkpoint/safetensors"
)

// File is a safetensors file as a [Source].
type File struct{ f *safetensors.File }

// OpenFile opens one.
func OpenFile(path string) (*File, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// Describe is the tensor of that path, or nil.
func (f *File) Describe(path string) *safetensors.Tensor { return f.f.Find(path) }

// ReadSlice reads a slice of a tensor.
func (f *File) ReadSlice(path string, s safetensors.Slice, dst []byte) error {
	return f.f.ReadSlice(path, s, dst)
}

// Close closes the file.
func (f *File) Close() { _ = f.f.Close() } // was only read

// Checkpoint is a checkpoint as a [Source].
type Checkpoint struct {
	c  *checkpoint.Checkpoint
	at map[string]*safetensors.Tensor
}

// OfCheckpoint is a checkpoint that is open.
func OfCheckpoint(c *checkpoint.Checkpoint) *Checkpoint {
	s := &Checkpoint{c: c, at: map[string]*safetensors.Tensor{}}
	for _, t := range c.Tensors() {
		own := t.Tensor
		s.at[t.Name] = &own
	}
	return s
}

// Describe is the tensor of that path, or nil.
func (s *Checkpoint) Describe(path string) *safetensors.Tensor { return s.at[path] }

// ReadSlice reads a slice of a tensor.
func (s *Checkpoint) ReadSlice(path string, at safetensors.Slice, dst []byte) error {
	return s.c.Read(path, at, dst)
}

// Close closes the checkpoint.
func (s *Checkpoint) Close() { _ = s.c.Close() } // was only read

// CopyOrigin copies the config and the tokenizer of a folder.
func CopyOrigin(from, to string) error {
	text, err := readIn(from, configFile, maxConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(to, configFile), text); err != nil {
		return err
	}
	return CopyTokenizer(from, to)
}
