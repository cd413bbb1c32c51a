package emu

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"ptc/backend/gpu/ptx"
)

// program is an entry k of parameters a, b, …, as text.
func program(t *testing.T, threads int, params, body string) *Program {
	t.Helper()
	text := ".version 8.3\n.target sm_80\n.address_size 64\n.visible .entry k("
	for i, p := range strings.Fields(params) {
		if i > 0 {
			text += ","
		}
		text += "\n  .param .u64 " + p
	}
	text += ")\n.reqntid " + itoa(threads) + ", 1, 1\n.minnctapersm 1\n{\n" + strings.ReplaceAll(body, "\t", "") + "\n}\n"
	m, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load(m.Entries[0])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func itoa(n int) string { return strconv.Itoa(n) }

// threadsOfAll are the ways in which tests let time pass.
var threadsOfAll = map[string]Options{
	"in turn":  {Check: true, Steps: 1 << 16},
	"late":     {Check: true, Late: true, Steps: 1 << 16},
	"random 1": {Check: true, Seed: 1, Steps: 1 << 16},
	"random 2": {Check: true, Seed: 2, Steps: 1 << 16},
}

func floats(d *Device, n int, f func(i int) float32) (uint64, []byte) {
	at, mem := d.Alloc(4 * n)
	for i := range n {
		store(mem[4*i:4*i+4], of32(f(i)))
	}
	return at, mem
}

func TestLoop(t *testing.T) {
	p := program(t, 64, "x y n", `
		.reg .b32 %r<9>;
		mov.u32 %r0, %ctaid.x;
		mov.u32 %r1, %tid.x;
		mad.lo.u32 %r0, %r0, 64, %r1;
		ld.param.u64 %d0, [x];
		ld.param.u64 %d1, [y];
		ld.param.u64 %d2, [n];
		cvt.u32.u64 %r2, %d2;
		setp.ge.u32 %p0, %r0, %r2;
		@%p0 bra END;
		mul.wide.u32 %d3, %r0, 4;
		add.u64 %d0, %d0, %d3;
		add.u64 %d1, %d1, %d3;
		ld.global.b32 %r3, [%d0];
		mov.b32 %r4, 0f00000000;
		mov.u32 %r5, 0;
		and.b32 %r6, %r1, 3;
	AGAIN:
		fma.rn.f32 %r4, %r3, %r3, %r4;
		add.u32 %r5, %r5, 1;
		setp.le.u32 %p1, %r5, %r6;
		@%p1 bra AGAIN;
		st.global.b32 [%d1], %r4;
	END:
		ret;`)
	for name, o := range threadsOfAll {
		d := &Device{Options: o}
		const n = 100
		x, _ := floats(d, n, func(i int) float32 { return float32(i) / 8 })
		y, out := floats(d, n, func(int) float32 { return -1 })
		if err := d.Run(p, Launch{Grid: 2, Args: []Arg{Word(x), Word(y), Word(n)}}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range n {
			v := float32(i) / 8
			if got, want := f32(load(out[4*i:4*i+4])), v*v*float32(i%4+1); got != want {
				t.Fatalf("%s: %d: got %v, want %v", name, i, got, want)
			}
		}
		if err := d.Run(p, Launch{Grid: 2, Args: []Arg{Word(x), Word(y), Word(n + 20)}}); err == nil {
			t.Errorf("%s: reads beyond the end of an allocation", name)
		}
	}
}

// reverse exchanges the numbers of a block through shared memory.
const reverse = `
	.shared .align 16 .b8 s[512];
	mov.u32 %r1, %tid.x;
	ld.param.u64 %d0, [x];
	mul.wide.u32 %d1, %r1, 4;
	add.u64 %d1, %d0, %d1;
	shl.b32 %r2, %r1, 2;
	ld.global.b32 %r3, [%d1];
	st.shared.b32 [%r2], %r3;
	bar.sync 0;
	sub.u32 %r2, 508, %r2;
	ld.shared.b32 %r3, [%r2];
	st.global.b32 [%d1], %r3;
	ret;`

// pipeline does the same with a copy that runs by itself.
const pipeline = `
	.shared .align 16 .b8 s[2048];
	mov.u32 %r1, %tid.x;
	ld.param.u64 %d0, [x];
	mul.wide.u32 %d1, %r1, 16;
	add.u64 %d1, %d0, %d1;
	shl.b32 %r2, %r1, 4;
	cp.async.cg.shared.global [%r2], [%d1], 16;
	cp.async.commit_group;
	cp.async.wait_group 0;
	bar.sync 0;
	sub.u32 %r2, 2032, %r2;
	ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r2];
	bar.sync 0;
	st.global.v4.b32 [%d1], {%r3, %r4, %r5, %r6};
	ret;`

// TestShared: what is right runs under all orders, and with any synchronization left out no
// order is accepted.
func TestShared(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		words int
		drop  []string
	}{
		"reverse":  {reverse, 1, []string{"bar.sync 0;"}},
		"pipeline": {pipeline, 4, []string{"cp.async.commit_group;", "cp.async.wait_group 0;", "bar.sync 0;"}},
	} {
		run := func(text string, o Options) ([]byte, error) {
			d := &Device{Options: o}
			x, mem := floats(d, 128*c.words, func(i int) float32 { return float32(i) })
			return mem, d.Run(program(t, 128, "x", text), Launch{Grid: 1, Args: []Arg{Word(x)}})
		}
		for how, o := range threadsOfAll {
			mem, err := run(c.text, o)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, how, err)
			}
			for i := range 128 {
				for j := range c.words {
					at := 4 * (i*c.words + j)
					if got, want := f32(load(mem[at:at+4])), float32((127-i)*c.words+j); got != want {
						t.Fatalf("%s, %s: %d: got %v, want %v", name, how, i, got, want)
					}
				}
			}
			for _, line := range c.drop {
				if _, err := run(strings.Replace(c.text, line, "", 1), o); err == nil {
					t.Errorf("%s, %s: nothing is wrong without `%s`", name, how, line)
				}
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for want, body := range map[string]string{
		"which is no multiple":         "ld.param.u64 %d0, [x];\nadd.u64 %d0, %d0, 2;\nld.global.b32 %r0, [%d0];",
		"in no allocation":             "ld.global.b32 %r0, [%d0];",
		"no thread can go on":          "mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p0, %r0, 32;\n@%p0 bra L;\nbar.sync 0;\nbra M;\nL:\nbar.sync 1;\nM:",
		"wait at barrier 0 for others": "mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p0, %r0, 32;\n@%p0 bra L;\nbar.arrive 0, 64;\nL:",
		"bytes of shared memory":       "mov.u32 %r0, 64;\nst.shared.b32 [%r0], %r0;",
		"does it end":                  "L:\nbra L;",
		"copies to shared memory":      ".shared .align 16 .b8 s[512];\nld.param.u64 %d0, [x];\nmov.u32 %r0, %tid.x;\nshl.b32 %r0, %r0, 2;\ncp.async.ca.shared.global [%r0], [%d0], 4;",
		"its guard holds":              "mov.u32 %r0, %tid.x;\nand.b32 %r0, %r0, 1;\nsetp.eq.u32 %p0, %r0, 0;\n@%p0 shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;",
	} {
		d := &Device{Options: Options{Check: true, Steps: 1000}}
		x, _ := d.Alloc(4096)
		err := d.Run(program(t, 64, "x", body+"\nret;"), Launch{Grid: 1, Args: []Arg{Word(x)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v; expected `%s`", err, want)
		}
	}
	for _, text := range []string{"frob.u32 %r0, %r1;", "ld;", "add.q32 %r0, %r1, %r2;", "setp.l.f32 %p0, %r0, %r1;", "bra NOWHERE;", "ld.local.b32 %r0, [%d0];", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 %d0, %d1, %d2, %d3;", "mov.u32 %r0, %clock;"} {
		m, err := ptx.Parse(".version 8.3\n.target sm_80\n.address_size 64\n.visible .entry k()\n.reqntid 32, 1, 1\n{\n" + text + "\n}\n")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load(m.Entries[0]); err == nil {
			t.Errorf("`%s` is accepted", text)
		}
	}
}

// TestMMA multiplies 16×16 by 16×8, with fragments loaded by ldmatrix, in bf16.
func TestMMA(t *testing.T) {
	p := program(t, 32, "x y", `
		.shared .align 16 .b8 s[768];
		mov.u32 %r1, %tid.x;
		ld.param.u64 %d0, [x];
		ld.param.u64 %d1, [y];
		mul.wide.u32 %d2, %r1, 16;
		add.u64 %d0, %d0, %d2;
		shl.b32 %r2, %r1, 4;
		cp.async.cg.shared.global [%r2], [%d0], 16;
		setp.lt.u32 %p0, %r1, 16;
		@%p0 cp.async.cg.shared.global [%r2+512], [%d0+512], 16;
		cp.async.wait_all;
		bar.warp.sync -1;
		and.b32 %r3, %r1, 15;
		shl.b32 %r3, %r3, 5;
		shr.u32 %r4, %r1, 4;
		shl.b32 %r4, %r4, 4;
		add.u32 %r3, %r3, %r4;
		ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r3];
		and.b32 %r3, %r1, 15;
		shl.b32 %r3, %r3, 4;
		ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r14, %r15}, [%r3+512];
		mov.b32 %r20, 0f00000000;
		mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r16, %r17, %r18, %r19}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%r20, %r20, %r20, %r20};
		shr.u32 %r5, %r1, 2;
		and.b32 %r6, %r1, 3;
		shl.b32 %r5, %r5, 3;
		shl.b32 %r6, %r6, 1;
		add.u32 %r5, %r5, %r6;
		mul.wide.u32 %d2, %r5, 4;
		add.u64 %d1, %d1, %d2;
		st.global.v2.b32 [%d1], {%r16, %r17};
		st.global.v2.b32 [%d1+256], {%r18, %r19};
		ret;`)
	for name, o := range threadsOfAll {
		d := &Device{Options: o}
		x, in := d.Alloc(768)
		a := func(i, k int) float64 { return float64((i*7+k*3)%11) - 5 }
		b := func(k, j int) float64 { return float64((k*5+j*2)%13)/4 - 1 }
		for i := range 16 {
			for k := range 16 {
				store(in[2*(16*i+k):2*(16*i+k)+2], narrow("bf16", float32(a(i, k))))
			}
			for j := range 8 {
				store(in[512+2*(8*i+j):512+2*(8*i+j)+2], narrow("bf16", float32(b(i, j))))
			}
		}
		y, out := d.Alloc(512)
		if err := d.Run(p, Launch{Grid: 1, Args: []Arg{Word(x), Word(y)}}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range 16 {
			for j := range 8 {
				want := 0.0
				for k := range 16 {
					want += a(i, k) * b(k, j)
				}
				if got := f32(load(out[4*(8*i+j) : 4*(8*i+j)+4])); float64(got) != want {
					t.Fatalf("%s: %d, %d: got %v, want %v", name, i, j, got, want)
				}
			}
		}
	}
}

func TestRounding(t *testing.T) {
	for _, c := range []struct{ a, b, c float32 }{
		{1 + 0x1p-23, 1 + 0x1p-23, -1}, {1.5, 0x1p-24, 1}, {1 + 0x1p-12, 1 + 0x1p-12, 0x1p-60}, {3, 0x1p-149, 0x1p-140}, {-1, 1, 1},
	} {
		got := fma32(c.a, c.b, c.c)
		want := slowFMA(c.a, c.b, c.c)
		if got != want {
			t.Errorf("%v·%v + %v = %v; got %v", c.a, c.b, c.c, want, got)
		}
	}
	for i := range 1 << 16 { // each f16 is what it is
		if x := fromHalf(uint16(i)); x == x && toHalf(x) != uint16(i) {
			t.Fatalf("%#04x is %v, which is %#04x", i, x, toHalf(x))
		}
	}
	if got := toHalf(math.MaxFloat32); got != 0x7c00 {
		t.Errorf("the largest f32 is %#x in f16", got)
	}
}
