package train

import (
	"fmt"
	"slices"

	"ptc/runtime/checkpoint"
	"ptc/runtime/checkpoint/safetensors"
)

// saveTensors writes a safetensors file of tensors that read gives, in the type
// and order of the list, and calls gathered after the last.
func saveTensors(path string, tensors []checkpoint.Tensor, step int64, read func(t checkpoint.Tensor, dst []byte) error, gathered func()) error {
	var list []safetensors.Tensor
	most := int64(0)
	for _, t := range tensors {
		list = append(list, t.Tensor)
		most = max(most, t.Bytes())
	}
	buf := make([]byte, most)
	about := map[string]string{"producer": "ptc", "step": fmt.Sprint(step)}
	return safetensors.WriteFile(path, list, about, func(w *safetensors.Writer) error {
		for _, t := range tensors {
			dst := buf[:t.Bytes()]
			if err := read(t, dst); err != nil {
				return err
			}
			if err := w.WriteSlice(t.Name, safetensors.Slice{}, dst); err != nil {
				return err
			}
		}
		gathered()
		return nil
	})
}

// saved is a parameter as a file for others has it, and the tensor that it is of.
type saved struct {
	checkpoint.Tensor
	from string
}

// savedFrom are the parameters, each of the tensor that from gives for it, where there
// is one, and of itself elsewhere. Narrow floats are in what they are computed in: f32.
func savedFrom(tensors []checkpoint.Tensor, from func(param string) string) []saved {
	var out []saved
	for _, t := range params(tensors) {
		s := saved{t, t.Name}
		if name := from(t.Name); contains(tensors, name) {
			s.from = name
		}
		s.DType = s.DType.Acc()
		out = append(out, s)
	}
	return out
}

func itself(param string) string { return param }

// averageOf is the state that holds the average of a parameter.
func averageOf(param string) string { return param + "/average" }

// saveParams writes the parameters. It calls gathered when it has all of them.
func saveParams(path string, ps []saved, step int64, dev *devices, gathered func()) error {
	ps = slices.Clone(ps)
	slices.SortFunc(ps, func(a, b saved) int { return safetensors.FileOrder(&a.Tensor.Tensor, &b.Tensor.Tensor) })
	of := make([]checkpoint.Tensor, len(ps))
	as, from := slices.Clone(of), map[string]checkpoint.Tensor{}
	for i, p := range ps {
		as[i], of[i] = p.Tensor, p.Tensor
		of[i].Name = p.from
		from[p.Name] = of[i]
	}
	if !dev.m.Root() {
		return dev.readAll(of)
	}
	err := saveTensors(path, as, step, func(t checkpoint.Tensor, dst []byte) error { return dev.read(from[t.Name], dst) }, gathered)
	if err != nil {
		return fileError(err, "the parameters cannot be saved to %s", path)
	}
	return nil
}
