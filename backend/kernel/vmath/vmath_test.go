package vmath

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
)

// single is a kernel of one math call over n elements, 5 lanes at a time.
func single(t *testing.T, f *kernel.Math, n int64) *kernel.Kernel {
	t.Helper()
	const lanes = 5
	b := kernel.New(f.Name, n/lanes)
	x := b.Arg("x", kernel.F32, n, kernel.Read)
	y := b.Arg("y", kernel.F32, n, kernel.Read)
	out := b.Arg("out", kernel.F32, n, kernel.Write)
	at := b.Task().Mul(lanes)
	a := []*kernel.Value{b.Load(x.At(at), lanes), b.Load(y.At(at), lanes)}
	b.Store(out.At(at), b.Call(f, a[:f.Args]...))
	k, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// arguments are edges, every exponent with a few mantissas of both signs, and
// random bits.
func arguments(n int) []float32 {
	inf := float32(math.Inf(1))
	xs := []float32{0, float32(math.Copysign(0, -1)), inf, -inf, float32(math.NaN()), 1, -1, 0.5, 2, 3, -3,
		math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, math.MaxFloat32, -math.MaxFloat32,
		0x1p-126, 88.72283, 88.722839, -87.33655, -103.97208, -103.97209, -104, 0.625, 0.92, 4, 9.01, 22, 32767.99, 32768}
	for e := uint32(0); e < 255; e++ {
		for _, m := range []uint32{0, 1, 0x2aaaaa, 0x3504f3, 0x3504f4, 0x490fdb, 0x7fffff} {
			xs = append(xs, math.Float32frombits(e<<23|m), math.Float32frombits(1<<31|e<<23|m))
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for len(xs) < n {
		x := math.Float32frombits(r.Uint32())
		if len(xs)%2 == 0 {
			x = float32(r.NormFloat64() * 4)
		}
		xs = append(xs, x)
	}
	return xs[:n]
}

func encode(xs []float32) []byte {
	var b []byte
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// ulps is the distance of got from want in units of want's last place in f32.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	if got == w || got != got && want != want {
		return 0
	}
	if math.IsInf(float64(got), 0) || math.IsInf(want, 0) || got != got || want != want {
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

func TestBounds(t *testing.T) {
	const n = 10000
	xs := arguments(n)
	ys := append([]float32(nil), xs...)
	rand.New(rand.NewPCG(5, 6)).Shuffle(n, func(i, j int) { ys[i], ys[j] = ys[j], ys[i] })
	for _, f := range All() {
		t.Run(f.Name, func(t *testing.T) {
			k, err := Expand(single(t, f, n))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(k.String(), "= "+f.Name+" ") {
				t.Error("the call is still there")
			}
			out := make([]byte, 4*n)
			if err := kerneltest.Interpret(k, [][]byte{encode(xs), encode(ys), out}, 0, k.Tasks); err != nil {
				t.Fatal(err)
			}
			worst, at := 0.0, 0
			for i := range xs {
				got := math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:]))
				want := f.Exact(float64(xs[i]), float64(ys[i]))
				if u := ulps(got, want); u > worst {
					worst, at = u, i
				}
				if want == 0 && got == 0 && math.Signbit(want) != math.Signbit(float64(got)) {
					t.Fatalf("%s(%v, %v) = %v, want %v", f.Name, xs[i], ys[i], got, want)
				}
			}
			t.Logf("%.2f ulp at %s(%v, %v)", worst, f.Name, xs[at], ys[at])
			if worst > Bound || f == Mod && worst > 0 {
				t.Errorf("%.2f ulp at %s(%v, %v)", worst, f.Name, xs[at], ys[at])
			}
		})
	}
}

// TestPowSpecialCases are those of C99, F.9.4.4.
func TestPowSpecialCases(t *testing.T) {
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 2, -2, 3, -3, 0.5, -0.5, 2.5, -2.5, 1 << 24, 1<<24 + 2,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.MaxFloat32, math.SmallestNonzeroFloat32}
	var xs, ys []float32
	for _, x := range special {
		for _, y := range special {
			xs, ys = append(xs, x), append(ys, y)
		}
	}
	for len(xs)%5 != 0 {
		xs, ys = append(xs, 1), append(ys, 1)
	}
	k, err := Expand(single(t, Pow, int64(len(xs))))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 4*len(xs))
	if err := kerneltest.Interpret(k, [][]byte{encode(xs), encode(ys), out}, 0, k.Tasks); err != nil {
		t.Fatal(err)
	}
	for i := range xs {
		got := math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:]))
		want := math.Pow(float64(xs[i]), float64(ys[i]))
		if ulps(got, want) > Bound || math.Signbit(float64(got)) != math.Signbit(want) && want == want {
			t.Errorf("pow(%v, %v) = %v, want %v", xs[i], ys[i], got, want)
		}
	}
}

// TestPowLarge: powers near the ends of f32, and bases near 1, where an error of the logarithm counts most; and the
// frequencies of rotary embeddings.
func TestPowLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var xs, ys []float32
	for i := range 20000 {
		x := math.Exp2(r.Float64()*4 - 2)
		if i%3 == 0 {
			x = 1 + math.Ldexp(r.Float64()-0.5, -r.IntN(22))
		}
		x = float64(float32(x))
		y := (r.Float64()*276 - 149) / math.Log2(x)
		if i%5 == 0 {
			x, y = []float64{1e4, 5e5, 1e6}[r.IntN(3)], -2*float64(r.IntN(64))/128
		}
		if x == 1 {
			y = 3
		}
		xs, ys = append(xs, float32(x)), append(ys, float32(y))
	}
	k, err := Expand(single(t, Pow, int64(len(xs))))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 4*len(xs))
	if err := kerneltest.Interpret(k, [][]byte{encode(xs), encode(ys), out}, 0, k.Tasks); err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for i := range xs {
		got, want := math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:])), math.Pow(float64(xs[i]), float64(ys[i]))
		worst = max(worst, ulps(got, want))
		if ulps(got, want) > Bound {
			t.Fatalf("pow(%v, %v) = %v, want %v", xs[i], ys[i], got, want)
		}
	}
	t.Logf("%.2f ulp", worst)
}

// TestNoDoubles: no expansion computes in f64 but the remainder, which has to be exact.
func TestNoDoubles(t *testing.T) {
	for _, f := range All() {
		k, err := Expand(single(t, f, 5))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(k.String(), "f64") != (f == Mod) {
			t.Errorf("%s in f64: %v", f.Name, f != Mod)
		}
	}
}

// TestExpandLeavesOthers: a kernel without math calls is not copied.
func TestExpandLeavesOthers(t *testing.T) {
	b := kernel.New("none", 1)
	out := b.Arg("out", kernel.F32, 1, kernel.Write)
	b.Store(out.At(kernel.Int(0)), b.F32(1, 1))
	k, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if same, err := Expand(k); err != nil || same != k {
		t.Errorf("got %p, %v, want %p", same, err, k)
	}
}

// TestTanhDerivative: made of the result y, as autodiff does, the derivative is
// within 2^-22 of the true one.
func TestTanhDerivative(t *testing.T) {
	const n = 40000
	xs := make([]float32, n)
	for i := range xs {
		xs[i] = float32(i-n/2) / 1600 // to ±12.5
	}
	k, err := Expand(single(t, Tanh, n))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 4*n)
	if err := kerneltest.Interpret(k, [][]byte{encode(xs), encode(xs), out}, 0, k.Tasks); err != nil {
		t.Fatal(err)
	}
	for i, x := range xs {
		y := math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:]))
		got := float64(float32(1-y) * float32(1+y))
		c := math.Cosh(float64(x))
		if want := 1 / (c * c); math.Abs(got-want) > 0x1p-22 {
			t.Fatalf("tanh'(%v) = %v, want %v", x, got, want)
		}
	}
}

// TestExpNormal compares e^x for what softmax takes it of.
func TestExpNormal(t *testing.T) {
	const n, lanes = 20000, 5
	xs := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(-1)), float32(math.NaN()), math.Float32frombits(0xffc00001),
		-math.MaxFloat32, 5, -87.33654, -87.33655, -87.6831, -88.02, -88.03, -104, 80}
	r := rand.New(rand.NewPCG(7, 8))
	for len(xs) < n {
		xs = append(xs, float32(-90*math.Pow(r.Float64(), 3)))
	}
	b := kernel.New("k", n/lanes)
	x, out := b.Arg("x", kernel.F32, n, kernel.Read), b.Arg("out", kernel.F32, n, kernel.Write)
	at := b.Task().Mul(lanes)
	b.Store(out.At(at), ExpNormal(b, b.Load(x.At(at), lanes)))
	k, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	bits := make([]byte, 4*n)
	if err := kerneltest.Interpret(k, [][]byte{encode(xs), bits}, 0, k.Tasks); err != nil {
		t.Fatal(err)
	}
	worst, where := 0.0, float32(0)
	for i, x := range xs {
		got, want := math.Float32frombits(binary.LittleEndian.Uint32(bits[4*i:])), math.Exp(float64(x))
		if want < 0x1p-126 {
			if !(got >= 0 && got <= 0x1p-126) || math.IsInf(float64(x), -1) && got != 0 {
				t.Errorf("of %v: %v", x, got)
			}
		} else if u := ulps(got, want); u > worst {
			worst, where = u, x
		}
	}
	t.Logf("%.2f ulp at %v", worst, where)
	if worst > Bound {
		t.Errorf("%.2f ulp at %v", worst, where)
	}
}
