package emit

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"ptc/backend/cpu/llvm/target"
	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/internal/dtype"
)

// dotKernel adds the products of n vectors of pairs to sums.
func dotKernel(t testing.TB, lanes int, n int64) *kernel.Kernel {
	b := kernel.New("dots", 1)
	x := b.Arg("x", kernel.I32, n*int64(lanes), kernel.Read)
	y := b.Arg("y", kernel.I32, n*int64(lanes), kernel.Read)
	sums := b.Arg("sums", kernel.F32, int64(lanes), kernel.ReadWrite)
	begin := []*kernel.Value{b.Load(sums.At(kernel.Int(0)), lanes)}
	acc := b.ForCarry(kernel.Span(n), begin, func(i kernel.Index, c []*kernel.Value) []*kernel.Value {
		at := i.Mul(int64(lanes))
		return []*kernel.Value{b.DotBF16(c[0], b.Load(x.At(at), lanes), b.Load(y.At(at), lanes))}
	})
	b.Store(sums.At(kernel.Int(0)), acc[0])
	return build(t, b)
}

// TestDotIsAnInstruction: where the target has it, and two multiply-adds elsewhere.
func TestDotIsAnInstruction(t *testing.T) {
	for name, lanes := range map[string]int{"cpu:x86-64-v4+avx512bf16": 16, "cpu:x86-64-v4": 16, "cpu:x86-64-v3": 8, "cpu:neoverse-v2": 4} {
		asm := assembly(t, name, dotKernel(t, lanes, 64))
		if got, want := strings.Contains(asm, "vdpbf16ps"), strings.HasSuffix(name, "bf16"); got != want {
			t.Errorf("%s: the instruction is there: %v\n%s", name, got, asm)
		}
	}
}

// TestDotNative: on every target that this host runs, sums of numbers that are far
// from subnormal have the bits that the interpreter gives.
func TestDotNative(t *testing.T) {
	_, runnable := targets(t)
	for _, tgt := range runnable {
		k := dotKernel(t, tgt.Lanes(32), 100)
		numbers := func() (bufs [][]byte) {
			r := rand.New(rand.NewPCG(2, 3))
			for _, a := range k.Args() {
				var b []byte
				for range a.Len * 2 {
					f := float32(r.NormFloat64()) * float32(int(1)<<r.IntN(12))
					b = binary.LittleEndian.AppendUint16(b, dtype.ToBF16(f))
				}
				bufs = append(bufs, b)
			}
			return bufs
		}
		want := numbers()
		if err := (kerneltest.Interp{}).Run(k, want, 0, 1); err != nil {
			t.Fatal(err)
		}
		got := run(t, image(t, compile(t, tgt, k)), k, numbers(), 0, 1)
		if d := differ(kernel.F32, got[2], want[2]); d != "" {
			t.Errorf("%s: %s", tgt.Name, d)
		}
	}
}

// matKernel adds the products of n vectors of rows and columns to sums.
func matKernel(t testing.TB, n int64) *kernel.Kernel {
	b := kernel.New("matrices", 1)
	x := b.Arg("x", kernel.I32, 4*n, kernel.Read)
	y := b.Arg("y", kernel.I32, 4*n, kernel.Read)
	sums := b.Arg("sums", kernel.F32, 4*n, kernel.ReadWrite)
	b.For(kernel.Span(n), func(i kernel.Index) {
		at := i.Mul(4)
		b.Store(sums.At(at), b.MatBF16(b.Load(sums.At(at), 4), b.Load(x.At(at), 4), b.Load(y.At(at), 4)))
	})
	return build(t, b)
}

// TestMatricesAreAnInstruction: where the target has it; no other one can do them.
func TestMatricesAreAnInstruction(t *testing.T) {
	for _, name := range target.Names() {
		tgt, err := target.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		k := matKernel(t, 8)
		if !tgt.HasMatBF16 {
			if _, err := Module(tgt, k); err == nil || !strings.Contains(err.Error(), "needs a processor with BFMMLA") {
				t.Errorf("%s: error %v", name, err)
			}
			continue
		}
		if asm := assembly(t, name, k); !strings.Contains(asm, "bfmmla") {
			t.Errorf("%s: the instruction is not there\n%s", name, asm)
		}
	}
}

// TestMatricesNative: on targets that this host runs, sums have the bits that the
// interpreter gives, those of any bits of bf16 and f32.
func TestMatricesNative(t *testing.T) {
	_, runnable := targets(t)
	for _, tgt := range runnable {
		if !tgt.HasMatBF16 {
			continue
		}
		k := matKernel(t, 5000)
		numbers := func() (bufs [][]byte) {
			r := rand.New(rand.NewPCG(7, 3))
			for _, a := range k.Args() {
				var b []byte
				for i := range a.Len {
					word := r.Uint32()
					if i/4%2 == 0 { // exponents near each other, of which bits are cut off
						const sign, mantissas = 0x807f807f, 0x3c003c00
						word = word&(sign|0x01800180) | mantissas
					}
					b = binary.LittleEndian.AppendUint32(b, word)
				}
				bufs = append(bufs, b)
			}
			return bufs
		}
		want := numbers()
		if err := (kerneltest.Interp{}).Run(k, want, 0, 1); err != nil {
			t.Fatal(err)
		}
		got := run(t, image(t, compile(t, tgt, k)), k, numbers(), 0, 1)
		if d := differ(kernel.F32, got[2], want[2]); d != "" {
			t.Errorf("%s: %s", tgt.Name, d)
		}
	}
}
