package emit

import (
	"regexp"
	"strings"
	"testing"

	"ptc/backend/cpu/llvm/target"
	"ptc/backend/kernel"
)

// gemmTile is the inner loop of a GEMM on packed panels: mr rows times vecs
// vectors of accumulators, over depth steps.
func gemmTile(t testing.TB, mr, vecs, lanes int, depth int64) *kernel.Kernel {
	b := kernel.New("gemm", 1)
	nr := int64(vecs * lanes)
	a := b.Arg("a", kernel.F32, depth*int64(mr), kernel.Read)
	p := b.Arg("b", kernel.F32, depth*nr, kernel.Read)
	c := b.Arg("c", kernel.F32, int64(mr)*nr, kernel.Write)
	init := make([]*kernel.Value, mr*vecs)
	for i := range init {
		init[i] = b.F32(0, lanes)
	}
	acc := b.ForCarry(kernel.Span(depth), init, func(k kernel.Index, acc []*kernel.Value) []*kernel.Value {
		var row, next []*kernel.Value
		for v := range vecs {
			row = append(row, b.Load(p.At(k.Mul(nr).Plus(int64(v*lanes))), lanes))
		}
		for r := range mr {
			x := b.Load(a.At(k.Mul(int64(mr)).Plus(int64(r))).Strided(0), lanes)
			for v := range vecs {
				next = append(next, b.MulAdd(x, row[v], acc[r*vecs+v]))
			}
		}
		return next
	})
	for i, v := range acc {
		b.Store(c.At(kernel.Int(int64(i*lanes))), v)
	}
	return build(t, b)
}

func assembly(t *testing.T, name string, k *kernel.Kernel) string {
	t.Helper()
	tgt, err := target.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Module(tgt, k)
	if err != nil {
		t.Fatal(err)
	}
	asm, err := library(t).Assembly(text, tgt)
	if err != nil {
		t.Fatal(err)
	}
	return asm
}

// TestGEMMTileStaysInRegisters: accumulators are never spilled, and a step is
// one multiply-add for each and no more.
func TestGEMMTileStaysInRegisters(t *testing.T) {
	for _, c := range []struct {
		target          string
		mr, vecs, lanes int
		fma, stack      string
	}{
		{"cpu:x86-64-v4", 14, 2, 16, "vfmadd231ps", "%rsp"},
		{"cpu:x86-64-v3", 6, 2, 8, "vfmadd231ps", "%rsp"},
		{"cpu:arm64", 8, 3, 4, "fmla", "[sp"},
		{"cpu:neoverse-v2", 8, 3, 4, "fmla", "[sp"},
	} {
		asm := assembly(t, c.target, gemmTile(t, c.mr, c.vecs, c.lanes, 256))
		body, _, _ := strings.Cut(asm, ".Lfunc_end0")
		n, want := strings.Count(body, c.fma), c.mr*c.vecs
		step := body[strings.Index(body, c.fma):strings.LastIndex(body, c.fma)]
		if n != want || strings.Contains(step, c.stack) {
			t.Errorf("%s: %d multiply-adds, want %d; uses the stack: %v\n%s", c.target, n, want, strings.Contains(step, c.stack), body)
		}
	}
}

// TestChainIsOneVectorLoop: an elementwise chain is one loop, unrolled as asked,
// of full-width vectors with addresses stepped by a register.
func TestChainIsOneVectorLoop(t *testing.T) {
	const n = 1024
	b := kernel.New("chain", 64)
	x := b.Arg("x", kernel.F32, 64*n, kernel.Read)
	y := b.Arg("y", kernel.F32, 64*n, kernel.Read)
	out := b.Arg("out", kernel.F32, 64*n, kernel.Write)
	b.For(kernel.Span(n).By(16).Unrolled(4), func(i kernel.Index) {
		at := b.Task().Mul(n).Add(i)
		sum := b.Add(b.Load(x.At(at), 16), b.Load(y.At(at), 16))
		b.Store(out.At(at), b.Mul(b.Max(sum, b.F32(0, 16)), b.F32(0.5, 16)))
	})
	asm := assembly(t, "cpu:x86-64-v4", build(t, b))
	body, _, _ := strings.Cut(asm, ".Lfunc_end0")
	if n := len(regexp.MustCompile(`vmulps.*zmm`).FindAllString(body, -1)); n != 4 || strings.Contains(body, "imul") {
		t.Errorf("%d multiplications, want 4 in a loop without imul\n%s", n, body)
	}
}
