package emu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// productCase is a product with its operands laid out in shared memory at random.
type productCase struct {
	n, k         int
	types        [2]string
	a, b         layoutCase
	registers    bool // A comes in registers
	scale        bool
	signs        [2]int
	valuesA      [][]float64 // by row and step
	valuesB      [][]float64
	before       func(row, column int) float32
	image        []byte // of shared memory
	registerBits []byte // of A: four registers of each thread
}

// layoutCase is a matrix in shared memory.
type layoutCase struct {
	start, lead, stride int
	swizzle             Swizzle
	byRow               bool
}

func (l *layoutCase) descriptor() uint64 {
	mode := [4]uint64{0, 3, 2, 1}[l.swizzle]
	return uint64(l.start>>4) | uint64(l.lead>>4)<<16 | uint64(l.stride>>4)<<32 | mode<<62
}

// bitsOf is a small number as one of a type.
func bitsOf(typ string, x float64) uint64 {
	switch typ {
	case "bf16", "f16":
		return narrow(typ, float32(x))
	case "tf32":
		return of32(float32(x))
	}
	e := elements[typ]
	for b := range uint64(256) {
		if float64(e.value(b)) == x {
			return b
		}
	}
	panic("no such number")
}

func randomProduct(r *rand.Rand) *productCase {
	all := [][2]string{{"bf16", "bf16"}, {"f16", "f16"}, {"tf32", "tf32"}, {"e4m3", "e4m3"}, {"e5m2", "e4m3"}, {"e4m3", "e5m2"}, {"e5m2", "e5m2"}}
	c := &productCase{n: 8 * (1 + r.IntN(32)), types: all[r.IntN(len(all))], registers: r.IntN(3) == 0, scale: r.IntN(3) > 0, signs: [2]int{1, 1}}
	size := elements[c.types[0]].bytes
	c.k = 32 / size
	for i := range c.signs {
		c.signs[i] -= 2 * r.IntN(2)
	}
	values := func(n int) [][]float64 {
		out := make([][]float64, n)
		for i := range out {
			out[i] = make([]float64, c.k)
			for k := range out[i] {
				out[i][k] = float64(r.IntN(9)-4) / 2
			}
		}
		return out
	}
	c.valuesA, c.valuesB = values(64), values(c.n)
	c.before = func(i, j int) float32 { return float32(i*7%13 - j*5%11) }
	c.image = make([]byte, 96<<10)
	for i := range c.image {
		c.image[i] = 0x5A
	}
	c.a = layOut(r, c.image[:24<<10], 0, c.valuesA, c.types[0])
	c.b = layOut(r, c.image, 24<<10, c.valuesB, c.types[1])
	c.registerBits = make([]byte, 128*16)
	for i := range 64 {
		for k := range c.k {
			// "PTX ISA", 9.7.15.5: rows g and g+8, then the second 16 bytes of them.
			x := k * size
			register, thread := i%16/8+x/16*2, i/16*32+i%8*4+x%16/4
			store(c.registerBits[thread*16+register*4+x%4:][:size], bitsOf(c.types[0], c.valuesA[i][k]))
		}
	}
	return c
}

// layOut puts a matrix into memory from a place on, as a descriptor can say: units of 8 rows, or
// spans of a row, at distances drawn at random.
func layOut(r *rand.Rand, image []byte, from int, values [][]float64, typ string) layoutCase {
	size, n := elements[typ].bytes, len(values)
	l := layoutCase{swizzle: Swizzle(r.IntN(4)), byRow: size == 2 && r.IntN(2) == 0}
	span := l.swizzle.span()
	l.start = from + 8*span*r.IntN(2)
	if l.swizzle != NoSwizzle && !l.byRow {
		l.start += 32 * r.IntN(span/32) // a later part of K of the same rows
	}
	unit := 8 * span // of 8 rows
	pad := func() int { return unit * r.IntN(2) }
	if !l.byRow {
		if l.swizzle == NoSwizzle {
			l.lead, l.stride = 128+pad(), 256
			l.stride = 2*l.lead + pad()
		} else {
			l.stride = unit + pad()/2*2
		}
	} else if l.swizzle == NoSwizzle {
		l.lead = 128 // the second 8 steps of K
		l.stride = 256 + pad()
	} else {
		l.stride = unit
		l.lead = 2*unit + pad()
	}
	for i := range n {
		for k := range values[i] {
			at := l.start
			if !l.byRow {
				group, row, x := i/8, i%8, k*size
				if l.swizzle == NoSwizzle {
					at += group*l.stride + x/16*l.lead + row*16 + x%16
				} else {
					x += l.start % span // units change places within a span of the row
					at = l.start/span*span + group*l.stride + row*span + (x/16^row%8>>(3-l.swizzle))*16 + x%16
				}
			} else {
				group, step, x := k/8, k%8, i*size
				if l.swizzle == NoSwizzle {
					at += group*l.lead + x/16*l.stride + step*16 + x%16
				} else {
					at += group*l.stride + x/span*l.lead + step*span + (x%span/16^step>>(3-l.swizzle))*16 + x%16
				}
			}
			store(image[at:at+size], bitsOf(typ, values[i][k]))
		}
	}
	return l
}

// text is an entry that copies its shared memory from x, has the registers of the result from z, and of
// A from w, multiplies, and stores the result to z.
func (c *productCase) text() string {
	var b strings.Builder
	count := c.n / 2
	fmt.Fprintf(&b, `.version 8.3
.target sm_90a
.address_size 64

.extern .shared .align 1024 .b8 product_dynamic[];
.visible .entry product(
  .param .u64 x,
  .param .u64 w,
  .param .u64 z,
  .param .u64 a,
  .param .u64 b,
  .param .u64 scale)
.reqntid 128, 1, 1
.minnctapersm 1
{
  .reg .pred %%p<2>;
  .reg .b32 %%r<%d>;
  .reg .b64 %%d<8>;
  mov.u32 %%r0, product_dynamic;
  mov.u32 %%r1, %%tid.x;
  ld.param.u64 %%d0, [x];
  ld.param.u64 %%d1, [w];
  ld.param.u64 %%d2, [z];
  ld.param.u64 %%d3, [a];
  ld.param.u64 %%d4, [b];
  ld.param.u32 %%r2, [scale];
  mul.wide.u32 %%d5, %%r1, 16;
  add.u64 %%d0, %%d0, %%d5;
  add.u64 %%d1, %%d1, %%d5;
  shl.b32 %%r3, %%r1, 4;
  add.u32 %%r3, %%r3, %%r0;
  mov.u32 %%r4, 0;
COPY:
  ld.global.v4.b32 {%%r5, %%r6, %%r7, %%r8}, [%%d0];
  st.shared.v4.b32 [%%r3], {%%r5, %%r6, %%r7, %%r8};
  add.u64 %%d0, %%d0, 2048;
  add.u32 %%r3, %%r3, 2048;
  add.u32 %%r4, %%r4, 2048;
  setp.lt.u32 %%p0, %%r4, 98304;
  @%%p0 bra COPY;
  ld.global.v4.b32 {%%r5, %%r6, %%r7, %%r8}, [%%d1];
  mul.wide.u32 %%d5, %%r1, %d;
  add.u64 %%d2, %%d2, %%d5;
`, count+10, 4*count)
	for i := range count {
		fmt.Fprintf(&b, "  ld.global.b32 %%r%d, [%%d2+%d];\n", 10+i, 4*i)
	}
	b.WriteString("  setp.ne.u32 %p1, %r2, 0;\n  fence.proxy.async;\n  bar.sync 0;\n  wgmma.fence.sync.aligned;\n")
	a, transposed := "%d3", ""
	if c.registers {
		a = "{%r5, %r6, %r7, %r8}"
	}
	if c.types[0] == "bf16" || c.types[0] == "f16" {
		if !c.registers {
			transposed = fmt.Sprintf(", %d", truth(c.a.byRow))
		}
		transposed += fmt.Sprintf(", %d", truth(c.b.byRow))
	}
	result := make([]string, count)
	for i := range result {
		result[i] = fmt.Sprintf("%%r%d", 10+i)
	}
	fmt.Fprintf(&b, "  wgmma.mma_async.sync.aligned.m64n%dk%d.f32.%s.%s {%s}, %s, %%d4, %%p1, %d, %d%s;\n", c.n, c.k, c.types[0], c.types[1],
		strings.Join(result, ", "), a, c.signs[0], c.signs[1], transposed)
	b.WriteString("  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n")
	for i, r := range result {
		fmt.Fprintf(&b, "  st.global.b32 [%%d2+%d], %s;\n", 4*i, r)
	}
	b.WriteString("  ret;\n}\n")
	return b.String()
}

func truth(x bool) int {
	if x {
		return 1
	}
	return 0
}

func (c *productCase) run(text string, o Options) error {
	d := &Device{Options: o}
	x, w := d.Map(c.image), d.Map(c.registerBits)
	// Element i, j is in a register of a thread: "PTX ISA", 9.7.15.5.1.1.
	place := func(i, j int) int { return 4 * ((i/16*32+i%8*4+j%8/2)*c.n/2 + j/8*4 + i%16/8*2 + j%2) }
	z, result := d.Alloc(64 * c.n * 4)
	for i := range 64 {
		for j := range c.n {
			store(result[place(i, j):][:4], of32(c.before(i, j)))
		}
	}
	args := []Arg{Word(x), Word(w), Word(z), Word(c.a.descriptor()), Word(c.b.descriptor()), Word(uint64(truth(c.scale)))}
	if err := launch(d, text, Launch{Grid: 1, Shared: len(c.image), Args: args}); err != nil {
		return err
	}
	for i := range 64 {
		for j := range c.n {
			want := 0.0
			if c.scale {
				want = float64(c.before(i, j))
			}
			for k := range c.k {
				want += float64(c.signs[0]*c.signs[1]) * c.valuesA[i][k] * c.valuesB[j][k]
			}
			if got := f32(load(result[place(i, j):][:4])); float64(got) != want {
				return fmt.Errorf("%d, %d: got %v, want %v", i, j, got, want)
			}
		}
	}
	return nil
}

// TestProducts: all shapes, types and layouts, of small numbers, whose sums are exact.
func TestProducts(t *testing.T) {
	dir := os.Getenv("PTX_DIR")
	for seed := range uint64(64) {
		c := randomProduct(rand.New(rand.NewPCG(seed, 3)))
		if dir != "" {
			_ = os.WriteFile(fmt.Sprintf("%s/product%d.ptx", dir, seed), []byte(c.text()), 0o666)
		}
		if err := c.run(c.text(), ways[seed%uint64(len(ways))]); err != nil {
			t.Fatalf("%d: m64n%dk%d %v, registers %v, A %+v, B %+v: %v", seed, c.n, c.k, c.types, c.registers, c.a, c.b, err)
		}
	}
}

func TestProductMutants(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	c := randomProduct(r)
	for c.registers || c.types[0] != "bf16" || c.n > 64 {
		c = randomProduct(r)
	}
	mutants := []mutant{
		{old: "fence.proxy.async;", all: true}, {old: "bar.sync 0;", all: true}, {old: "wgmma.fence.sync.aligned;", all: true},
		{old: "wgmma.commit_group.sync.aligned;", all: true}, {old: "wgmma.wait_group.sync.aligned 0;", all: true},
		{old: "aligned 0;", new: "aligned 1;", all: true}, {old: "setp.ne.u32 %p1, %r2, 0;", new: "setp.ne.u32 %p1, %r1, 0;", all: true},
		{old: "wgmma.mma", new: "mov.b32 %r10, %r10;\n  wgmma.mma", all: true},
		{old: "wgmma.commit", new: "mov.b32 %r9, %r10;\n  wgmma.commit", all: true}, {old: "wgmma.commit", new: "mov.b32 %r10, 0;\n  wgmma.commit", all: true},
		{old: "bar.sync 0;", new: "bar.sync 0;\n  setp.gt.u32 %p0, %r1, 95;\n  @%p0 bra END;", all: true},
		{old: "bar.sync 0;", new: "bar.sync 0;\n  add.u64 %d4, %d4, 4503599627370496;", all: true},
		{old: "bar.sync 0;", new: "bar.sync 0;\n  add.u64 %d4, %d4, 562949953421312;", all: true},
	}
	text := strings.Replace(c.text(), "  ret;", "END:\n  ret;", 1)
	hunt(t, text, func(text string, o Options) error { return c.run(text, o) }, mutants)
	c.registers = true
	hunt(t, c.text(), func(text string, o Options) error { return c.run(text, o) }, []mutant{
		{old: "wgmma.mma", new: "mov.b32 %r5, %r5;\n  wgmma.mma", all: true}, {old: "wgmma.commit", new: "mov.b32 %r5, 0;\n  wgmma.commit", all: true},
	})
}

func TestFP8(t *testing.T) {
	for typ, want := range map[string]map[byte]float64{
		"e4m3": {0: 0, 1: 0x1p-9, 8: 0x1p-6, 0x38: 1, 0x7e: 448, 0xb9: -1.125},
		"e5m2": {0: 0, 1: 0x1p-16, 4: 0x1p-14, 0x3c: 1, 0x7b: 57344, 0x7c: math.Inf(1), 0xbd: -1.25},
	} {
		for x, v := range want {
			if got := elements[typ].value(uint64(x)); float64(got) != v {
				t.Errorf("%s %#02x: got %v, want %v", typ, x, got, v)
			}
		}
		if x := elements[typ].value(0x7f); x == x {
			t.Errorf("%s 0x7f is %v", typ, x)
		}
	}
	if got := math.Signbit(float64(elements["e4m3"].value(0x80))); !got {
		t.Error("e4m3 0x80 has no sign")
	}
}
