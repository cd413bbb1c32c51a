package weights

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/program"
)

// ErrFit marks an error about tensors that are not those of a model of these sizes. It has no text
// of its own.
var ErrFit = errors.New("")

// part is a piece of a tensor: where a parameter comes from.
type part struct {
	tensor string // as the file calls it
	full   string // as the names do
	piece  *program.Piece
	at     safetensors.Slice // of the tensor
}

// Import writes the parameters that a folder has, by their paths and in the element
// type of the folder, to the file at path.
func Import(f *Folder, n *program.Names, path string) error {
	parts, err := f.match(n)
	if err != nil {
		return err
	}
	var tensors []safetensors.Tensor
	for p, list := range parts {
		t := safetensors.Tensor{Name: p, DType: f.dtypeOf(list[0].tensor), Shape: make([]int64, len(list[0].piece.From))}
		for _, x := range list {
			if d := f.dtypeOf(x.tensor); d != t.DType {
				return fmt.Errorf("%s: %s is %s, and %s is %s: they are parts of one parameter", f.dir, x.tensor, d, list[0].tensor, t.DType)
			}
			for a, from := range x.piece.From {
				t.Shape[a] = max(t.Shape[a], from+x.piece.Extent[a])
			}
		}
		tensors = append(tensors, t)
	}
	for _, x := range f.apart {
		tensors = append(tensors, safetensors.Tensor{Name: x.path, DType: dtype.F32, Shape: x.shape})
	}
	slices.SortFunc(tensors, func(a, b safetensors.Tensor) int { return strings.Compare(a.Name, b.Name) })
	about := map[string]string{"producer": "ptc", "family": n.Family}
	return safetensors.WriteFile(path, tensors, about, func(w *safetensors.Writer) error {
		for _, x := range f.apart {
			data := make([]byte, 4*len(x.x))
			dtype.F32.Encode(data, x.x)
			if err := w.WriteSlice(x.path, safetensors.Slice{}, data); err != nil {
				return err
			}
		}
		for _, t := range tensors {
			for _, x := range parts[t.Name] {
				if err := f.copy(w, x, t.DType.Size()); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// copy moves one piece.
func (f *Folder) copy(w *safetensors.Writer, x part, size int) error {
	src := make([]byte, elems(x.piece.Shape)*int64(size))
	if err := f.at[x.tensor].ReadSlice(x.tensor, x.at, src); err != nil {
		return err
	}
	if f.adapt != nil {
		if err := f.adapt.change(x.full, x.at, src, f.dtypeOf(x.tensor), f.apart == nil); err != nil {
			return err
		}
	}
	dst := make([]byte, len(src))
	view, order := inverse(x.piece)
	permute(dst, src, size, view, order)
	return w.WriteSlice(x.piece.Param, safetensors.Slice{Offset: x.piece.From, Extent: x.piece.Extent}, dst)
}

func (f *Folder) dtypeOf(tensor string) dtype.DType { return f.at[tensor].Find(tensor).DType }

// match holds the tensors of the folder against the names, and gives the parts of each
// parameter, in the order of the names.
func (f *Folder) match(n *program.Names) (map[string][]part, error) {
	strip := n.Prefix
	for name := range f.at {
		if n.Prefix != "" && strings.HasPrefix(name, n.Prefix) {
			strip = ""
		}
	}
	out := map[string][]part{}
	known := map[string]bool{}
	var missing []string
	for i := range n.Tensors {
		t := &n.Tensors[i]
		name := strings.TrimPrefix(t.Name, strip)
		known[name] = true
		file := f.at[name]
		if file == nil {
			missing = append(missing, name)
			continue
		}
		have, want := file.Find(name), shapeOf(t)
		if !slices.Equal(have.Shape, want) {
			return nil, fmt.Errorf("%s: the tensor %s has the shape %v, but the model's is %v%w", f.dir, name, have.Shape, want, ErrFit)
		}
		switch have.DType {
		case dtype.F32, dtype.F16, dtype.BF16:
		default:
			return nil, fmt.Errorf("%s: the tensor %s is of %s; expected F32, F16 or BF16", f.dir, name, have.DType.Safetensors())
		}
		behind := int64(0)
		for j := range t.Pieces {
			p := &t.Pieces[j]
			at := safetensors.Slice{Offset: make([]int64, len(want)), Extent: slices.Clone(p.Shape)}
			if len(want) > 0 {
				at.Offset[t.Over] = behind
				behind += p.Shape[t.Over]
			}
			out[p.Param] = append(out[p.Param], part{name, t.Name, p, at})
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s lacks %s%w", f.dir, few(missing), ErrFit)
	}
	if err := f.unknown(n, strip, known); err != nil {
		return nil, err
	}
	return out, f.tied(n, strip, known)
}

// unknown reports tensors that the names do not have.
func (f *Folder) unknown(n *program.Names, strip string, known map[string]bool) error {
	var skip []*regexp.Regexp
	for _, s := range n.Skip {
		quoted := regexp.QuoteMeta(strings.TrimPrefix(s, strip))
		r, err := regexp.Compile("^" + openNumber.ReplaceAllString(quoted, `[0-9]+`) + "$")
		if err != nil {
			return fmt.Errorf("the name %q: %w", s, err)
		}
		skip = append(skip, r)
	}
	var extra []string
	for name := range f.at {
		if !known[name] && !slices.ContainsFunc(skip, func(r *regexp.Regexp) bool { return r.MatchString(name) }) {
			extra = append(extra, name)
		}
	}
	if len(extra) > 0 {
		slices.Sort(extra)
		return fmt.Errorf("%s has tensors that a model of the family %s does not: %s%w", f.dir, n.Family, few(extra), ErrFit)
	}
	return nil
}

// openNumber is {i} with its braces quoted.
var openNumber = regexp.MustCompile(`\\\{[A-Za-z_]\w*\\\}`)

// few joins names, at most five of them.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
