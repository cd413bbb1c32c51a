package lower

import (
	"fmt"
	"slices"

	"ptc/backend/cpu/choose"
	"ptc/backend/kernel"
	"ptc/backend/nest"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
)

// Kernel generates the kernel function f under the symbol name: its tile program, cut as
// given says, or where it has nothing for the kernel or section, as [choose.Schedule] chooses,
// and that in the loop/tile form.
func Kernel(name string, f *ir.Func, m kernel.Machine, given *schedule.Table) (*kernel.Kernel, error) {
	k, err := fusion.Analyze(f)
	if err != nil {
		return nil, fmt.Errorf("kernel @%s: %w", f.Name, err)
	}
	for _, o := range f.Ops {
		if slices.ContainsFunc(append(o.Results, o.Args...), func(v *ir.Value) bool { return v.Type.DType == ir.F64 }) {
			return nil, fmt.Errorf("kernel @%s: found %s of f64; f64 runs on the target ref only", f.Name, o.Name)
		}
	}
	if k.Class == fusion.Horizontal {
		return horizontal(name, k, m, given)
	}
	return generate(name, k, m, given)
}

// generate makes the kernel of k, which has no sections.
func generate(name string, k *fusion.Kernel, m kernel.Machine, given *schedule.Table) (*kernel.Kernel, error) {
	if given != nil {
		key := fusion.Key(k.F)
		if s, ok := given.Of(key); ok && !(s.Split > 1 && k.Class == fusion.Gemm) { // fuse made two kernels of it, if it could
			out, err := cut(name, k, s, m)
			if err != nil {
				err = &ScheduleError{Kernel: k.F.Name, Key: key, Schedule: s, Err: err}
			}
			return out, err
		}
	}
	return cut(name, k, choose.Schedule(k, int64(m.Lanes(kernel.F32))), m)
}

// Tiles are the tile programs of f, cut as [Kernel] cuts them: one, or one for each section that is like no other
// before it. An attention has none.
func Tiles(f *ir.Func, m kernel.Machine, given *schedule.Table) (out []*tile.Program, err error) {
	k, err := fusion.Analyze(f)
	if err != nil {
		return nil, fmt.Errorf("kernel @%s: %w", f.Name, err)
	}
	alike := map[string]bool{}
	for _, part := range k.Apart() {
		key := fusion.Key(part.F)
		if alike[key] || part.Class == fusion.Attend {
			continue
		}
		alike[key] = true
		s, ok := given.Of(key)
		if !ok || s.Split > 1 && part.Class == fusion.Gemm {
			s = choose.Schedule(part, int64(m.Lanes(kernel.F32)))
		}
		name := f.Name
		if k.Class == fusion.Horizontal {
			name = fmt.Sprintf("%s.%d", f.Name, len(alike)-1)
		}
		p, err := nest.Program(name, part, s)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// ScheduleError is of a schedule that was given for a kernel which cannot have it.
type ScheduleError struct {
	Kernel, Key string
	Schedule    schedule.Schedule
	Err         error
}

func (e *ScheduleError) Error() string {
	return fmt.Sprintf("the schedule %q of kernel %s (%s): %v", e.Schedule, e.Kernel, e.Key, e.Err)
}
func (e *ScheduleError) Unwrap() error { return e.Err }

// cut makes the kernel of k as s says.
func cut(name string, k *fusion.Kernel, s schedule.Schedule, m kernel.Machine) (*kernel.Kernel, error) {
	switch k.Class {
	case fusion.Attend:
		return attentionKernel(name, k, s, m)
	case fusion.Gemm:
		return productKernel(name, k, s, m)
	}
	p, err := nest.Program(name, k, s)
	if err != nil {
		return nil, err
	}
	all, err := Kernels(p, m)
	if err != nil {
		return nil, fmt.Errorf("kernel @%s (%s): %w", k.F.Name, k.Class, err)
	}
	return all[0], nil
}

// horizontal generates each section as its own class is, those that are alike once, and
// joins them.
func horizontal(name string, k *fusion.Kernel, m kernel.Machine, given *schedule.Table) (*kernel.Kernel, error) {
	args := len(k.F.Args)
	alike := map[string]*kernel.Kernel{}
	sections := make([]kernel.Section, len(k.Sections))
	for i, s := range k.Sections {
		key := fusion.Key(s.F)
		if alike[key] == nil {
			out, err := generate(fmt.Sprintf("%s.%d", name, len(alike)), s.Kernel, m, given)
			if err != nil {
				return nil, fmt.Errorf("kernel @%s, section %d: %w", k.F.Name, i, err)
			}
			alike[key] = out
		}
		sections[i].Kernel = alike[key]
		sections[i].Args = append(sections[i].Args, s.Args...)
		for _, r := range s.Results {
			sections[i].Args = append(sections[i].Args, args+r)
		}
	}
	return kernel.Join(name, args+len(k.F.Results), sections)
}
