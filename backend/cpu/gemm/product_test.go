package gemm

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"ptc/backend/kernel"
	"ptc/internal/dtype"
)

// matmul is a test case: a Spec over dense operands, and its reference. Where
// fused, the left operand passes through max(x, -1/2) + 1/4 (whose value for
// the zeros of masked lanes is not zero) and a bias is added to each column.
type matmul struct {
	m, n, k       int64
	outer, outerK []int64
	left, right   Along
	stride        int64 // between neighbours along the unit axis
	elem          kernel.Elem
	fused         bool
	blocks        *Blocks // to cut it by
}

func (c matmul) String() string {
	return fmt.Sprintf("%dx%dx%d outer %v outerK %v units %d %d stride %d %s fused %t",
		c.m, c.n, c.k, c.outer, c.outerK, c.left, c.right, c.stride, c.elem, c.fused)
}

// strides of left and right: of their free axis, of k, of outer and of outerK.
type layout struct {
	free, k       int64
	outer, outerK []int64
	size          int64
}

// layout puts the unit axis last, the other axis before it, then the rest.
func (c matmul) layout(free int64, unit Along) layout {
	var l layout
	at := c.stride
	next := func(n int64) int64 { s := at; at *= n; return s }
	if unit == AlongK {
		l.k, l.free = next(c.k), next(free)
	} else {
		l.free, l.k = next(free), next(c.k)
	}
	l.outerK = make([]int64, len(c.outerK))
	for i := range c.outerK {
		l.outerK[i] = next(c.outerK[i])
	}
	l.outer = make([]int64, len(c.outer))
	for i := range c.outer {
		l.outer[i] = next(c.outer[i])
	}
	l.size = at
	return l
}

func (c matmul) layouts() (left, right, out layout) {
	left, right = c.layout(c.m, c.left), c.layout(c.n, c.right)
	out.free, out.k, out.size = c.n, 1, c.m*c.n
	for _, n := range c.outer {
		out.outer = append(out.outer, out.size)
		out.size *= n
	}
	return left, right, out
}

func offset(l layout, at At, free kernel.Index) kernel.Index {
	x := free.Mul(l.free).Add(at.K.Mul(l.k)).Add(indexOf(l.outer, at.Outer...))
	return x.Add(indexOf(l.outerK, at.OuterK...))
}

// generate makes the kernel of c, named name.
func (c matmul) generate(name string, m kernel.Machine) (*kernel.Kernel, error) {
	return Generate(c.spec(name), m)
}

func (c matmul) spec(name string) Spec {
	var b *kernel.Builder
	var bufs [4]*kernel.Buffer
	left, right, out := c.layouts()
	load := func(i int, l layout, unit Along, fused bool) Operand {
		cost := int64(0)
		if fused || c.elem != kernel.F32 {
			cost = 2
		}
		return Operand{Unit: unit, Cost: cost, BF16: c.elem == kernel.BF16, Load: func(at At, along Along, lanes int, mask *kernel.Value) *kernel.Value {
			free, stride := at.M, l.k
			if i == 1 {
				free = at.N
			}
			if along != AlongK {
				stride = l.free
			}
			x := b.Load(bufs[i].At(offset(l, at, free)).Strided(stride).Masked(mask), lanes)
			if fused {
				x = b.Add(b.Max(x, b.Like(x, -0.5)), b.Like(x, 0.25))
				if c.elem == kernel.BF16 {
					x = b.Round(x, kernel.BF16)
				}
				if mask != nil {
					x = b.Select(mask, x, b.Like(x, 0))
				}
			}
			return x
		}}
	}
	return Spec{
		M: c.m, N: c.n, K: c.k, Outer: c.outer, OuterK: c.outerK, Blocks: c.blocks,
		Left: load(0, left, c.left, c.fused), Right: load(1, right, c.right, false),
		Begin: func(tasks int64) *kernel.Builder {
			b = kernel.New(name, tasks)
			bufs[0] = b.Arg("left", c.elem, left.size, kernel.Read)
			bufs[1] = b.Arg("right", c.elem, right.size, kernel.Read)
			bufs[2] = b.Arg("bias", kernel.F32, c.n, kernel.Read)
			bufs[3] = b.Arg("out", kernel.F32, out.size, kernel.ReadWrite)
			return b
		},
		Store: func(at At, acc *kernel.Value, lanes int, mask *kernel.Value) {
			if c.fused {
				acc = b.Add(acc, b.Load(bufs[2].At(at.N).Masked(mask), lanes))
			}
			x := at.M.Mul(out.free).Add(at.N).Add(indexOf(out.outer, at.Outer...))
			b.Store(bufs[3].At(x).Masked(mask), acc)
		},
	}
}

// inputs are random operands, bias and an unwritten result (NaN).
func (c matmul) inputs(seed uint64) [][]byte {
	r := rand.New(rand.NewPCG(seed, 17))
	left, right, out := c.layouts()
	var bufs [][]byte
	for i, n := range []int64{left.size, right.size, c.n} {
		e := c.elem
		if i == 2 {
			e = kernel.F32
		}
		var b []byte
		for range n {
			f := float32(r.Float64()*2 - 1)
			switch e {
			case kernel.BF16:
				b = binary.LittleEndian.AppendUint16(b, dtype.ToBF16(f))
			case kernel.F16:
				b = binary.LittleEndian.AppendUint16(b, dtype.ToF16(f))
			default:
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
			}
		}
		bufs = append(bufs, b)
	}
	nan := make([]byte, 4*out.size)
	for i := range nan {
		nan[i] = 0xff
	}
	return append(bufs, nan)
}

func element(e kernel.Elem, b []byte, i int64) float64 {
	switch e {
	case kernel.BF16:
		return float64(dtype.FromBF16(binary.LittleEndian.Uint16(b[2*i:])))
	case kernel.F16:
		return float64(dtype.FromF16(binary.LittleEndian.Uint16(b[2*i:])))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
}

// positions calls f with the offsets, in arrays of the given strides, of every
// position of a space.
func positions(sizes []int64, f func(at []int64)) {
	at := make([]int64, len(sizes))
	for {
		f(at)
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < sizes[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

func dot(strides, at []int64) int64 {
	var x int64
	for i := range at {
		x += strides[i] * at[i]
	}
	return x
}

// check compares a result with the sums in float64. A sum of n products of
// numbers up to 1 may differ by n roundings.
func (c matmul) check(bufs [][]byte) (err error) {
	left, right, out := c.layouts()
	depth := c.k
	for _, n := range c.outerK {
		depth *= n
	}
	bound := float64(depth+8) * 0x1p-23
	a, w := floats(c.elem, bufs[0]), floats(c.elem, bufs[1])
	if c.fused {
		for i, x := range a {
			a[i] = max(x, -0.5) + 0.25
			if c.elem == kernel.BF16 {
				a[i] = float64(dtype.FromBF16(dtype.ToBF16(float32(a[i]))))
			}
		}
	}
	row := make([]float64, c.n)
	positions(append(append([]int64(nil), c.outer...), c.m), func(at []int64) {
		outer, m := at[:len(at)-1], at[len(at)-1]
		for n := range row {
			row[n] = 0
			if c.fused {
				row[n] = element(kernel.F32, bufs[2], int64(n))
			}
		}
		positions(c.outerK, func(deep []int64) {
			l0 := dot(left.outer, outer) + dot(left.outerK, deep) + m*left.free
			r0 := dot(right.outer, outer) + dot(right.outerK, deep)
			for k := range c.k {
				x := a[l0+k*left.k]
				for n := range c.n {
					row[n] += x * w[r0+k*right.k+n*right.free]
				}
			}
		})
		for n, want := range row {
			got := element(kernel.F32, bufs[3], dot(out.outer, outer)+m*out.free+int64(n))
			if !(math.Abs(got-want) <= bound) && err == nil {
				err = fmt.Errorf("result %v, %d is %v, want %v", at, n, got, want)
			}
		}
	})
	return err
}

func floats(e kernel.Elem, b []byte) []float64 {
	out := make([]float64, len(b)/e.Bytes())
	for i := range out {
		out[i] = element(e, b, int64(i))
	}
	return out
}

// random is a case with sizes up to most.
func random(r *rand.Rand, most int64) matmul {
	size := func() int64 { return 1 + r.Int64N(1+r.Int64N(most)) }
	c := matmul{m: size(), n: size(), k: size(), stride: 1, fused: r.IntN(2) == 0}
	c.left = []Along{AlongM, AlongK}[r.IntN(2)]
	c.right = []Along{AlongN, AlongK}[r.IntN(2)]
	c.elem = []kernel.Elem{kernel.F32, kernel.BF16, kernel.F16}[r.IntN(3)]
	for range r.IntN(3) {
		c.outer = append(c.outer, 1+r.Int64N(2))
	}
	for range r.IntN(2) {
		c.outerK = append(c.outerK, 1+r.Int64N(3))
	}
	if r.IntN(6) == 0 {
		c.stride = 2
	}
	return c
}

// indexOf is Σ stride·index, the element offset of a position in a strided array.
func indexOf(strides []int64, at ...kernel.Index) kernel.Index {
	var r kernel.Index
	for i, x := range at {
		r = r.Add(x.Mul(strides[i]))
	}
	return r
}
