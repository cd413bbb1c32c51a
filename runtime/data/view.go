package data

import (
	"fmt"
	"slices"
)

// maxRank bounds the axes of a field, so that a box lives on the stack.
const maxRank = 8

// box is a checked View: bounds on each axis of the field.
type box struct {
	rank   int
	lo, hi [maxRank]int
}

func (v *View) skipped() bool { return v.I32 == nil && v.F32 == nil }

// box checks that the view lies in the field and that its slice has the box's
// size and the field's type.
func (f *Field) box(v *View) (b box, err error) {
	b.rank = len(f.Shape)
	if (v.Lo != nil && len(v.Lo) != b.rank) || (v.Hi != nil && len(v.Hi) != b.rank) {
		return b, f.viewError(v, "bounds on every axis or none are needed")
	}
	size := 1
	for i, n := range f.Shape {
		b.hi[i] = n
		if v.Lo != nil {
			b.lo[i] = v.Lo[i]
		}
		if v.Hi != nil {
			b.hi[i] = v.Hi[i]
		}
		if b.lo[i] < 0 || b.lo[i] > b.hi[i] || b.hi[i] > n {
			return b, f.viewError(v, "the bounds leave the field")
		}
		size *= b.hi[i] - b.lo[i]
	}
	have := len(v.I32)
	if f.DType == F32 {
		have = len(v.F32)
	}
	if have != size {
		return b, f.viewError(v, fmt.Sprintf("the view has %d elements but needs %d", have, size))
	}
	return b, nil
}

// viewError copies the view so that the caller's stays on its stack.
func (f *Field) viewError(v *View, why string) error {
	lo, hi := slices.Clone(v.Lo), slices.Clone(v.Hi)
	return errorf("view lo=%v hi=%v of field %s: %s", lo, hi, f, why)
}

// rowSize is the number of elements on axes 1..
func (b *box) rowSize() int {
	n := 1
	for i := 1; i < b.rank; i++ {
		n *= b.hi[i] - b.lo[i]
	}
	return n
}

// first is the index of the box's first element.
func (b *box) first() [maxRank]int { return b.lo }

// next advances idx over axes 1.. in row-major order and says whether it is
// still in the row; at the end of the row it wraps to the row's start.
func (b *box) next(idx *[maxRank]int) bool {
	for i := b.rank - 1; i >= 1; i-- {
		if idx[i]++; idx[i] < b.hi[i] {
			return true
		}
		idx[i] = b.lo[i]
	}
	return false
}

// rowEmpty says that axes 1.. hold no element.
func (b *box) rowEmpty() bool {
	for i := 1; i < b.rank; i++ {
		if b.lo[i] == b.hi[i] {
			return true
		}
	}
	return false
}

// flat is the position of idx in its row of the whole field.
func (f *Field) flat(idx *[maxRank]int) int {
	p := 0
	for i := 1; i < len(f.Shape); i++ {
		p = p*f.Shape[i] + idx[i]
	}
	return p
}

// checkViews is the common start of Fill and HeldOut.
func checkViews(fields []Field, dst []View) error {
	if len(dst) != len(fields) {
		return errorf("%d views for %d fields", len(dst), len(fields))
	}
	return nil
}

// chooseFields matches the fields that a batch asks for with those that a source
// has; none asked for means all.
func chooseFields(asked, have []Field) ([]Field, error) {
	if len(asked) == 0 {
		return have, nil
	}
	for _, a := range asked {
		i := slices.IndexFunc(have, func(h Field) bool { return h.Name == a.Name })
		if i < 0 {
			return nil, errorf("there is no field %q; the source has %s", a.Name, fieldList(have))
		}
		if h := have[i]; a.DType != h.DType || !slices.Equal(a.Shape, h.Shape) {
			return nil, errorf("the step reads %s, but the source has %s", a, h)
		}
	}
	return slices.Clone(asked), nil
}

func fieldList(fs []Field) string {
	s := ""
	for i, f := range fs {
		if i > 0 {
			s += ", "
		}
		s += f.String()
	}
	return s
}
