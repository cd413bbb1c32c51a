package emit

import (
	"ptc/backend/kernel"
	"ptc/backend/kernel/vmath"
)

// expand replaces the math calls by their expansions.
func expand(k *kernel.Kernel) (*kernel.Kernel, error) { return vmath.Expand(k) }
