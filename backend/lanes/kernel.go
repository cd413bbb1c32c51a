package lanes

import (
	"fmt"

	"ptc/backend/kernel"
	"ptc/backend/nest"
	"ptc/ir"
	"ptc/ir/fusion"
)

// Kernel generates the kernel function f under the symbol name: its tile program, cut as
// [nest.Lanes] chooses, and that in the loop/tile form.
func Kernel(name string, f *ir.Func, m kernel.Machine) (*kernel.Kernel, error) {
	k, err := fusion.Analyze(f)
	if err != nil {
		return nil, fmt.Errorf("kernel @%s: %w", f.Name, err)
	}
	for _, o := range f.Ops {
		for _, v := range append(o.Results, o.Args...) {
			if v.Type.DType == ir.F64 {
				return nil, fmt.Errorf("kernel @%s: found %s of f64; f64 runs on the target ref only", f.Name, o.Name)
			}
		}
	}
	if k.Class == fusion.Horizontal {
		return horizontal(name, k, m)
	}
	return generate(name, k, m)
}

// generate makes the kernel of k, which has no sections.
func generate(name string, k *fusion.Kernel, m kernel.Machine) (*kernel.Kernel, error) {
	if k.Class == fusion.Attend {
		a, err := nest.Attend(name, k)
		if err != nil {
			return nil, err
		}
		return Attention(a, m)
	}
	p, err := nest.Program(name, k, nest.Lanes(k, int64(m.Lanes(kernel.F32))))
	if err != nil {
		return nil, err
	}
	all, err := Kernels(p, m)
	if err != nil {
		return nil, fmt.Errorf("kernel @%s (%s): %w", k.F.Name, k.Class, err)
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("kernel @%s (%s): found %d phases; expected one", k.F.Name, k.Class, len(all))
	}
	return all[0], nil
}

// horizontal generates each section as its own class is, those that are alike once, and
// joins them.
func horizontal(name string, k *fusion.Kernel, m kernel.Machine) (*kernel.Kernel, error) {
	args := len(k.F.Args)
	alike := map[string]*kernel.Kernel{}
	sections := make([]kernel.Section, len(k.Sections))
	for i, s := range k.Sections {
		text := s.F.Clone()
		text.Renumber()
		key := ir.PrintFunc(text)
		if alike[key] == nil {
			out, err := generate(fmt.Sprintf("%s.%d", name, len(alike)), s.Kernel, m)
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
