package vec

import (
	"sync"
	"unsafe"

	"ptc/internal/collective"
	"ptc/internal/dtype"
)

// Reduce writes to dst the sum or maximum of srcs, element by element, in the
// order of srcs: ((s0 + s1) + s2) + …. All have the length of dst. dst may be one
// of srcs, but not overlap them otherwise. It does not allocate.
//
// Floats narrower than f32 are combined in f32 and rounded once, to nearest even.
func Reduce(d dtype.DType, r collective.Reduction, dst []byte, srcs [][]byte) {
	if len(srcs) == 1 {
		if len(dst) > 0 && &dst[0] != &srcs[0][0] {
			copy(dst, srcs[0])
		}
		return
	}
	by := &reducers[d]
	if r == collective.Max {
		by.max(dst, srcs)
	} else {
		by.sum(dst, srcs)
	}
}

// reducer is the reductions of one dtype.
type reducer struct {
	sum, max func(dst []byte, srcs [][]byte)
}

// reducers has a row for every dtype.
var reducers = func() (all [dtype.Count]reducer) {
	for _, d := range dtype.All() {
		all[d] = reducerOf(d)
	}
	return all
}()

func reducerOf(d dtype.DType) reducer {
	if d.IsNarrow() {
		return reducer{narrow(d, false), narrow(d, true)}
	}
	switch d {
	case dtype.Bool: // its sum is refused by Op.Check
		return reducer{nil, maximum[uint8]}
	case dtype.U8:
		return reducer{sum[uint8], maximum[uint8]}
	case dtype.I32:
		return reducer{sum[int32], maximum[int32]}
	case dtype.I64:
		return reducer{sum[int64], maximum[int64]}
	case dtype.F32:
		return reducer{sum[float32], maximum[float32]}
	case dtype.F64:
		return reducer{sum[float64], maximum[float64]}
	}
	panic("vec: no arithmetic on " + d.String())
}

type number interface {
	float32 | float64 | int32 | int64 | uint8
}

// block is how many elements are combined at a time: two blocks of f64 stay in
// the first-level cache together with the sources.
const block = 512

// view is the elements of a buffer.
func view[T number](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// sum adds up to four sources in one sweep; more go through a block of partial
// sums, because dst may be one of the sources still to be read.
func sum[T number](dst []byte, srcs [][]byte) {
	out := view[T](dst)
	switch len(srcs) {
	case 2:
		add2(out, view[T](srcs[0]), view[T](srcs[1]))
		return
	case 3:
		add3(out, view[T](srcs[0]), view[T](srcs[1]), view[T](srcs[2]))
		return
	case 4:
		add4(out, view[T](srcs[0]), view[T](srcs[1]), view[T](srcs[2]), view[T](srcs[3]))
		return
	}
	var acc [block]T
	for lo := 0; lo < len(out); lo += block {
		hi := min(lo+block, len(out))
		a := acc[:hi-lo]
		add4(a, view[T](srcs[0])[lo:hi], view[T](srcs[1])[lo:hi], view[T](srcs[2])[lo:hi], view[T](srcs[3])[lo:hi])
		i := 4
		for ; i+3 <= len(srcs); i += 3 {
			add4(a, a, view[T](srcs[i])[lo:hi], view[T](srcs[i+1])[lo:hi], view[T](srcs[i+2])[lo:hi])
		}
		for ; i < len(srcs); i++ {
			add2(a, a, view[T](srcs[i])[lo:hi])
		}
		copy(out[lo:hi], a)
	}
}

// The sweeps are unrolled by four so that the loop's own instructions do not
// bound them; the reslicing removes the checks of bounds.

func add2[T number](o, a, b []T) {
	for len(o) >= 4 && len(a) >= 4 && len(b) >= 4 {
		o[0] = a[0] + b[0]
		o[1] = a[1] + b[1]
		o[2] = a[2] + b[2]
		o[3] = a[3] + b[3]
		o, a, b = o[4:], a[4:], b[4:]
	}
	for i := range o {
		o[i] = a[i] + b[i]
	}
}

func add3[T number](o, a, b, c []T) {
	for len(o) >= 4 && len(a) >= 4 && len(b) >= 4 && len(c) >= 4 {
		o[0] = a[0] + b[0] + c[0]
		o[1] = a[1] + b[1] + c[1]
		o[2] = a[2] + b[2] + c[2]
		o[3] = a[3] + b[3] + c[3]
		o, a, b, c = o[4:], a[4:], b[4:], c[4:]
	}
	for i := range o {
		o[i] = a[i] + b[i] + c[i]
	}
}

func add4[T number](o, a, b, c, d []T) {
	for len(o) >= 4 && len(a) >= 4 && len(b) >= 4 && len(c) >= 4 && len(d) >= 4 {
		o[0] = a[0] + b[0] + c[0] + d[0]
		o[1] = a[1] + b[1] + c[1] + d[1]
		o[2] = a[2] + b[2] + c[2] + d[2]
		o[3] = a[3] + b[3] + c[3] + d[3]
		o, a, b, c, d = o[4:], a[4:], b[4:], c[4:], d[4:]
	}
	for i := range o {
		o[i] = a[i] + b[i] + c[i] + d[i]
	}
}

// maximum is what Sum is for maxima; NaN wins, and 0 over -0.
func maximum[T number](dst []byte, srcs [][]byte) {
	out := view[T](dst)
	var acc [block]T
	for lo := 0; lo < len(out); lo += block {
		hi := min(lo+block, len(out))
		a := acc[:hi-lo]
		copy(a, view[T](srcs[0])[lo:hi])
		for _, s := range srcs[1:] {
			max2(a, view[T](s)[lo:hi])
		}
		copy(out[lo:hi], a)
	}
}

func max2[T number](a, b []T) {
	b = b[:len(a)]
	for i, x := range b {
		a[i] = max(a[i], x)
	}
}

// pool has blocks of widened elements.
var pool = sync.Pool{New: func() any { return new([2][block]float32) }}

// narrow combines elements of a float that is narrower than f32 in f32.
func narrow(d dtype.DType, largest bool) func(dst []byte, srcs [][]byte) {
	size := d.Size()
	return func(dst []byte, srcs [][]byte) {
		s := pool.Get().(*[2][block]float32)
		defer pool.Put(s)
		acc, next := &s[0], &s[1]
		for lo := 0; lo < len(dst); lo += block * size {
			hi := min(lo+block*size, len(dst))
			a, b := acc[:(hi-lo)/size], next[:(hi-lo)/size]
			d.Widen(a, srcs[0][lo:hi])
			for _, src := range srcs[1:] {
				d.Widen(b, src[lo:hi])
				if largest {
					max2(a, b)
				} else {
					add2(a, a, b)
				}
			}
			d.Narrow(dst[lo:hi], a)
		}
	}
}
