package weights

import (
	"fmt"
	"slices"

	"ptc/runtime/program"
)

// matrix is a piece of a parameter as a matrix of another program: the axes of the parameter that
// make its rows, and those that make its columns.
type matrix struct {
	piece *program.Piece
	dims  [2][]digit
	axes  [2][]bool // by axis of the parameter: its coordinate depends on the row, or the column
}

// digit is a size of Piece.View that a dimension of the matrix has a part of, and how many elements
// of the slice one step along it is.
type digit struct{ size, step int64 }

// matrixOf splits the sizes of a piece into those of rows and of columns. Nil where the piece is no
// matrix, or where one axis is in both.
func matrixOf(p *program.Piece) *matrix {
	if len(p.Shape) != 2 {
		return nil
	}
	m := &matrix{piece: p}
	at, made := 0, int64(1)
	for _, o := range p.Order {
		for at < 1 && made == p.Shape[0] && p.View[o] != 1 {
			at, made = 1, 1
		}
		step := int64(1)
		for _, s := range p.View[o+1:] {
			step *= s
		}
		m.dims[at] = append(m.dims[at], digit{p.View[o], step})
		made *= p.View[o]
	}
	for d := range m.dims {
		n := int64(1)
		m.axes[d] = make([]bool, len(p.Extent))
		for _, x := range m.dims[d] {
			n *= x.size
			m.touch(d, x)
		}
		if n != p.Shape[d] {
			return nil
		}
	}
	for a := range p.Extent {
		if m.axes[0][a] && m.axes[1][a] {
			return nil
		}
	}
	return m
}

// touch marks the axes whose coordinates steps of a digit change.
func (m *matrix) touch(d int, x digit) {
	stride := int64(1)
	for a := len(m.piece.Extent) - 1; a >= 0; a-- {
		n := m.piece.Extent[a]
		if n > 1 && x.size > 1 && x.step < stride*n && stride < x.step*x.size {
			m.axes[d][a] = true
		}
		stride *= n
	}
}

// place is where in a part of an adapter, of axes with these strides, the elements of row, or
// column, i are: a digit along an axis that the part lacks has stride 0.
func (m *matrix) place(d int, i int64, along []int64) int64 {
	linear := int64(0)
	for k := len(m.dims[d]) - 1; k >= 0; k-- {
		x := m.dims[d][k]
		linear += i % x.size * x.step
		i /= x.size
	}
	at := int64(0)
	for a := len(m.piece.Extent) - 1; a >= 0; a-- {
		n := m.piece.Extent[a]
		at += (m.piece.From[a] + linear%n) * along[a]
		linear /= n
	}
	return at
}

// inner is the dimension of the matrix along which its product sums, the axes of down, with the
// other one all of up. An adapter that is of neither form is an error.
func (m *matrix) inner(a *adapter) (int, error) {
	fits := func(d int, part []string) bool {
		for i, touched := range m.axes[d] {
			if touched && !slices.Contains(part, a.base[i]) {
				return false
			}
		}
		return true
	}
	both := func(d int) bool { return fits(d, a.down) && fits(d, a.up) }
	for _, in := range []int{1, 0} {
		if fits(in, a.down) && fits(1-in, a.up) && !(both(in) && m.piece.Shape[in] > 1) && !(both(1-in) && m.piece.Shape[1-in] > 1) {
			return in, nil
		}
	}
	return 0, fmt.Errorf("rows and columns of the other program's matrix are not the two sides of the product that reads %s", m.piece.Param)
}
