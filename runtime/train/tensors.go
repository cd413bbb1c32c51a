package train

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/program"
	"ptc/runtime/storage"
)

// planTensors lists the global tensors that live between steps, on whichever
// devices, in order of path.
func planTensors(plan *program.Plan) ([]checkpoint.Tensor, error) {
	var out []checkpoint.Tensor
	for i := range plan.Devices {
		d := &plan.Devices[i]
		for _, t := range d.Tensors {
			g, err := globalTensor(t.Path, &d.Buffers[t.Buffer])
			if err != nil {
				return nil, err
			}
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(a, b checkpoint.Tensor) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b checkpoint.Tensor) bool { return a.Name == b.Name }), nil
}

func globalTensor(path string, b *program.Buffer) (checkpoint.Tensor, error) {
	d, ok := dtype.Parse(b.DType)
	t := checkpoint.Tensor{Tensor: safetensors.Tensor{Name: path, DType: d}}
	if !ok {
		return t, errorf(ExitFile, "the plan has the tensor %s of type %q, which ptc cannot save", path, b.DType)
	}
	for _, a := range b.Axes {
		t.Shape = append(t.Shape, int64(a.Global))
		t.Axes = append(t.Axes, a.Name)
	}
	return t, nil
}

// isParam tells parameters from states, whose path has a slash.
func isParam(t checkpoint.Tensor) bool { return !strings.Contains(t.Name, "/") }

// isAverage tells the averages of parameters that optimizers keep.
func isAverage(t checkpoint.Tensor) bool { return strings.HasSuffix(t.Name, "/average") }

// params are the parameters among tensors.
func params(tensors []checkpoint.Tensor) []checkpoint.Tensor {
	return slices.DeleteFunc(slices.Clone(tensors), func(t checkpoint.Tensor) bool { return !isParam(t) })
}

// contains says whether a tensor of that name is among tensors, which are in order of name.
func contains(ts []checkpoint.Tensor, name string) bool {
	_, found := slices.BinarySearchFunc(ts, name, func(t checkpoint.Tensor, n string) int { return strings.Compare(t.Name, n) })
	return found
}

// count is the number of elements of all the tensors.
func count(ts []checkpoint.Tensor) (n int64) {
	for _, t := range ts {
		n += safetensors.Slice{Extent: t.Shape}.Elems()
	}
	return n
}

// compare says in which way the tensors of a file are not those that are
// wanted, or "". Of many it names a few. Types need not agree where one can be
// converted into the other.
func compare(want, have []checkpoint.Tensor) string {
	var missing, extra, wrong []string
	i, j := 0, 0 // both are in order of name
	for i < len(want) || j < len(have) {
		switch {
		case j == len(have) || i < len(want) && want[i].Name < have[j].Name:
			missing = append(missing, want[i].Name)
			i++
		case i == len(want) || have[j].Name < want[i].Name:
			extra = append(extra, have[j].Name)
			j++
		default:
			w, h := want[i], have[j]
			if !slices.Equal(w.Shape, h.Shape) || w.DType != h.DType && !(w.DType.IsFloat() && h.DType.IsFloat()) {
				wrong = append(wrong, fmt.Sprintf("%s is %s%v, not %s%v", w.Name, h.DType.Safetensors(), h.Shape, w.DType.Safetensors(), w.Shape))
			}
			i, j = i+1, j+1
		}
	}
	var parts []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"missing: ", missing}, {"unknown: ", extra}, {"", wrong}} {
		if len(p.names) > 0 {
			parts = append(parts, p.what+few(p.names))
		}
	}
	return strings.Join(parts, "; ")
}

// few joins names, at most maxNamed of them.
func few(names []string) string {
	const maxNamed = 5
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// probe finds out before the first step whether a file could be written.
func probe(path string) error {
	if err := storage.Probe(path); err != nil {
		return fileError(err, "ptc cannot write %s", path)
	}
	return nil
}

// probeLocal is probe for files that grow while they are written, which objects do not.
func probeLocal(path string) error {
	if storage.Remote(path) {
		return errorf(ExitUsage, "ptc cannot write %s: only parameters and checkpoints may be in an object store; name a file of this machine", path)
	}
	return probe(path)
}
