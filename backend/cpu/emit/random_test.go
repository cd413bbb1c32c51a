package emit

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/backend/kernel/vmath"
	"ptc/internal/dtype"
)

// generator makes random kernels over a rows × cols space: each task is a row,
// walked in vectors with a masked tail; values are combined at random and some
// reduced along the row.
type generator struct {
	*rand.Rand
	b          *kernel.Builder
	rows, cols int64
	lanes      int
	ins        []*kernel.Buffer
	index      *kernel.Buffer // i32 column numbers, for gathers
}

var memElems = kerneltest.Memory()

func randomKernel(seed uint64) (*kernel.Kernel, error) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 11))}
	g.rows, g.cols = 1+g.Int64N(5), 1+g.Int64N(70)
	g.lanes = []int{1, 2, 3, 4, 8, 16, 32}[g.IntN(7)]
	g.b = kernel.New(fmt.Sprintf("random_%d", seed), g.rows)
	for i := range 2 + g.IntN(3) {
		g.ins = append(g.ins, g.b.Arg(fmt.Sprintf("in%d", i), memElems[g.IntN(len(memElems))], g.rows*g.cols, kernel.Read))
	}
	g.index = g.b.Arg("index", kernel.I32, g.cols, kernel.Read)
	out := memElems[g.IntN(len(memElems))]
	results := g.b.Arg("out", out, g.rows*g.cols, kernel.Write)
	sums := g.b.Arg("sums", kernel.F32, g.rows, kernel.Write)
	tmp := g.b.Scratch("tmp", kernel.F32, g.cols)

	acc := g.row(func(col kernel.Index, mask *kernel.Value, acc *kernel.Value) *kernel.Value {
		pool := g.loads(col, mask)
		for range 3 + g.IntN(12) {
			pool = append(pool, g.op(pool))
		}
		v := g.as(pool, out.Register())
		g.b.Store(results.At(g.b.Task().Mul(g.cols).Add(col)).Masked(mask), v)
		f := g.as(pool, kernel.F32)
		g.b.Store(tmp.At(col).Masked(mask), f)
		if mask != nil {
			f = g.b.Select(mask, f, g.b.F32(0, g.lanes))
		}
		return g.b.Add(acc, f)
	})
	again := g.row(func(col kernel.Index, mask, acc *kernel.Value) *kernel.Value {
		return g.b.Max(acc, g.b.Load(tmp.At(col).Masked(mask), g.lanes))
	})
	g.b.Store(sums.At(g.b.Task()), g.b.Add(g.fold(acc, g.b.ReduceAdd), g.fold(again, g.b.ReduceMax)))
	return g.b.Finish()
}

// row walks the columns in vectors, the last one masked, with an accumulator.
func (g *generator) row(body func(col kernel.Index, mask, acc *kernel.Value) *kernel.Value) *kernel.Value {
	n := int64(g.lanes)
	whole := g.cols / n * n
	r := kernel.Span(whole).By(n).Unrolled(g.IntN(4) - 1)
	if g.IntN(4) == 0 {
		r = r.Unrolled(0)
	}
	acc := g.b.ForCarry(r, []*kernel.Value{g.b.F32(0, g.lanes)}, func(i kernel.Index, c []*kernel.Value) []*kernel.Value {
		return []*kernel.Value{body(i, nil, c[0])}
	})[0]
	if whole == g.cols {
		return acc
	}
	mask := g.b.TailMask(kernel.Int(g.cols-whole), g.lanes)
	return body(kernel.Int(whole), mask, acc)
}

func (g *generator) fold(v *kernel.Value, reduce func(*kernel.Value) *kernel.Value) *kernel.Value {
	if g.lanes&(g.lanes-1) == 0 {
		return reduce(v)
	}
	return g.b.Extract(v, g.lanes-1)
}

// loads reads every input once, each in a way of its own.
func (g *generator) loads(col kernel.Index, mask *kernel.Value) []*kernel.Value {
	pool := []*kernel.Value{g.b.F32(float32(g.NormFloat64()), g.lanes), g.b.ConstInt(kernel.Vec(kernel.I32, g.lanes), g.Int64N(100)-50)}
	row := g.b.Task().Mul(g.cols)
	for _, in := range g.ins {
		ref := in.At(row.Add(col)).Masked(mask)
		switch g.IntN(4) {
		case 0:
			ref = in.At(row).Strided(0)
		case 1: // transposed
			ref = in.At(g.b.Task().Add(col.Mul(g.rows))).Strided(g.rows).Masked(mask)
		case 2:
			at := g.b.Load(g.index.At(col).Masked(mask), g.lanes)
			if g.IntN(2) == 0 {
				at = g.b.Convert(at, kernel.I64)
			}
			ref = in.At(g.b.Task()).Gathered(at).Strided(g.rows).Masked(mask)
		}
		pool = append(pool, g.b.Load(ref, g.lanes))
	}
	return pool
}

// pick is a value of the pool with elements e, converted if there is none.
func (g *generator) as(pool []*kernel.Value, e kernel.Elem) *kernel.Value {
	var fit []*kernel.Value
	for _, v := range pool {
		if v.Type.Elem == e {
			fit = append(fit, v)
		}
	}
	if len(fit) > 0 {
		return fit[len(fit)-1-g.IntN(min(3, len(fit)))]
	}
	v := pool[g.IntN(len(pool))]
	if e == kernel.I1 {
		return g.b.Lt(v, g.b.Neg(g.as([]*kernel.Value{v}, v.Type.Elem)))
	}
	return g.b.Convert(v, e)
}

// op appends a random operation on values of the pool.
func (g *generator) op(pool []*kernel.Value) *kernel.Value {
	b := g.b
	num := []kernel.Elem{kernel.F32, kernel.F32, kernel.F64, kernel.I32, kernel.I64}
	one := func(e ...kernel.Elem) *kernel.Value { return g.as(pool, e[g.IntN(len(e))]) }
	two := func(e ...kernel.Elem) (x, y *kernel.Value) {
		x = one(e...)
		return x, g.as(pool, x.Type.Elem)
	}
	type binary func(x, y *kernel.Value) *kernel.Value
	switch g.IntN(12) {
	case 0, 1, 2:
		x, y := two(num...)
		return []binary{b.Add, b.Sub, b.Mul, b.Div, b.Min, b.Max}[g.IntN(6)](x, y)
	case 3:
		return []func(*kernel.Value) *kernel.Value{b.Neg, b.Abs}[g.IntN(2)](one(num...))
	case 4:
		x, y := two(kernel.F32, kernel.F32, kernel.F64)
		if x.Type.Elem == kernel.F64 || g.IntN(2) == 0 {
			return b.MulAdd(x, y, g.as(pool, x.Type.Elem))
		}
		return b.FMA(x, y, g.as(pool, kernel.F32))
	case 5:
		return []func(*kernel.Value) *kernel.Value{b.Sqrt, b.Floor}[g.IntN(2)](one(kernel.F32, kernel.F64))
	case 6:
		x, y := two(kernel.I32, kernel.I64)
		return []binary{b.And, b.Or, b.Xor, b.Shl, b.LShr, b.AShr, b.Rem, b.ULt}[g.IntN(8)](x, y)
	case 7:
		x, y := two(num...)
		return []binary{b.Eq, b.Ne, b.Lt, b.Le}[g.IntN(4)](x, y)
	case 8:
		x, y := two(num...)
		return b.Select(g.as(pool, kernel.I1), x, y)
	case 9:
		x := one(kernel.F32, kernel.F64, kernel.I32, kernel.I64, kernel.I1)
		for _, e := range num {
			if e != x.Type.Elem && g.IntN(2) == 0 {
				return b.Convert(x, e)
			}
		}
		return b.Not(g.as(pool, kernel.I1))
	case 10:
		x, y := two(kernel.I32)
		return []*kernel.Value{b.MulHi(x, y), b.Bitcast(x, kernel.F32)}[g.IntN(2)]
	}
	x := one(kernel.F32)
	switch g.IntN(4) {
	case 0:
		return b.Round(x, []kernel.Elem{kernel.BF16, kernel.F16, kernel.F8E4M3, kernel.F8E5M2}[g.IntN(4)])
	case 1:
		return b.Call([]*kernel.Math{vmath.Exp, vmath.Log, vmath.Tanh, vmath.Erf, vmath.Sigmoid, vmath.Sin}[g.IntN(6)], x)
	case 2:
		s := b.Extract(x, g.IntN(g.lanes))
		return b.If(b.Lt(s, b.F32(0, 1)), func() []*kernel.Value { return []*kernel.Value{b.Neg(x)} },
			func() []*kernel.Value { return []*kernel.Value{x} })[0]
	}
	order := make([]int, g.lanes)
	for i := range order {
		order[i] = g.IntN(2 * g.lanes)
	}
	return b.Shuffle(x, g.as(pool, kernel.F32), order...)
}

// inputs fills the arguments of k, with every kind of number.
func inputs(k *kernel.Kernel, seed uint64, cols int64) [][]byte {
	r := rand.New(rand.NewPCG(seed, 13))
	var bufs [][]byte
	for _, a := range k.Args() {
		var b []byte
		for i := range a.Len {
			if tie, ok := ties(float64(i))[a.Name]; ok {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(tie)))
			} else if a.Name == "index" {
				b = binary.LittleEndian.AppendUint32(b, uint32(r.Int64N(cols)))
			} else {
				b = appendNumber(b, a.Elem, r)
			}
		}
		bufs = append(bufs, b)
	}
	return bufs
}

// ties are operands with x·y + z = z ± 2^-24·(1 - 2^-46·i²): just short of a tie
// between z and its neighbor.
func ties(i float64) map[string]float64 {
	sign := math.Copysign(1, math.Mod(i, 3)-1)
	return map[string]float64{
		"tie_x": sign * 0x1p-24 * (1 + 0x1p-23*i), "tie_y": 1 - 0x1p-23*i, "tie_z": 1 + 0x1p-23*(2*i+1),
	}
}

func appendNumber(b []byte, e kernel.Elem, r *rand.Rand) []byte {
	special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1, 0x1p-130, 0x1p-24, 65504, 65520, 1e30}
	f := r.NormFloat64() * math.Exp(3*r.NormFloat64())
	if r.IntN(8) == 0 {
		f = special[r.IntN(len(special))]
	}
	n := r.Uint64() >> r.IntN(64)
	if r.IntN(2) == 0 {
		n = -n
	}
	switch e {
	case kernel.F32:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
	case kernel.F64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	case kernel.BF16:
		return binary.LittleEndian.AppendUint16(b, dtype.ToBF16(float32(f)))
	case kernel.F16:
		return binary.LittleEndian.AppendUint16(b, dtype.ToF16(float32(f)))
	case kernel.I32:
		return binary.LittleEndian.AppendUint32(b, uint32(n))
	case kernel.I64:
		return binary.LittleEndian.AppendUint64(b, n)
	}
	return append(b, byte(n&1))
}

// differ says where two buffers of element e differ; NaNs are all alike.
func differ(e kernel.Elem, got, want []byte) string {
	size := e.Bytes()
	for i := 0; i < len(want); i += size {
		g, w := got[i:i+size], want[i:i+size]
		if string(g) != string(w) && !(isNaN(e, g) && isNaN(e, w)) {
			return fmt.Sprintf("element %d of %s is %x, want %x", i/size, e, g, w)
		}
	}
	return ""
}

func isNaN(e kernel.Elem, b []byte) bool {
	switch e {
	case kernel.F32:
		f := math.Float32frombits(binary.LittleEndian.Uint32(b))
		return f != f
	case kernel.F64:
		return math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case kernel.BF16:
		f := dtype.FromBF16(binary.LittleEndian.Uint16(b))
		return f != f
	case kernel.F16:
		f := dtype.FromF16(binary.LittleEndian.Uint16(b))
		return f != f
	case kernel.F8E4M3, kernel.F8E5M2:
		f := e.DType().FromBits(uint32(b[0]))
		return f != f
	}
	return false
}
