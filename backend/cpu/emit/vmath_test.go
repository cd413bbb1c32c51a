package emit

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/vmath"
)

// mathKernel applies f to n elements; a task is 1024 of them.
func mathKernel(t testing.TB, f *kernel.Math, n int64, lanes int) *kernel.Kernel {
	const perTask = 1024
	b := kernel.New("math_"+f.Name, n/perTask)
	x := b.Arg("x", kernel.F32, n, kernel.Read)
	y := b.Arg("y", kernel.F32, n, kernel.Read)
	out := b.Arg("out", kernel.F32, n, kernel.Write)
	b.For(kernel.Span(perTask).By(int64(lanes)), func(i kernel.Index) {
		at := b.Task().Mul(perTask).Add(i)
		a := []*kernel.Value{b.Load(x.At(at), lanes), b.Load(y.At(at), lanes)}
		b.Store(out.At(at), b.Call(f, a[:f.Args]...))
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
		for _, f := range vmath.All() {
			ks = append(ks, mathKernel(t, f, n, Machine(tgt).Lanes(kernel.F32)))
		}
		img := image(t, compile(t, tgt, ks...))
		for _, f := range vmath.All() {
			out := run(t, img, ks[0], [][]byte{xs, ys, make([]byte, 4*n)}, 0, ks[0].Tasks)[2]
			ks = ks[1:]
			t.Logf("%s %s: %.2f ulp", tgt.Name, f.Name, worstUlp(t, f, xs, ys, out))
		}
	}
}

func worstUlp(t *testing.T, f *kernel.Math, xs, ys, out []byte) float64 {
	worst := 0.0
	for j := 0; j < len(out); j += 4 {
		at := func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[j:]))) }
		x, y, got := at(xs), at(ys), at(out)
		want := f.Exact(x, y)
		if float32(want) == float32(got) || got != got && want != want {
			continue
		}
		_, e := math.Frexp(want)
		u := math.Abs(got-want) / math.Ldexp(1, max(e-24, -149))
		if !(u <= vmath.Bound) || f == vmath.Mod {
			t.Fatalf("%s(%v, %v) = %v, want %v: %.2f ulp", f.Name, x, y, got, want, u)
		}
		worst = max(worst, u)
	}
	return worst
}
