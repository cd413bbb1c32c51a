package emu

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// gemm runs testdata/gemm.ptx, or what was made of it, for m by n blocks of C and so many steps.
func gemm(text string, o Options, m, n, steps int) error {
	r := rand.New(rand.NewPCG(uint64(steps), 5))
	d := &Device{Options: o}
	d.Steps = 1 << 16
	k := 64 * steps
	matrix := func(rows int) ([][]float64, Arg) {
		at, mem := d.Alloc(rows * k * 2)
		values := make([][]float64, rows)
		for i := range values {
			values[i] = make([]float64, k)
			for j := range values[i] {
				values[i][j] = float64(r.IntN(17)-8) / 4
				store(mem[2*(i*k+j):][:2], narrow("bf16", float32(values[i][j])))
			}
		}
		b, err := (&TensorMap{Type: BFloat16, Rank: 2, Address: at, Sizes: [5]uint64{uint64(k), uint64(rows)}, Strides: [4]uint64{uint64(2 * k)},
			Box: [5]uint32{64, 128}, Steps: [5]uint32{1, 1}, Swizzle: Swizzle128}).Encode()
		if err != nil {
			panic(err)
		}
		return values, Arg{Bytes: b}
	}
	a, mapA := matrix(128 * m)
	b, mapB := matrix(128 * n)
	at, c := d.Alloc(128 * m * 128 * n * 4)
	mapC, err := (&TensorMap{Type: Float32, Rank: 2, Address: at, Sizes: [5]uint64{uint64(128 * n), uint64(128 * m)}, Strides: [4]uint64{uint64(512 * n)},
		Box: [5]uint32{128, 64}, Steps: [5]uint32{1, 1}}).Encode()
	if err != nil {
		return err
	}
	if err := launch(d, text, Launch{Grid: m * n, Shared: 196608 + 64,
		Args: []Arg{mapA, mapB, {Bytes: mapC}, Word(uint64(steps)), Word(uint64(n))}}); err != nil {
		return err
	}
	for i := range 128 * m {
		for j := range 128 * n {
			want := 0.0
			for x := range k {
				want += a[i][x] * b[j][x]
			}
			// The sums are exact: numbers are quarters, and not many.
			if got := f32(load(c[4*(i*128*n+j):][:4])); float64(got) != want {
				return fmt.Errorf("C at %d, %d: got %v, want %v", i, j, got, want)
			}
		}
	}
	return nil
}

func TestGEMM(t *testing.T) {
	text := source(t, "gemm")
	for i, o := range ways {
		for _, steps := range []int{1, 3, 6} {
			if err := gemm(text, o, 1+i%2, 1+i/2%2, steps); err != nil {
				t.Fatalf("%d, %d steps: %v", i, steps, err)
			}
		}
	}
}

// TestGEMMMutants: without any of the instructions that order it, or with one that is wrong,
// the program is not accepted in some way.
func TestGEMMMutants(t *testing.T) {
	text := source(t, "gemm")
	mutants := []mutant{
		{old: "[%r13], 32768", new: "[%r13], 16384"}, {old: "[%r13], 32768", new: "[%r13], 32784"}, {old: "[%r13], 32768", new: "[%r13], 32752"},
		{old: "xor.b32 %r12, %r12, 1;"}, {old: "and.b32 %r12, %r12, 1;\n  shl", new: "and.b32 %r12, %r12, 1;\n  xor.b32 %r12, %r12, 1;\n  shl"},
		{old: "@!%p1 bra EMPTY;"}, {old: "@!%p1 bra FULL;"},
		{old: "[%r9+8], 8;", new: "[%r9+8], 7;"}, {old: "[%r9+8], 8;", new: "[%r9+8], 9;"}, {old: "[%r9], 1;", new: "[%r9], 2;"},
		{old: "wait_group.sync.aligned 1;", new: "wait_group.sync.aligned 2;"}, {old: "wait_group.sync.aligned 0;", new: "wait_group.sync.aligned 1;"},
		{old: "wait_group.read 0;", new: "wait_group.read 1;"},
		{old: "sub.u32 %r15, %r8, 1;", new: "mov.u32 %r15, %r8;"}, // empties the stage that is read
		{old: "and.b32 %r15, %r15, 3;", new: "and.b32 %r15, %r15, 1;"},
		{old: "setp.ne.u32 %p2, %r8, 0;", new: "setp.ne.u32 %p2, %r8, 1;"},
		{old: "shl.b32 %r14, %r11, 15;", new: "shl.b32 %r14, %r11, 14;"}, {old: "shl.b32 %r14, %r11, 15;", new: "shl.b32 %r14, %r11, 14;", nth: 2},
		{old: "shl.b32 %r16, %r10, 13;", new: "shl.b32 %r16, %r10, 12;"},
		{old: "add.u64 %d3, %d3, 2;", new: "add.u64 %d3, %d3, 4;"}, {old: "add.u64 %d4, %d4, 2;"},
		{old: "%r22, 128;", new: "%r22, 256;"}, {old: "bar.sync %r22, 128;", new: "bar.sync 1, 128;"},
		{old: "4611686293305360384", new: "4611686155866406912"}, // 512 bytes from 8 rows to the next
		{old: "setmaxnreg.inc.sync.aligned.u32 232;", new: "setp.lt.u32 %p0, %r1, 192;\n@%p0 setmaxnreg.inc.sync.aligned.u32 232;\n@!%p0 setmaxnreg.inc.sync.aligned.u32 240;"},
	}
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		for _, op := range []string{"mbarrier.", "fence.", "bar.sync", "wgmma.fence", "wgmma.commit", "wgmma.wait", "cp.async.bulk", "@%p4 mbarrier."} {
			if strings.HasPrefix(line, op) {
				mutants = append(mutants, mutant{old: line})
			}
		}
	}
	hunt(t, text, func(text string, o Options) error { return gemm(text, o, 1, 1, 6) }, mutants)
}
