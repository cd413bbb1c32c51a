package kerneltest

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"ptc/backend/kernel"
)

func floats(f ...float32) []byte {
	var b []byte
	for _, x := range f {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func words(b []byte) []uint32 {
	var w []uint32
	for ; len(b) > 0; b = b[4:] {
		w = append(w, binary.LittleEndian.Uint32(b))
	}
	return w
}

func finish(t *testing.T, b *kernel.Builder) *kernel.Kernel {
	t.Helper()
	k, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// rowSum is out[task] = Σ in[task, :] over 10 columns in vectors of 4.
func rowSum(name string) *kernel.Builder {
	b := kernel.New(name, 3)
	in := b.Arg("in", kernel.F32, 30, kernel.Read)
	out := b.Arg("out", kernel.F32, 3, kernel.Write)
	row := b.Task().Mul(10)
	acc := b.ForCarry(kernel.Span(8).By(4).Unrolled(2), []*kernel.Value{b.F32(0, 4)}, func(i kernel.Index, c []*kernel.Value) []*kernel.Value {
		return []*kernel.Value{b.Add(c[0], b.Load(in.At(row.Add(i)), 4))}
	})
	tail := b.Load(in.At(row.Plus(8)).Masked(b.TailMask(kernel.Int(2), 4)), 4)
	b.Store(out.At(b.Task()), b.ReduceAdd(b.Add(acc[0], tail)))
	return b
}

func TestInterpretRowSum(t *testing.T) {
	in := make([]float32, 30)
	for i := range in {
		in[i] = float32(i)
	}
	out := floats(-1, -1, -1)
	if err := Interpret(finish(t, rowSum("rows")), [][]byte{floats(in...), out}, 1, 3); err != nil {
		t.Fatal(err)
	}
	if got, want := words(out), words(floats(-1, 145, 245)); got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %x, want %x", got, want)
	}
}

// TestInterpretRejects: what native code would do silently is an error here.
func TestInterpretRejects(t *testing.T) {
	k := finish(t, rowSum("rows"))
	full := [][]byte{make([]byte, 120), make([]byte, 12)}
	b := kernel.New("outside", 1)
	buf := b.Arg("buf", kernel.F32, 7, kernel.Read)
	four := b.Add(b.ConstInt(kernel.Scalar(kernel.I64), 4), b.Value(b.Task()))
	b.Load(buf.At(kernel.Of(four)), 4)
	outside := finish(t, b)
	for _, c := range []struct {
		k          *kernel.Kernel
		bufs       [][]byte
		begin, end int64
		want       string
	}{
		{k, full[:1], 0, 1, "takes 2"},
		{k, full, 0, 4, "tasks [0, 4) of 3"},
		{k, [][]byte{full[0][:8], full[1]}, 0, 1, "needs 120"},
		{outside, [][]byte{make([]byte, 28)}, 0, 1, "lane 3 at element 7 of buf[7]"},
	} {
		err := Interpret(c.k, c.bufs, c.begin, c.end)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// TestPhilox checks the known-answer vectors published with Random123
// (kat_vectors, philox4x32 10).
func TestPhilox(t *testing.T) {
	cases := [][10]uint32{ // counter, key, result
		{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
		{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
			0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0,
			0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
	}
	for _, c := range cases {
		b := kernel.New("philox", 1)
		out := b.Arg("out", kernel.I32, 4, kernel.Write)
		var in [6]*kernel.Value
		for i := range in {
			in[i] = b.ConstInt(kernel.Vec(kernel.I32, 2), int64(int32(c[i])))
		}
		for i, w := range b.Philox([4]*kernel.Value(in[:4]), [2]*kernel.Value(in[4:])) {
			b.Store(out.At(kernel.Int(int64(i))), b.Extract(w, 1))
		}
		buf := make([]byte, 16)
		if err := Interpret(finish(t, b), [][]byte{buf}, 0, 1); err != nil {
			t.Fatal(err)
		}
		for i, w := range words(buf) {
			if w != c[6+i] {
				t.Errorf("%x: word %d is %#x, want %#x", c[:6], i, w, c[6+i])
			}
		}
	}
}

// TestFMA32 compares with the exact sum rounded once by big.Float, on operands
// that make ties and cancellation frequent.
func TestFMA32(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	operand := func() float32 {
		m := float32(r.IntN(1<<24)) / (1 << 12)
		if r.IntN(3) == 0 {
			m = float32(r.IntN(9)) + 1.0/(1<<23)
		}
		return float32(math.Ldexp(float64(m), r.IntN(60)-30)) * float32(1-2*r.IntN(2))
	}
	for range 200000 {
		x, y, z := operand(), operand(), operand()
		big := func(f float32) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(float64(f)) }
		sum := big(0).Add(big(0).Mul(big(x), big(y)), big(z))
		want, _ := sum.Float32()
		if got := fma32(x, y, z); got != want {
			t.Fatalf("fma(%x, %x, %x) = %x, want %x", x, y, z, got, want)
		}
	}
	if got := fma32(math.MaxFloat32, 2, float32(math.Inf(-1))); !math.IsInf(float64(got), -1) {
		t.Errorf("large minus infinity is %v", got)
	}
}
