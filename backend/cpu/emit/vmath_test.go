package emit

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/backend/kernel/vmath"
)

var mathCalls = map[kernel.Op]func(b *kernel.Builder, x, y *kernel.Value) *kernel.Value{
	kernel.OpExp:     func(b *kernel.Builder, x, _ *kernel.Value) *kernel.Value { return b.Exp(x) },
	kernel.OpLog:     func(b *kernel.Builder, x, _ *kernel.Value) *kernel.Value { return b.Log(x) },
	kernel.OpTanh:    func(b *kernel.Builder, x, _ *kernel.Value) *kernel.Value { return b.Tanh(x) },
	kernel.OpErf:     func(b *kernel.Builder, x, _ *kernel.Value) *kernel.Value { return b.Erf(x) },
	kernel.OpRsqrt:   func(b *kernel.Builder, x, _ *kernel.Value) *kernel.Value { return b.Rsqrt(x) },
	kernel.OpSigmoid: func(b *kernel.Builder, x, _ *kernel.Value) *kernel.Value { return b.Sigmoid(x) },
	kernel.OpSin:     func(b *kernel.Builder, x, _ *kernel.Value) *kernel.Value { return b.Sin(x) },
	kernel.OpCos:     func(b *kernel.Builder, x, _ *kernel.Value) *kernel.Value { return b.Cos(x) },
	kernel.OpPow:     func(b *kernel.Builder, x, y *kernel.Value) *kernel.Value { return b.Pow(x, y) },
	kernel.OpMod:     func(b *kernel.Builder, x, y *kernel.Value) *kernel.Value { return b.Mod(x, y) },
}

// mathKernel applies op to n elements; a task is 1024 of them.
func mathKernel(t testing.TB, op kernel.Op, n int64, lanes int) *kernel.Kernel {
	const perTask = 1024
	b := kernel.New("math_"+op.String(), n/perTask)
	x := b.Arg("x", kernel.F32, n, kernel.Read)
	y := b.Arg("y", kernel.F32, n, kernel.Read)
	out := b.Arg("out", kernel.F32, n, kernel.Write)
	b.For(kernel.Span(perTask).By(int64(lanes)), func(i kernel.Index) {
		at := b.Task().Mul(perTask).Add(i)
		b.Store(out.At(at), mathCalls[op](b, b.Load(x.At(at), lanes), b.Load(y.At(at), lanes)))
	})
	return build(t, b)
}

func build(t testing.TB, b *kernel.Builder) *kernel.Kernel {
	t.Helper()
	k, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestMathBounds measures every math call, native, on a grid over all bit
// patterns of f32 (every exponent and both signs, with infinities and NaNs),
// once per target this host runs. Coarser grids on narrower targets keep the
// test short.
func TestMathBounds(t *testing.T) {
	_, runnable := targets(t)
	for i, tgt := range runnable {
		shift := 14
		if i == len(runnable)-1 {
			shift = 11 // 2^21 points
		}
		n := int64(1) << (32 - shift)
		xs, ys := make([]byte, 4*n), make([]byte, 4*n)
		r := rand.New(rand.NewPCG(7, 8))
		for j := range n {
			bits := uint32(j)<<shift | r.Uint32()>>(32-shift)
			binary.LittleEndian.PutUint32(xs[4*j:], bits)
			binary.LittleEndian.PutUint32(ys[4*j:], math.Float32bits(float32(r.NormFloat64()*math.Exp(r.NormFloat64()*2))))
		}
		var ks []*kernel.Kernel
		for _, op := range kernel.Ops() {
			if op.IsMath() {
				ks = append(ks, mathKernel(t, op, n, Machine(tgt).Lanes(kernel.F32)))
			}
		}
		img := image(t, compile(t, tgt, ks...))
		for _, op := range kernel.Ops() {
			if !op.IsMath() {
				continue
			}
			out := run(t, img, ks[0], [][]byte{xs, ys, make([]byte, 4*n)}, 0, ks[0].Tasks)[2]
			ks = ks[1:]
			t.Logf("%s %s: %.2f ulp", tgt.Name, op, worstUlp(t, op, xs, ys, out))
		}
	}
}

func worstUlp(t *testing.T, op kernel.Op, xs, ys, out []byte) float64 {
	worst := 0.0
	for j := 0; j < len(out); j += 4 {
		at := func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[j:]))) }
		x, y, got := at(xs), at(ys), at(out)
		want := kerneltest.Reference(op, x, y)
		if float32(want) == float32(got) || got != got && want != want {
			continue
		}
		_, e := math.Frexp(want)
		u := math.Abs(got-want) / math.Ldexp(1, max(e-24, -149))
		if !(u <= vmath.Bound) || op == kernel.OpMod {
			t.Fatalf("%s(%v, %v) = %v, want %v: %.2f ulp", op, x, y, got, want, u)
		}
		worst = max(worst, u)
	}
	return worst
}
