package lower

import (
	"fmt"

	"ptc/backend/kernel"
	"ptc/ir"
	"ptc/ir/fusion"
)

// horizontal generates each section as its own class does, those that are alike once,
// and joins them.
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
				return nil, fmt.Errorf("section %d (%s): %w", i, s.Class, err)
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
