package train

import (
	"fmt"
	"slices"

	"ptc/runtime/checkpoint"
	"ptc/runtime/checkpoint/safetensors"
)

// openInit opens what Options.Init names. All processes do so together.
func openInit(p *processes, path string) (checkpoint.Values, error) {
	v, err := checkpoint.OpenValues(p.peers(), path)
	if err != nil {
		return nil, p.everyones(fileError(err, "ptc cannot use the initial parameters %s", path))
	}
	return v, nil
}

// loadParams gives every parameter the value that f, which Options.Init names, has for it,
// and its copy in more bits, if it has one. What the file may lack keeps the value with
// which training from nothing starts.
func loadParams(j *job, dev *devices, f checkpoint.Values) error {
	path := j.o.Init
	var have []checkpoint.Tensor
	for _, t := range f.Tensors() {
		have = append(have, checkpoint.Tensor{Tensor: t})
	}
	want, have, err := common(j, params(j.tensors), have)
	if err != nil {
		return err
	}
	if diff := compare(want, have); diff != "" {
		return errorf(ExitFile, "the initial parameters %s do not match this model: %s", path, diff)
	}
	for i, t := range want {
		for _, into := range append(dev.copies(t), t) {
			err := dev.load(into, have[i].DType, func(box safetensors.Slice, dst []byte) error {
				return f.ReadSlice(t.Name, box, dst)
			})
			if err != nil {
				return fileError(err, "ptc cannot use the initial parameters %s", path)
			}
		}
	}
	return nil
}

// common leaves out what may be on one side alone, and tells of it: but for adapters,
// which a base never has.
func common(j *job, want, have []checkpoint.Tensor) (both, of []checkpoint.Tensor, err error) {
	var missing, extra []string
	both = slices.DeleteFunc(slices.Clone(want), func(t checkpoint.Tensor) bool {
		part := j.plan.Adapters.Has(t.Name)
		lacks := !contains(have, t.Name) && (j.o.InitPartial || part)
		if lacks && !part {
			missing = append(missing, t.Name)
		}
		return lacks
	})
	of = slices.DeleteFunc(slices.Clone(have), func(t checkpoint.Tensor) bool {
		more := j.o.InitPartial && !contains(want, t.Name)
		if more {
			extra = append(extra, t.Name)
		}
		return more
	})
	if len(both) == 0 {
		return nil, nil, errorf(ExitFile, "the initial parameters %s have no parameter of this model", j.o.Init)
	}
	if len(missing) > 0 {
		j.log.warn(j.o.Init + " lacks parameters, which start as the model initializes them: " + few(missing))
	}
	if len(extra) > 0 {
		j.log.warn(j.o.Init + " has parameters that the model lacks, and ptc ignores them: " + few(extra))
	}
	return both, of, nil
}

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
		return fileError(err, "ptc cannot save the parameters to %s", path)
	}
	return nil
}
