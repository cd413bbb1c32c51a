package train

import (
	"slices"
	"strings"

	"ptc/runtime/checkpoint"
	"ptc/runtime/checkpoint/safetensors"
)

// openInit opens what Options.Init names. All processes do so together.
func (r *run) openInit() (err error) {
	if r.init, err = checkpoint.OpenValues(r.peers(), r.o.Init); err != nil {
		r.init = nil
		return r.everyones(fileError(err, "the initial parameters %s cannot be used", r.o.Init))
	}
	return nil
}

// loadParams gives every parameter the value that Options.Init, which is open, has for it,
// and its copy in more bits, if it has one. What the file may lack keeps the value with
// which training from nothing starts.
func (r *run) loadParams() error {
	path, f := r.o.Init, r.init
	var have []checkpoint.Tensor
	for _, t := range f.Tensors() {
		have = append(have, checkpoint.Tensor{Tensor: t})
	}
	want, have, err := r.common(params(r.tensors), have)
	if err != nil {
		return err
	}
	if diff := compare(want, have); diff != "" {
		return errorf(ExitFile, "the initial parameters %s are not those of this model: %s", path, diff)
	}
	for i, t := range want {
		for _, into := range append(r.dev.copies(t), t) {
			err := r.dev.load(into, have[i].DType, func(box safetensors.Slice, dst []byte) error {
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
func (r *run) common(want, have []checkpoint.Tensor) (both, of []checkpoint.Tensor, err error) {
	var missing, extra []string
	both = slices.DeleteFunc(slices.Clone(want), func(t checkpoint.Tensor) bool {
		part := r.plan.Adapters.Has(t.Name)
		lacks := !contains(have, t.Name) && (r.o.InitPartial || part)
		if lacks && !part {
			missing = append(missing, t.Name)
		}
		return lacks
	})
	of = slices.DeleteFunc(slices.Clone(have), func(t checkpoint.Tensor) bool {
		more := r.o.InitPartial && !contains(want, t.Name)
		if more {
			extra = append(extra, t.Name)
		}
		return more
	})
	if len(both) == 0 {
		return nil, nil, errorf(ExitFile, "the initial parameters %s have none of this model", r.o.Init)
	}
	if len(missing) > 0 {
		r.warn("parameters that " + r.o.Init + " lacks start as the model says: " + few(missing))
	}
	if len(extra) > 0 {
		r.warn("of " + r.o.Init + " are not read, as the model has no such parameters: " + few(extra))
	}
	return both, of, nil
}

func contains(ts []checkpoint.Tensor, name string) bool {
	_, found := slices.BinarySearchFunc(ts, name, func(t checkpoint.Tensor, n string) int { return strings.Compare(t.Name, n) })
	return found
}
