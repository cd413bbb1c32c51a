package train

import (
	"fmt"

	"ptc/runtime/checkpoint/safetensors"
)

// dumpGrads runs the step that was fed and writes its gradients as they are
// computed, as f32, or f64 where that is what the plan computes in. Memory is
// that of the largest part of one.
func (r *run) dumpGrads(step int64) error {
	path := r.o.DumpGrads
	if !r.root() {
		return r.written(r.dev.stepWithGradients(nil))
	}
	grads, err := r.dev.gradients()
	if err != nil {
		return err
	}
	if len(grads) == 0 {
		return errorf(ExitFile, "the plan gives no gradients to write to %s", path)
	}
	var list []safetensors.Tensor
	for _, g := range grads {
		list = append(list, g.Tensor)
	}
	about := map[string]string{"producer": "ptc", "step": fmt.Sprint(step)}
	err = safetensors.WriteFile(path, list, about, func(w *safetensors.Writer) error {
		err := r.dev.stepWithGradients(w.WriteSlice)
		r.gathered()
		return err
	})
	if err != nil {
		err = fileError(err, "the gradients cannot be written to %s", path)
	}
	return r.written(err)
}
