package lower

import (
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

// code emits what depends on the thread alone.
type code struct{ *thread.Builder }

func (c code) i32(n int64) *thread.Value { return c.ConstInt(kernel.Scalar(kernel.I32), n) }

// both holds where x and y do, of which nil always does.
func (c code) both(x, y *thread.Value) *thread.Value {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return c.And(x, y)
}

// lead holds for the thread that starts the copies of tiles.
func (c code) lead() *thread.Value { return c.Eq(c.Special(thread.Thread), c.i32(0)) }

// once holds for one of the threads that have the same elements; nil where none do.
func (c code) once(at *layout.Layout) *thread.Value {
	lane, warp := at.Copies()
	var out *thread.Value
	for _, x := range []struct {
		n    *thread.Value
		mask int
	}{{c.Special(thread.Lane), lane}, {c.Special(thread.Warp), warp}} {
		if x.mask != 0 {
			out = c.both(out, c.Eq(c.And(x.n, c.i32(int64(x.mask))), c.i32(0)))
		}
	}
	return out
}

// coordinate is the position of a thread's register 0 along dimension d of a layout, from the
// first one of the block; registers add to it what [layout.Layout.Offset] says.
func (c code) coordinate(at *layout.Layout, d int) *thread.Value {
	sum := c.i32(0)
	if at.From != nil {
		sum = c.i32(int64(at.From[d]))
	}
	lane, warp := c.Special(thread.Lane), c.Special(thread.Warp)
	for _, x := range []struct {
		n     *thread.Value
		bases []layout.Basis
	}{{lane, at.Lane}, {warp, at.Warp}} {
		for i := 0; i < len(x.bases); {
			if x.bases[i][d] == 0 {
				i++
				continue
			}
			// Bits that go on as the number does are taken together.
			n := 1
			for i+n < len(x.bases) && x.bases[i+n][d] == x.bases[i][d]<<n {
				n++
			}
			bits := x.n
			if i > 0 {
				bits = c.LShr(bits, c.i32(int64(i)))
			}
			bits = c.And(bits, c.i32(1<<n-1))
			sum = c.Add(sum, c.Mul(bits, c.i32(int64(x.bases[i][d]))))
			i += n
		}
	}
	return sum
}

// linear is the exclusive or of those of the bases whose bit is set in n; nil where all are 0. Bits
// of n that go on as those of the bases do are taken together.
func (c code) linear(n *thread.Value, bases []int) *thread.Value {
	var sum *thread.Value
	left := append([]int(nil), bases...)
	for i := range left {
		for s := 0; left[i]>>s != 0; s++ {
			if left[i]>>s&1 == 0 {
				continue
			}
			run := 0
			for i+run < len(left) && left[i+run]>>(s+run)&1 != 0 {
				left[i+run] ^= 1 << (s + run)
				run++
			}
			part := c.And(c.LShr(n, c.i32(int64(i))), c.i32(1<<run-1))
			part = c.Mul(part, c.i32(1<<s))
			if sum != nil {
				part = c.Xor(sum, part)
			}
			sum = part
		}
	}
	return sum
}
