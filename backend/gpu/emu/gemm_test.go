package emu

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// problem is m by n blocks of C and so many steps; A and B may be given with K as the dimension that does
// not lie next to each other.
type problem struct {
	m, n, steps  int
	byRow, byCol bool // A is M-major, B is N-major
}

// text is testdata/gemm.ptx for it.
func (p problem) text(t *testing.T) string {
	t.Helper()
	text := source(t, "gemm")
	// A tile of 64 of K by 128 rows is two of 64 rows by 64 of K; 8192 bytes lie between them, and
	// 2048 between 16 of K and the next.
	change := func(do bool, pairs ...string) {
		if !do {
			return
		}
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(text, pairs[i]) {
				t.Fatalf("there is no `%s`", pairs[i])
			}
			text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
		}
	}
	const load = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
	change(p.byRow, load+"[%r14], [%d0, {%r15, %r5}], [%r13];",
		load+"[%r14], [%d0, {%r5, %r15}], [%r13];\n  add.u32 %r23, %r5, 64;\n  "+load+"[%r14+8192], [%d0, {%r23, %r15}], [%r13];",
		"add.u64 %d3, %d3, 2;", "add.u64 %d3, %d3, 128;")
	change(p.byCol, load+"[%r14+16384], [%d1, {%r15, %r6}], [%r13];",
		load+"[%r14+16384], [%d1, {%r6, %r15}], [%r13];\n  add.u32 %r23, %r6, 64;\n  "+load+"[%r14+24576], [%d1, {%r23, %r15}], [%r13];",
		"add.u64 %d4, %d4, 2;", "add.u64 %d4, %d4, 128;",
		"4611686293305361408", fmt.Sprint(4611686293305361408+(8192-16)/16<<16))
	change(true, ", 1, 1, 0, 0;", fmt.Sprintf(", 1, 1, %d, %d;", truth(p.byRow), truth(p.byCol)))
	return text
}

// gemm runs a text for a problem.
func gemm(text string, o Options, p problem) error {
	m, n, steps := p.m, p.n, p.steps
	r := rand.New(rand.NewPCG(uint64(steps), 5))
	d := &Device{Options: o}
	d.Steps = 1 << 16
	k := 64 * steps
	matrix := func(rows int, byRow bool) ([][]float64, Arg) {
		at, mem := d.Alloc(rows * k * 2)
		values := make([][]float64, rows)
		for i := range values {
			values[i] = make([]float64, k)
			for j := range values[i] {
				values[i][j] = float64(r.IntN(17)-8) / 4
				at := i*k + j
				if byRow {
					at = j*rows + i
				}
				store(mem[2*at:][:2], narrow("bf16", float32(values[i][j])))
			}
		}
		tm := TensorMap{Type: BFloat16, Rank: 2, Address: at, Sizes: [5]uint64{uint64(k), uint64(rows)}, Box: [5]uint32{64, 128}, Steps: [5]uint32{1, 1}, Swizzle: Swizzle128}
		if byRow {
			tm.Sizes, tm.Box[1] = [5]uint64{uint64(rows), uint64(k)}, 64
		}
		tm.Strides[0] = 2 * tm.Sizes[0]
		b, err := tm.Encode()
		if err != nil {
			panic(err)
		}
		return values, Arg{Bytes: b}
	}
	a, mapA := matrix(128*m, p.byRow)
	b, mapB := matrix(128*n, p.byCol)
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
	for i, o := range ways {
		for _, steps := range []int{1, 3, 6} {
			p := problem{1 + i%2, 1 + i/2%2, steps, i%2 == 1, steps == 3}
			if err := gemm(p.text(t), o, p); err != nil {
				t.Fatalf("%d, %+v: %v", i, p, err)
			}
		}
	}
}

// TestGEMMMutants: without any of the instructions that order it, or with one that is wrong,
// the program is not accepted in some way.
func TestGEMMMutants(t *testing.T) {
	p := problem{m: 1, n: 1, steps: 6}
	text := p.text(t)
	mutants := []mutant{
		{old: "[%r13], 32768", new: "[%r13], 16384"}, {old: "[%r13], 32768", new: "[%r13], 32784"}, {old: "[%r13], 32768", new: "[%r13], 32752"},
		{old: "xor.b32 %r12, %r12, 1;"}, {old: "and.b32 %r12, %r12, 1;\n  shl", new: "and.b32 %r12, %r12, 1;\n  xor.b32 %r12, %r12, 1;\n  shl"},
		{old: "@!%p1 bra END;"}, {old: "@!%p1 bra END;", nth: 2}, {old: "@!%p1 bra EMPTY;"}, {old: "@!%p1 bra FULL;"},
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
		{old: "setmaxnreg.dec.sync.aligned.u32 40;", all: true}, {old: "setmaxnreg.dec.sync.aligned.u32 40;", new: "setmaxnreg.dec.sync.aligned.u32 48;", all: true},
		{old: "setmaxnreg.inc.sync.aligned.u32 232;", new: "setmaxnreg.inc.sync.aligned.u32 240;", all: true}, {old: ".minnctapersm 1", new: ".minnctapersm 2", all: true},
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
	hunt(t, text, func(text string, o Options) error { return gemm(text, o, p) }, mutants)
}
