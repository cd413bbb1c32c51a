package ceilings

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"ptc/backend/cpu/llvm"
	"ptc/backend/cpu/llvm/target"
	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
)

func library(t *testing.T) *llvm.Library {
	t.Helper()
	lib, err := llvm.Load()
	if errors.Is(err, llvm.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// TestMeasure: every figure is measured with one thread and with two, is positive,
// and its median is between the least and the most.
func TestMeasure(t *testing.T) {
	library(t)
	r, err := Measure(Options{Threads: 2, Alone: true, Rounds: 2, Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) < 8 {
		t.Errorf("%d figures", len(r.Figures))
	}
	for _, f := range r.Figures {
		if !(0 < f.Least && f.Least <= f.Median && f.Median <= f.Most) {
			t.Errorf("%+v", f)
		}
	}
	for _, k := range []Kind{MultiplyAdd, Read, Copy, Update, Launch} {
		if !(r.Best(k) > 0 && r.With(k, 1) > 0) || r.With(k, 3) != 0 {
			t.Errorf("%s: %g with all, %g with one thread", k, r.Best(k), r.With(k, 1))
		}
	}
	if (r.Best(Dot) > 0) == (r.NoDot != "") {
		t.Errorf("dot products %g, and none because %q", r.Best(Dot), r.NoDot)
	}
	if text := r.Text(); !strings.Contains(text, "Medians of 2 runs") || !strings.Contains(text, "1.00 MiB") {
		t.Error(text)
	}
}

// TestLoops: the loops over memory do what their names say, on every element.
func TestLoops(t *testing.T) {
	tgt, err := target.Resolve("x86-64-v3")
	if err != nil {
		t.Fatal(err)
	}
	const n = 2 * elements
	run := func(make func(target.Target) (*kernel.Kernel, loop, error), bufs ...[]byte) {
		k, _, err := make(tgt)
		if err != nil {
			t.Fatal(err)
		}
		// The interpreter wants buffers as long as declared.
		for i, b := range k.Args() {
			b.Len = int64(len(bufs[i])) / 4
		}
		if err := kerneltest.Interpret(k, bufs, 0, 2); err != nil {
			t.Fatal(err)
		}
	}
	in, out := make([]byte, 4*n), make([]byte, 4*n)
	at := func(b []byte, i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])) }
	for i := range n {
		binary.LittleEndian.PutUint32(in[4*i:], math.Float32bits(float32(i%3)))
	}
	run(copied, in, out)
	for i := range n {
		if at(out, i) != float32(i%3) {
			t.Fatalf("element %d of the copy is %g", i, at(out, i))
		}
	}
	run(update, out)
	for i := range n {
		if at(out, i) != float32(i%3)/2+0.5 {
			t.Fatalf("element %d of the update is %g", i, at(out, i))
		}
	}
	run(read, in, out)
	var got, want float32
	for i := range 2 * 8 {
		got += at(out, i)
	}
	for i := range n {
		want += float32(i % 3)
	}
	if got != want {
		t.Errorf("the sum is %g, want %g", got, want)
	}
}

// TestDotText: every dot instruction compiles, and no sum of its loop is
// merged with another.
func TestDotText(t *testing.T) {
	lib := library(t)
	for _, c := range []struct{ arch, target, mnemonic, instruction string }{
		{"amd64", "x86-64-v3", "tdpbf16ps", "AMX-BF16"},
		{"amd64", "x86-64-v4+avx512bf16", "vdpbf16ps", "AVX512-BF16"},
		{"arm64", "arm64", "bfmmla", "NEON BFMMLA"},
	} {
		tgt, err := target.Resolve(c.target)
		if err != nil {
			t.Fatal(err)
		}
		for i, in := range dots(c.arch) {
			if in.name != c.instruction {
				continue
			}
			asm, err := lib.Assembly(strings.ReplaceAll(in.text, "$NAME", dotFunction(i)), tgt)
			if err != nil {
				t.Fatalf("%s: %v", in.name, err)
			}
			n := 0
			for line := range strings.Lines(asm) {
				if f := strings.Fields(line); len(f) > 0 && f[0] == c.mnemonic {
					n++
				}
			}
			if want := int(dotVectors(in.name)); n == 0 || n%want != 0 { // LLVM may unroll
				t.Errorf("%s: %d instructions %s, want a multiple of %d\n%s", in.name, n, c.mnemonic, want, asm)
			}
		}
	}
}

// TestOptions: what cannot be measured is refused, and arrays are beyond the last cache.
func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {Threads: 1, Rounds: -1}, {Threads: 1, Bytes: -1}} {
		if _, err := Measure(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	for _, c := range []struct{ given, cache, want int64 }{
		{1, 0, piece}, {0, -1, 256 << 20}, {0, 32 << 20, 256 << 20}, {0, 1 << 20, 64 << 20}, {0, 1 << 30, 512 << 20},
	} {
		if got := arrayBytes(c.given, c.cache); got != c.want {
			t.Errorf("arrayBytes(%d, %d) is %d, want %d", c.given, c.cache, got, c.want)
		}
	}
	if got := fmt.Sprint(median([]float64{1, 2, 5}), median([]float64{1, 2, 4, 5})); got != "2 3" {
		t.Errorf("medians %s", got)
	}
}
