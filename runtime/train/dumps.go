package train

import (
	"fmt"

	"ptc/runtime/checkpoint/safetensors"
)

// dumpGrads runs the step that was fed and writes its gradients, as f32, as
// they are computed: memory is that of the largest one.
func (r *run) dumpGrads(step int64) error {
	path := r.o.DumpGrads
	grads, err := r.dev.gradients()
	if err != nil {
		return err
	}
	if len(grads) == 0 {
		return errorf(ExitFile, "the plan gives no gradients to write to %s", path)
	}
	var list []safetensors.Tensor
	for _, g := range grads {
		list = append(list, safetensors.Tensor{Name: g.Name, DType: g.DType, Shape: g.Shape})
	}
	about := map[string]string{"producer": "ptc", "step": fmt.Sprint(step)}
	err = safetensors.WriteFile(path, list, about, func(w *safetensors.Writer) error {
		return r.dev.stepWithGradients(func(path string, whole []byte) error {
			return w.WriteSlice(path, safetensors.Slice{}, whole)
		})
	})
	if err != nil {
		return fileError(err, "the gradients cannot be written to %s", path)
	}
	return nil
}
