package kerneltest

import (
	"ptc/backend/kernel"
	"ptc/internal/dtype"
)

// Memory lists the element types of buffers.
func Memory() []kernel.Elem {
	var all []kernel.Elem
	for _, d := range dtype.All() {
		if e := kernel.Elem(d); e.Register() != kernel.InvalidElem {
			all = append(all, e)
		}
	}
	return all
}
