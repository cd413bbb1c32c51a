package kerneltest

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"ptc/backend/kernel"
)

// TestAddOdd compares sums with exact ones, cut to 24 bits and made odd where bits were
// cut off.
func TestAddOdd(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	operand := func() float32 {
		return float32(math.Ldexp(float64(r.IntN(1<<24)), r.IntN(60)-50)) * float32(1-2*r.IntN(2))
	}
	inexact := 0
	for range 200000 {
		x, y := operand(), operand()
		exact := new(big.Float).SetPrec(300).SetFloat64(float64(x))
		exact.Add(exact, new(big.Float).SetFloat64(float64(y)))
		cut := new(big.Float).SetPrec(24).SetMode(big.ToZero).Set(exact)
		want, _ := cut.Float32()
		if cut.Cmp(exact) != 0 {
			inexact++
			want = math.Float32frombits(math.Float32bits(want) | 1)
		}
		if got := addOdd(x, y); got != want {
			t.Fatalf("%x + %x = %x, want %x", x, y, got, want)
		}
	}
	if inexact < 10000 {
		t.Errorf("%d sums are rounded", inexact)
	}
	for _, c := range [][3]float32{
		{math.MaxFloat32, math.MaxFloat32 * 0x1p-25, math.MaxFloat32},
		{math.MaxFloat32, math.MaxFloat32, float32(math.Inf(1))},
		{0x1p-126, -0x1.8p-126, 0},
		{0x1p-127, 0x1p-100, 0x1p-100},
		{1, -0x1p-40, 0x1.fffffep-1},
		{-1, 0x1p-149, -1},
	} {
		if got := addOdd(c[0], c[1]); got != c[2] {
			t.Errorf("%x + %x = %x, want %x", c[0], c[1], got, c[2])
		}
	}
}

// TestTiles multiplies tile registers of small whole numbers, whose sums are exact, and
// checks what is refused.
func TestTiles(t *testing.T) {
	const words = kernel.TileRows * 16
	b := kernel.New("tiles", 1)
	left := b.Arg("left", kernel.BF16, 2*words, kernel.Read)
	right := b.Arg("right", kernel.I32, 3*words, kernel.Read) // every third row of 16
	out := b.Arg("out", kernel.F32, words, kernel.Write)
	b.TileZero(0)
	b.TileLoad(3, left.At(kernel.Int(0)).Strided(32))
	b.TileLoad(5, right.At(kernel.Int(0)).Strided(48))
	b.TileDot(0, 3, 5)
	b.TileDot(0, 3, 5)
	b.TileStore(out.At(kernel.Int(0)).Strided(16), 0)
	k := finish(t, b)
	if !k.UsesTiles() || finish(t, rowSum("rows")).UsesTiles() {
		t.Error("which kernel has tile registers is not known")
	}
	r := rand.New(rand.NewPCG(1, 1))
	var bufs [][]byte
	var x, y [2 * words]float32
	for _, v := range []*[2 * words]float32{&x, &y} {
		for i := range v {
			v[i] = float32(r.IntN(17) - 8)
		}
	}
	put := func(b []byte, i int, f float32) {
		bits := math.Float32bits(f) >> 16
		b[2*i], b[2*i+1] = byte(bits), byte(bits>>8)
	}
	a, w := make([]byte, 4*words), make([]byte, 12*words)
	for row := range 16 {
		for i := range 32 {
			put(a, 32*row+i, x[32*row+i])
			put(w, 2*48*row+i, y[32*row+i])
		}
	}
	bufs = append(bufs, a, w, make([]byte, 4*words))
	if err := Interpret(k, bufs, 0, 1); err != nil {
		t.Fatal(err)
	}
	for m := range 16 {
		for n := range 16 {
			var want float32
			for k := range 32 {
				want += 2 * x[32*m+k] * y[32*(k/2)+2*n+k%2]
			}
			i := 4 * (16*m + n)
			if got := math.Float32frombits(uint32(read(kernel.F32, bufs[2][i:i+4]))); got != want {
				t.Fatalf("row %d, column %d is %g, want %g", m, n, got, want)
			}
		}
	}
}

// TestTilesRefused: statements that no instruction has, and rows outside of a buffer.
func TestTilesRefused(t *testing.T) {
	for name, bad := range map[string]func(b *kernel.Builder, in, out *kernel.Buffer){
		"no such register": func(b *kernel.Builder, _, _ *kernel.Buffer) { b.TileZero(8) },
		"one twice":        func(b *kernel.Builder, _, _ *kernel.Buffer) { b.TileDot(1, 2, 2) },
		"too short":        func(b *kernel.Builder, in, _ *kernel.Buffer) { b.TileLoad(1, in.At(kernel.Int(1)).Strided(16)) },
		"before it":        func(b *kernel.Builder, in, _ *kernel.Buffer) { b.TileLoad(1, in.At(kernel.Int(8)).Strided(-1)) },
		"read only":        func(b *kernel.Builder, in, _ *kernel.Buffer) { b.TileStore(in.At(kernel.Int(0)).Strided(16), 1) },
		"of i32":           func(b *kernel.Builder, _, out *kernel.Buffer) { b.TileStore(out.At(kernel.Int(0)).Strided(16), 1) },
	} {
		b := kernel.New("bad", 1)
		in := b.Arg("in", kernel.F32, 256, kernel.Read)
		out := b.Arg("out", kernel.I32, 256, kernel.Write)
		bad(b, in, out)
		if _, err := b.Finish(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
