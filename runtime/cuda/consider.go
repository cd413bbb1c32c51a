package cuda

import (
	"fmt"

	"ptc/runtime/cuda/blaslt"
	"ptc/runtime/device"
)

// openBlas chooses what computes products; nil: no library does. Nothing has been written to the arena yet, so that
// kernels may be tried on it. The library is to be closed also if there is an error.
func openBlas(l *launches) (*blas, error) {
	r := l.r
	switch r.Blas {
	case "", device.BlasNone:
		return nil, nil
	case device.BlasLt:
	default:
		return nil, fmt.Errorf("there is no library of products %q; expected %q or %q", clip(r.Blas), device.BlasNone, device.BlasLt)
	}
	if !hasProducts(r.Plan, r.Device) {
		return nil, nil
	}
	b := &blas{launches: l, products: map[[2]int]*blaslt.Product{}, calls: map[[2]int][]matmul{}}
	if err := b.open(); err != nil {
		l.warn(fmt.Sprintf("own kernels compute all products: %v", err))
		return b, l.alive()
	}
	for prog := range r.Device.Progs {
		for i := range r.Device.Progs[prog].Instrs {
			if err := b.consider(prog, i); err != nil {
				return b, err
			}
		}
	}
	b.trim()
	if b.why != nil {
		l.warn(fmt.Sprintf("own kernels compute %d of %d products that %s was tried for: %v", b.own, b.all, b.library, b.why))
	}
	return b, nil
}

// consider chooses for an instruction, if it is products. What the library fails is own kernels'; the
// error is that of a GPU that has failed.
func (b *blas) consider(prog, instr int) error {
	in := &b.r.Device.Progs[prog].Instrs[instr]
	if in.Comm != nil {
		return nil
	}
	l := b.launch(in)
	if l == nil {
		return nil
	}
	if !l.apart() {
		return nil // in another place the own kernel reads an operand before it writes there, the library does not
	}
	b.all++
	algos, err := b.choose(l)
	if err != nil {
		b.own++
		if b.why == nil {
			b.why = err
		}
		return b.alive()
	}
	var list []matmul
	for i, a := range algos {
		list = append(list, matmul{b.products[[2]int{in.Kernel, i}], l.at[i], a})
	}
	if len(list) > 0 {
		b.calls[[2]int{prog, instr}] = list
	}
	return nil
}

// trim frees a workspace that nothing uses.
func (b *blas) trim() {
	for _, list := range b.calls {
		if works(list) {
			return
		}
	}
	b.freeWorkspace()
}
