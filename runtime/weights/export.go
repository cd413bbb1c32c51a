package weights

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/program"
)

// Source is parameters by their paths: a file, or a checkpoint.
type Source interface {
	// Describe is the tensor of that path, or nil.
	Describe(path string) *safetensors.Tensor
	ReadSlice(path string, s safetensors.Slice, dst []byte) error
}

// Options say how files are written.
type Options struct {
	DType  dtype.DType // of the elements; 0: as the source has each
	Shard  int64       // bytes of a file at most, where a tensor is not larger; 0: DefaultShard
	Origin string      // a folder with a tokenizer and a config of that; may be empty
	Base   string      // what an adapter says it is of: a folder or a name; may be empty
}

// DefaultShard is the size of files that others write.
const DefaultShard = 5 << 30

// tokenizers are the files of a tokenizer that are copied.
var tokenizers = []string{"added_tokens.json", "chat_template.jinja", "generation_config.json", "merges.txt", "special_tokens_map.json",
	"tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json"}

// Export writes a folder as transformers reads it.
func Export(src Source, n *program.Names, dir string, o Options) error {
	out, err := plan(src, n, o.DType)
	if err != nil {
		return err
	}
	if o.Shard == 0 {
		o.Shard = DefaultShard
	}
	return WriteFolder(dir, func(tmp string) error {
		if err := exportShards(src, n, out, tmp, o.Shard); err != nil {
			return err
		}
		var origin Config
		if o.Origin != "" {
			if origin, err = ReadConfig(o.Origin); err != nil && !os.IsNotExist(err) {
				return err
			}
			if err := CopyTokenizer(o.Origin, tmp); err != nil {
				return err
			}
		}
		text, err := config(n, origin, torchName(out))
		if err != nil {
			return err
		}
		return atomicfile.WriteFile(filepath.Join(tmp, configFile), text)
	})
}

// torchName is what transformers calls the element type of the first tensor.
func torchName(out []safetensors.Tensor) string {
	switch out[0].DType {
	case dtype.BF16:
		return "bfloat16"
	case dtype.F16:
		return "float16"
	}
	return "float32"
}

// plan is the tensors to be written, in order of the names. What the source lacks, or
// has in another shape, is an error.
func plan(src Source, n *program.Names, to dtype.DType) ([]safetensors.Tensor, error) {
	if n.Refuse != "" {
		return nil, fmt.Errorf("this model cannot be written as %s: %s", n.Format, n.Refuse)
	}
	var out []safetensors.Tensor
	for i := range n.Tensors {
		t := &n.Tensors[i]
		d := to
		for _, p := range t.Pieces {
			have := src.Describe(p.Param)
			if have == nil {
				return nil, fmt.Errorf("the checkpoint lacks the parameter %s", p.Param)
			}
			if !have.DType.IsFloat() || !inside(&p, have.Shape) {
				return nil, fmt.Errorf("the checkpoint has %s as %s%v, but the plan needs %v elements from %v on", p.Param, have.DType.Safetensors(), have.Shape, p.Extent, p.From)
			}
			if d == 0 {
				d = have.DType
			}
		}
		out = append(out, safetensors.Tensor{Name: t.Name, DType: d, Shape: shapeOf(t)})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the plan names no tensors")
	}
	return out, nil
}

func inside(p *program.Piece, shape []int64) bool {
	if len(shape) != len(p.From) {
		return false
	}
	for a, n := range shape {
		if p.From[a] > n || p.Extent[a] > n-p.From[a] {
			return false
		}
	}
	return true
}

// exportShards writes the files of tensors, and their index where there are several.
func exportShards(src Source, n *program.Names, out []safetensors.Tensor, dir string, most int64) error {
	var files [][]int
	bytes, total := int64(0), int64(0)
	for i := range out {
		b := out[i].Bytes()
		if len(files) == 0 || bytes+b > most {
			files, bytes = append(files, nil), 0
		}
		files[len(files)-1] = append(files[len(files)-1], i)
		bytes, total = bytes+b, total+b
	}
	where := map[string]string{}
	for k, list := range files {
		name := wholeFile
		if len(files) > 1 {
			name = fmt.Sprintf("model-%05d-of-%05d.safetensors", k+1, len(files))
		}
		var tensors []safetensors.Tensor
		for _, i := range list {
			tensors = append(tensors, out[i])
			where[out[i].Name] = name
		}
		err := safetensors.WriteFile(filepath.Join(dir, name), tensors, map[string]string{"format": "pt"}, func(w *safetensors.Writer) error {
			for _, i := range list {
				err := pieces(src, &n.Tensors[i], out[i].DType, func(at safetensors.Slice, data []byte) error {
					return w.WriteSlice(out[i].Name, at, data)
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(files) == 1 {
		return nil
	}
	return atomicfile.WriteJSON(filepath.Join(dir, indexFile), map[string]any{"metadata": map[string]int64{"total_size": total}, "weight_map": where})
}

// pieces gives the pieces of a tensor, in their order and as elements of type d.
func pieces(src Source, t *program.Named, d dtype.DType, write func(at safetensors.Slice, data []byte) error) error {
	behind := int64(0)
	for i := range t.Pieces {
		p := &t.Pieces[i]
		from := src.Describe(p.Param).DType
		data := make([]byte, dtype.Bytes(from, elems(p.Extent)))
		if err := src.ReadSlice(p.Param, safetensors.Slice{Offset: p.From, Extent: p.Extent}, data); err != nil {
			return err
		}
		ordered := make([]byte, len(data))
		permute(ordered, data, from.Size(), p.View, p.Order)
		at := safetensors.Slice{Offset: make([]int64, len(p.Shape)), Extent: slices.Clone(p.Shape)}
		if len(p.Shape) > 0 {
			at.Offset[t.Over] = behind
			behind += p.Shape[t.Over]
		}
		if err := write(at, convert(ordered, from, d)); err != nil {
			return err
		}
	}
	return nil
}

// convert rounds elements to another type, to nearest, ties to even.
func convert(src []byte, from, to dtype.DType) []byte {
	if from == to {
		return src
	}
	const block = 1 << 12
	n := dtype.Elems(from, len(src))
	out := make([]byte, dtype.Bytes(to, n))
	var x [block]float64
	for i := 0; i < n; i += block {
		k := min(block, n-i)
		from.Decode(x[:k], src[i*from.Size():])
		to.Encode(out[i*to.Size():(i+k)*to.Size()], x[:k])
	}
	return out
}

// WriteFolder makes a folder that appears whole or not at all. One that is there must
// be empty.
func WriteFolder(dir string, fill func(tmp string) error) error {
	if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
		return fmt.Errorf("%s is not empty", dir)
	} else if err != nil && !os.IsNotExist(err) {
		return err
	}
	clean := filepath.Clean(dir)
	tmp := filepath.Join(filepath.Dir(clean), fmt.Sprintf(".%s.tmp-%d", filepath.Base(clean), os.Getpid()))
	if err := os.Mkdir(tmp, 0o777); err != nil {
		var p *fs.PathError
		if errors.As(err, &p) { // the user knows the folder, and not the one next to it
			err = p.Err
		}
		return fmt.Errorf("cannot make %s: %w", dir, err)
	}
	defer os.RemoveAll(tmp) // nothing is there after a rename
	if err := fill(tmp); err != nil {
		return err
	}
	if err := os.Remove(clean); err != nil && !os.IsNotExist(err) { // an empty one
		return err
	}
	if err := os.Rename(tmp, clean); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(clean))
}

// CopyTokenizer copies the files of a tokenizer, as far as there are any.
func CopyTokenizer(from, to string) error {
	for _, name := range tokenizers {
		text, err := readIn(from, name, maxTokenizer)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		if err := atomicfile.WriteFile(filepath.Join(to, name), text); err != nil {
			return err
		}
	}
	return nil
}

// maxTokenizer bounds a file of a tokenizer, in bytes.
const maxTokenizer = 256 << 20
