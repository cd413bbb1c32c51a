package gemm

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"ptc/backend/cpu/emit"
	"ptc/backend/cpu/llvm"
	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/runtime/native"
)

// narrow are products of bf16 of odd sizes and layouts of all kinds.
func narrow(most int64, n int) []matmul {
	r := rand.New(rand.NewPCG(12, 4))
	var out []matmul
	for len(out) < n {
		c := random(r, most)
		c.elem = kernel.BF16
		if len(out)%3 == 0 {
			c.k += 60 + r.Int64N(3*most)
		}
		if len(out)%2 == 0 {
			c.m, c.n = c.m+30, c.n+30
		}
		out = append(out, c)
	}
	return out
}

// TestNarrow interprets products of bf16 by each instruction that takes several steps.
func TestNarrow(t *testing.T) {
	for _, name := range []string{"pairs 512", "tiles", "matrices"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range narrow(40, 60) {
				interpret(t, name, c, machines[name])
			}
		})
	}
}

// TestMatrices: where the target has the instruction, a step of the loop over K is one
// for each register of sums, and none of these is on the stack.
func TestMatrices(t *testing.T) {
	stack := regexp.MustCompile(`.*\bq\d+,.*\[sp.*`)
	for _, name := range []string{"cpu:arm64", "cpu:arm64+bf16", "cpu:neoverse-v2"} {
		tgt := resolve(t, name)
		for _, left := range []Along{AlongM, AlongK} {
			for _, right := range []Along{AlongN, AlongK} {
				c := matmul{m: 8 * matrixRows, n: 96, k: 2048, left: left, right: right, stride: 1, elem: kernel.BF16}
				asm := assembled(t, name, c)
				want := 0
				if tgt.HasMatBF16 {
					want = matrixRows * matrixVecs
				}
				if got := strings.Count(asm, "bfmmla"); got != want || stack.MatchString(asm) {
					t.Errorf("%s: %v: %d instructions, want %d; on the stack: %q", name, c, got, want, stack.FindString(asm))
				}
			}
		}
	}
}

func assembled(t *testing.T, name string, c matmul) string {
	t.Helper()
	tgt := resolve(t, name)
	k, err := c.generate("gemm", emit.Machine(tgt))
	if err != nil {
		t.Fatal(err)
	}
	text, err := emit.Module(tgt, k)
	if err != nil {
		t.Fatal(err)
	}
	asm, err := library(t).Assembly(text, tgt)
	if err != nil {
		t.Fatal(err)
	}
	return asm
}

const tiled = "cpu:x86-64-v4+amx"

// TestTiles: four products by tile registers for four loads in the loop over K, of which those
// of the left operand pass by the nearest cache; of these loops one for the last block of K,
// which asks for lines of the result, and one for the others; zeros or sums before them and
// stores behind them, one configuration, and no tile register or vector on the stack. Products
// of f32 have none of it.
func TestTiles(t *testing.T) {
	stack := regexp.MustCompile(`.*[zt]mm\d+.*\(%r[sb]p\).*|.*\(%r[sb]p\).*[zt]mm\d+.*`)
	loop := regexp.MustCompile(`(?s)\n(\.LBB\d+_\d+):[^:]*?(?:tdpbf16ps[^:]*?){4}j\w+\t(\.LBB\d+_\d+)`)
	for _, left := range []Along{AlongM, AlongK} {
		for _, right := range []Along{AlongN, AlongK} {
			c := matmul{m: 96, n: 96, k: 2048, left: left, right: right, stride: 1, elem: kernel.BF16}
			asm := assembled(t, tiled, c)
			for what, want := range map[string]int{
				"tdpbf16ps": 8, "tileloadd": 4 + 4, "tileloaddt1": 4, "tilezero": 4, "tilestored": 4, "ldtilecfg": 1, "tilerelease": 1, "vdpbf16ps": 0,
			} {
				if got := len(regexp.MustCompile(`\t`+what+`\s`).FindAllString(asm, -1)); got != want {
					t.Errorf("%v: %d of %s, want %d", c, got, what, want)
				}
			}
			if m := loop.FindStringSubmatch(asm); m == nil || m[1] != m[2] {
				t.Errorf("%v: no loop of four products:\n%s", c, asm)
			}
			if found := stack.FindString(asm); found != "" {
				t.Errorf("%v: on the stack: %s", c, found)
			}
			c.elem = kernel.F32
			if asm := assembled(t, tiled, c); strings.Contains(asm, "tile") {
				t.Errorf("%v has tile registers", c)
			}
		}
	}
}

// tileEdges are products of each layout whose sizes end within a register, at the end of one, or one
// behind it; with one block of K and several, one group of panels and several.
func tileEdges() []matmul {
	r := rand.New(rand.NewPCG(7, 31))
	sizes := [3][]int64{{1, 16, 17, 31, 32, 33, 48, 65, 96}, {17, 31, 32, 33, 47, 64, 95, 200}, {1, 2, 31, 32, 33, 63, 65, 96, 767, 1025, 1100, 2048}}
	var out []matmul
	for i := range 24 {
		c := matmul{left: []Along{AlongM, AlongK}[i%2], right: []Along{AlongN, AlongK}[i/2%2], stride: 1, elem: kernel.BF16, fused: i/4%2 == 1}
		for j, to := range []*int64{&c.m, &c.n, &c.k} {
			*to = sizes[j][r.IntN(len(sizes[j]))]
		}
		c.m = max(c.m, fewRows+1)
		if i%5 == 4 {
			c.outer = []int64{2}
		}
		if i%7 == 6 {
			c.outerK, c.k = []int64{3}, min(c.k, 96)
		}
		out = append(out, c)
	}
	return out
}

// TestTileEdges runs them by the instructions where the host has these, against sums in float64,
// in one thread's turns and one by one.
func TestTileEdges(t *testing.T) {
	tgt := resolve(t, tiled)
	if native.Supported(tgt.Requires) != nil {
		tgt = resolve(t, "cpu") // whose products have the same edges, cut otherwise
	}
	products(t, tgt, append(tileEdges(), narrow(120, 24)...))
}

// TestTileBlocks: of what is packed for a thread's turn of a large product, both operands together
// take less than L2, and a group of panels is a small part of that; a panel takes no more than L1,
// but where it then has all of K.
func TestTileBlocks(t *testing.T) {
	m := emit.Machine(resolve(t, tiled))
	for _, size := range [][3]int64{{1024, 3072, 768}, {1024, 768, 3072}, {768, 3072, 1024}, {256, 50257, 768}, {256, 768, 50257}, {4096, 4096, 4096}} {
		for _, left := range []Along{AlongM, AlongK} {
			c := matmul{m: size[0], n: size[1], k: size[2], left: left, right: AlongN, stride: 1, elem: kernel.BF16}
			s := c.spec("gemm")
			p, err := newBlocking(&s, m)
			if err != nil {
				t.Fatal(err)
			}
			panel := 4 * p.kc * p.rightStep()
			tiles, group := 4*p.mostTiles*p.slotStride(), p.group*panel
			if tiles+group > int64(m.L2)*3/4 || group > int64(m.L2)/4 {
				t.Errorf("%v: %d bytes of tiles and %d of panels; expected at most three quarters and one of L2", c, tiles, group)
			}
			if panel > int64(m.L1) && p.steps > 1 || panel > int64(m.L1)*4/3 {
				t.Errorf("%v: a panel of %d bytes in %d blocks of K; expected at most %d, or %d in one", c, panel, p.steps, m.L1, m.L1*4/3)
			}
		}
	}
}

// TestTilesNative runs products by tile registers as machine code of this host, with
// functions that do what the instructions do: all else is what a machine with tile
// registers executes, places and strides among it. The bits are those of the
// interpreter.
func TestTilesNative(t *testing.T) {
	host, tgt := resolve(t, "cpu"), resolve(t, tiled)
	cs := append(narrow(120, 12), matmul{m: 96, n: 96, k: 2048, left: AlongM, right: AlongK, stride: 1, elem: kernel.BF16, fused: true},
		matmul{m: 48, n: 70, k: 1100, left: AlongK, right: AlongN, stride: 1, elem: kernel.BF16})
	cs = append(cs, tileEdges()[:12]...)
	var ks []*kernel.Kernel
	for i, c := range cs {
		k, err := c.generate(fmt.Sprintf("gemm%d", i), emit.Machine(tgt))
		if err != nil {
			t.Fatal(err)
		}
		ks = append(ks, k)
	}
	text, err := emit.Module(tgt, ks...)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "tdpbf16ps") {
		t.Fatal("no kernel has tile registers")
	}
	obj, err := library(t).Compile(emulated(text, host.CPU), host)
	if err != nil {
		t.Fatal(err)
	}
	if missing, err := llvm.Undefined(obj); err != nil || len(missing) > 0 {
		t.Fatalf("undefined %v, %v", missing, err)
	}
	img := load(t, obj)
	for i, c := range cs {
		in := c.inputs(uint64(i))
		got := prepare(t, img, ks[i], in)
		got.run(0, ks[i].Tasks)
		if err := c.check(got.bufs); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		got.intact(t)
		if err := kerneltest.Interpret(ks[i], in, 0, ks[i].Tasks); err != nil {
			t.Fatal(err)
		}
		if string(got.bufs[3]) != string(in[3]) {
			t.Errorf("%v: other bits than the interpreter's", c)
		}
	}
}
