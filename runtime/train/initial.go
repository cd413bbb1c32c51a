package train

import (
	"slices"

	"ptc/runtime/checkpoint"
	"ptc/runtime/checkpoint/safetensors"
)

// openInit opens what Options.Init names. All processes do so together.
func openInit(p *processes, path string) (checkpoint.Values, error) {
	v, err := checkpoint.OpenValues(p.peers(), path)
	if err != nil {
		return nil, p.everyones(fileError(err, "the initial parameters %s cannot be used", path))
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
		return errorf(ExitFile, "the initial parameters %s are not those of this model: %s", path, diff)
	}
	for i, t := range want {
		for _, into := range append(dev.copies(t), t) {
			err := dev.load(into, have[i].DType, func(box safetensors.Slice, dst []byte) error {
				return f.ReadSlice(t.Name, box, dst)
			})
			if err != nil {
				return fileError(err, "the initial parameters %s cannot be used", path)
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
		return nil, nil, errorf(ExitFile, "the initial parameters %s have none of this model", j.o.Init)
	}
	if len(missing) > 0 {
		j.log.warn("parameters that " + j.o.Init + " lacks start as the model says: " + few(missing))
	}
	if len(extra) > 0 {
		j.log.warn("of " + j.o.Init + " are not read, as the model has no such parameters: " + few(extra))
	}
	return both, of, nil
}
