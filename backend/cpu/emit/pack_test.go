package emit

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/internal/dtype"
)

// packKernel packs n vectors of x and y in order and in turns: as they are, rounded before, and as
// they lie in buffers of bf16.
func packKernel(t testing.TB, lanes int, n int64) *kernel.Kernel {
	b := kernel.New("pack", 1)
	of := func(name string, e kernel.Elem) *kernel.Buffer { return b.Arg(name, e, n*int64(lanes), kernel.Read) }
	x, y, u, v := of("x", kernel.F32), of("y", kernel.F32), of("u", kernel.BF16), of("v", kernel.BF16)
	out := b.Arg("out", kernel.I32, 6*n*int64(lanes), kernel.Write)
	b.For(kernel.Span(n), func(i kernel.Index) {
		at := i.Mul(int64(lanes))
		load := func(from *kernel.Buffer) *kernel.Value { return b.Load(from.At(at), lanes) }
		for j, pair := range [][2]*kernel.Value{
			{load(x), load(y)},
			{b.Round(load(x), kernel.BF16), b.Round(load(y), kernel.BF16)},
			{load(u), load(v)},
		} {
			to := func(k int) kernel.Ref { return out.At(at.Plus(int64(2*j+k) * n * int64(lanes))) }
			b.Store(to(0), b.PackBF16(pair[0], pair[1]))
			b.Store(to(1), b.ZipBF16(pair[0], pair[1]))
		}
	})
	return build(t, b)
}

// TestPack: on every target that this host runs, words have the bits that the interpreter gives, of
// numbers that are not subnormal: those halfway between two, those that round to infinity, and NaNs.
func TestPack(t *testing.T) {
	_, runnable := targets(t)
	special := []uint32{0, 1 << 31, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0x3f808000, 0x3f818000, 0x3f808001, 0x3f807fff, 0x00800000}
	for _, tgt := range runnable {
		k := packKernel(t, tgt.Lanes(32), 40)
		r := rand.New(rand.NewPCG(5, 8))
		var in [][]byte
		for _, a := range k.Args() {
			var b []byte
			for i := range a.Len {
				f := float32(r.NormFloat64()) * float32(math.Ldexp(1, r.IntN(60)-30))
				if i%3 == 0 {
					f = math.Float32frombits(special[r.IntN(len(special))])
				}
				if a.Elem == kernel.BF16 {
					b = binary.LittleEndian.AppendUint16(b, dtype.ToBF16(f))
				} else {
					b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
				}
			}
			in = append(in, b)
		}
		got := run(t, image(t, compile(t, tgt, k)), k, in, 0, 1)
		if err := (kerneltest.Interp{}).Run(k, in, 0, 1); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(in[4]); i += 4 {
			if g, w := binary.LittleEndian.Uint32(got[4][i:]), binary.LittleEndian.Uint32(in[4][i:]); g != w {
				t.Errorf("%s: word %d is %08x, want %08x", tgt.Name, i/4, g, w)
				break
			}
		}
	}
}

// TestPackIsAnInstruction: where the target has it, which then rounds both vectors; what lies in memory
// as bf16 is not rounded again.
func TestPackIsAnInstruction(t *testing.T) {
	for name, want := range map[string]int{"cpu:x86-64-v4+amx": 1, "cpu:x86-64-v4+avx512bf16": 1, "cpu:x86-64-v4": 0} {
		asm := assembly(t, name, packKernel(t, 16, 40))
		n := strings.Count(asm, "vcvtne2ps2bf16")
		if (n > 0) != (want > 0) || n%2 != 0 {
			t.Errorf("%s: %d instructions\n%s", name, n, asm)
		}
	}
}
