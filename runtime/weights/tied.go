package weights

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/program"
)

// compareBytes bounds what is read at once of two tensors that are compared.
const compareBytes = 1 << 22

// tied holds the tensors that the names skip, one by one, against those of the model. Where the
// embedding is the output, a file may have an output nevertheless, and its program then takes that,
// if it is another one. Skipped names with an open number are of what each layer has, such as a
// mask, and no program takes them for a parameter.
func (f *Folder) tied(n *program.Names, strip string, known map[string]bool) error {
	for _, s := range n.Skip {
		name := strings.TrimPrefix(s, strip)
		if f.at[name] == nil || known[name] || strings.Contains(name, "{") {
			continue
		}
		if err := f.copies(n, name, known); err != nil {
			return err
		}
	}
	return nil
}

// copies is an error where a tensor is none of the model's, bit by bit.
func (f *Folder) copies(n *program.Names, skipped string, known map[string]bool) error {
	out := f.at[skipped].Find(skipped)
	for name := range known {
		other := f.at[name].Find(name)
		if other.DType != out.DType || !slices.Equal(other.Shape, out.Shape) {
			continue
		}
		same, err := f.equal(skipped, name)
		if same || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: the tensor %s is not the embedding, and the output of this model of the family %s is; with \"tie_word_embeddings\": false in %s it is one of its own",
		f.dir, skipped, n.Family, configFile)
}

// equal compares two tensors of one shape and type, bit by bit.
func (f *Folder) equal(a, b string) (bool, error) {
	t := f.at[a].Find(a)
	if len(t.Shape) == 0 || t.Bytes() == 0 {
		return true, nil
	}
	row := t.Bytes() / t.Shape[0]
	step := max(1, compareBytes/row)
	x, y := make([]byte, step*row), make([]byte, step*row)
	for at := int64(0); at < t.Shape[0]; at += step {
		s := safetensors.Slice{Offset: make([]int64, len(t.Shape)), Extent: slices.Clone(t.Shape)}
		s.Offset[0], s.Extent[0] = at, min(step, t.Shape[0]-at)
		n := s.Extent[0] * row
		if err := f.at[a].ReadSlice(a, s, x[:n]); err != nil {
			return false, err
		}
		if err := f.at[b].ReadSlice(b, s, y[:n]); err != nil {
			return false, err
		}
		if !bytes.Equal(x[:n], y[:n]) {
			return false, nil
		}
	}
	return true, nil
}
