package checkpoint

import (
	"strings"

	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/storage"
)

// Values are tensors that can be read by name: of a safetensors file, or of the parameters of a checkpoint,
// whichever files these are in.
type Values interface {
	// Tensors lists them, in order of name. It is not to be changed.
	Tensors() []safetensors.Tensor
	// ReadSlice reads a slice of a tensor into dst, which must have its size.
	ReadSlice(name string, s Slice, dst []byte) error
	Close() error
}

// OpenValues opens a safetensors file, or the folder of one checkpoint, whose hashes it compares. Of several
// processes all call it for the same place, and have an error if one has; p is nil where there is one.
func OpenValues(p *Peers, place string) (Values, error) {
	folder, err := isCheckpoint(place)
	if err == nil && folder {
		c, err := loadWith(place, p)
		if err != nil {
			return nil, err
		}
		return paramValues(c), nil
	}
	var f *safetensors.File
	if err == nil {
		f, err = safetensors.Open(place)
	}
	if p != nil {
		err = p.Agree(err)
	}
	if err == nil {
		return f, nil
	}
	if f != nil {
		_ = f.Close()
	}
	return nil, err
}

// Witness is the file whose bytes stand for all of what OpenValues reads: of a checkpoint, its manifest has the hashes
// of the others.
func Witness(place string) (string, error) {
	folder, err := isCheckpoint(place)
	if folder {
		place = storage.Join(place, manifestName)
	}
	return place, err
}

// isCheckpoint says whether a place is the folder of a checkpoint. A name that files have is taken for one.
func isCheckpoint(place string) (bool, error) {
	if strings.HasSuffix(place, ".safetensors") {
		return false, nil
	}
	return storage.Exists(storage.Join(place, manifestName))
}

// params are the parameters of a checkpoint.
type params struct {
	*Checkpoint
	list []safetensors.Tensor
}

func paramValues(c *Checkpoint) params {
	v := params{Checkpoint: c}
	for _, t := range c.tensors {
		if fileOf(t.Name) == modelFile {
			v.list = append(v.list, t.Tensor)
		}
	}
	return v
}

func (v params) Tensors() []safetensors.Tensor { return v.list }

func (v params) ReadSlice(name string, s Slice, dst []byte) error { return v.Read(name, s, dst) }

// ParamsPlace is what has the parameters, for OpenValues: a file, or of a checkpoint in parts its folder.
func (c *Checkpoint) ParamsPlace() string {
	if c.parts > 0 {
		return c.Dir
	}
	return storage.Join(c.Dir, modelFile)
}
