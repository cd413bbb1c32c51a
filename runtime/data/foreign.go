package data

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"

	"ptc/internal/units"
)

// foreign is whether the elements lie in another order than ours: rows first, and little-endian.
func (a *array) foreign() bool { return a.big || a.column }

// maxOrderedRow bounds a row that is put together of elements which lie apart.
const maxOrderedRow = 256 << 20

// orderBytes is about how much of an array is put in order at once.
const orderBytes = 32 << 20

// spool puts the elements of an array into a temporary file in our order. The array is of the
// file's size, as its header was held to that.
func (a *array) spool(file io.ReaderAt) (*os.File, error) {
	width := int64(npyWidth(a.dtype))
	rows, inner := int64(1), int64(1)
	if len(a.shape) > 0 {
		rows = a.shape[0]
	}
	for _, n := range a.shape[min(1, len(a.shape)):] {
		inner *= n
	}
	if !a.column { // a row is as long as is good
		rows, inner = rows*inner, 1
	}
	if inner > maxOrderedRow/width {
		return nil, fmt.Errorf("the array is in Fortran order, and its rows have more than %s; write it with np.ascontiguousarray", units.Bytes(maxOrderedRow))
	}
	return toSpool(func(w *bufio.Writer) error {
		if rows == 0 || inner == 0 {
			return nil
		}
		most := min(max(1, orderBytes/(inner*width)), rows)
		run, block := make([]byte, most*width), make([]byte, most*inner*width)
		for first := int64(0); first < rows; first += most {
			n := min(most, rows-first)
			at := a.columns()
			for k := range inner { // of each of these rows, element k lies in one run
				from := a.offset + (at()*rows+first)*width
				if got, err := file.ReadAt(run[:n*width], from); int64(got) < n*width {
					return fmt.Errorf("the elements from byte %d on: %w", from, err)
				}
				for i := range n {
					copy(block[(i*inner+k)*width:], run[i*width:(i+1)*width])
				}
			}
			if a.big {
				for i := int64(0); i < n*inner*width; i += width {
					slices.Reverse(block[i : i+width])
				}
			}
			if _, err := w.Write(block[:n*inner*width]); err != nil {
				return err
			}
		}
		return nil
	})
}

// columns gives, for one element of a row after the other in our order, how many elements of the row
// lie before it in Fortran's.
func (a *array) columns() func() int64 {
	index := make([]int64, len(a.shape))
	return func() int64 {
		at, stride := int64(0), int64(1)
		if !a.column {
			return 0
		}
		for d := 1; d < len(a.shape); d++ {
			at += index[d] * stride
			stride *= a.shape[d]
		}
		for d := len(a.shape) - 1; d > 0; d-- {
			if index[d]++; index[d] < a.shape[d] {
				break
			}
			index[d] = 0
		}
		return at
	}
}
