package lower

import (
	"fmt"

	"ptc/backend/kernel"
	"ptc/ir/fusion"
)

// horizontal generates each section as its own class does, and joins them.
func horizontal(name string, k *fusion.Kernel, m kernel.Machine) (*kernel.Kernel, error) {
	args := len(k.F.Args)
	parts := make([]kernel.Part, len(k.Sections))
	for i, s := range k.Sections {
		out, err := generate(name, s.Kernel, m)
		if err != nil {
			return nil, fmt.Errorf("section %d (%s): %w", i, s.Class, err)
		}
		parts[i].Kernel = out
		parts[i].Args = append(parts[i].Args, s.Args...)
		for _, r := range s.Results {
			parts[i].Args = append(parts[i].Args, args+r)
		}
	}
	return kernel.Join(name, args+len(k.F.Results), parts)
}
