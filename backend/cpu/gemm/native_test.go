package gemm

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unsafe"

	"ptc/backend/cpu/emit"
	"ptc/backend/cpu/llvm"
	"ptc/backend/cpu/llvm/target"
	"ptc/backend/kernel"
	"ptc/internal/foreign"
	"ptc/runtime/native"
)

func library(t testing.TB) *llvm.Library {
	t.Helper()
	l, err := llvm.Load()
	if errors.Is(err, llvm.ErrNone) {
		t.Skip("not applicable: PTC_LLVM=none, and the reference backend stands in")
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func resolve(t testing.TB, name string) target.Target {
	t.Helper()
	tgt, err := target.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	return tgt
}

// compile makes one object of kernels, which must need no symbols.
func compile(t testing.TB, tgt target.Target, ks ...*kernel.Kernel) []byte {
	t.Helper()
	text, err := emit.Module(tgt, ks...)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := library(t).Compile(text, tgt)
	if err != nil {
		t.Fatalf("%s: %v", tgt.Name, err)
	}
	if missing, err := llvm.Undefined(obj); err != nil || len(missing) > 0 {
		t.Fatalf("%s: undefined %v, %v", tgt.Name, missing, err)
	}
	return obj
}

func load(t testing.TB, obj []byte) *native.Image {
	t.Helper()
	img, err := native.Load(obj)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(img.Close)
	return img
}

const guard = 256

// call is a kernel of an image with its memory, ready to run.
type call struct {
	fn            uintptr
	bufs          [][]byte
	ptrs, scratch []byte
}

// prepare copies bufs to native memory, with guard bytes behind each.
func prepare(t testing.TB, img *native.Image, k *kernel.Kernel, bufs [][]byte) *call {
	t.Helper()
	fn, ok := img.Symbol(k.Name)
	if !ok {
		t.Fatalf("no symbol %s", k.Name)
	}
	alloc := func(n int) []byte {
		mem, free, err := native.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(free)
		return mem
	}
	c := &call{fn: fn, ptrs: alloc(8 * len(bufs)), scratch: alloc(int(k.ScratchBytes()) + guard)}
	addresses := unsafe.Slice((*uintptr)(unsafe.Pointer(&c.ptrs[0])), len(bufs))
	for i, b := range bufs {
		mem := alloc(len(b) + guard)
		copy(mem, b)
		for j := len(b); j < len(mem); j++ {
			mem[j] = 0xa5
		}
		c.bufs = append(c.bufs, mem[:len(b)])
		addresses[i] = native.Address(mem)
	}
	for j := range c.scratch {
		c.scratch[j] = 0xff
	}
	return c
}

func (c *call) run(begin, end int64) {
	foreign.Call(c.fn, native.Address(c.ptrs), uintptr(begin), uintptr(end), native.Address(c.scratch))
}

// intact fails the test if something was written behind a buffer.
func (c *call) intact(t testing.TB) {
	t.Helper()
	for i, b := range c.bufs {
		for _, x := range b[len(b) : len(b)+guard] {
			if x != 0xa5 {
				t.Fatalf("written past buffer %d", i)
			}
		}
	}
	for _, x := range c.scratch[len(c.scratch)-guard:] {
		if x != 0xff {
			t.Fatal("written past the scratch")
		}
	}
}

// cases are shapes as training has them, and odd ones.
func cases() []matmul {
	f32 := kernel.F32
	out := []matmul{
		{m: 256, n: 192, k: 384, left: AlongK, right: AlongN, stride: 1, elem: f32},
		{m: 256, n: 192, k: 448, left: AlongK, right: AlongK, stride: 1, elem: f32, fused: true},
		{m: 96, n: 128, k: 1100, left: AlongM, right: AlongN, stride: 1, elem: f32},
		{m: 128, n: 128, k: 64, outer: []int64{2, 3}, left: AlongK, right: AlongK, stride: 1, elem: f32, fused: true},
		{m: 100, n: 64, k: 64, outer: []int64{3}, outerK: []int64{4}, left: AlongM, right: AlongK, stride: 1, elem: kernel.BF16},
		{m: 257, n: 131, k: 67, left: AlongM, right: AlongN, stride: 1, elem: kernel.BF16, fused: true},
		{m: 1, n: 300, k: 500, left: AlongK, right: AlongN, stride: 1, elem: f32},
		{m: 300, n: 1, k: 500, left: AlongK, right: AlongK, stride: 1, elem: f32},
		{m: 65, n: 33, k: 1, left: AlongK, right: AlongN, stride: 1, elem: f32},
		{m: 200, n: 100, k: 70, left: AlongK, right: AlongK, stride: 2, elem: kernel.F16},
	}
	r := rand.New(rand.NewPCG(9, 2))
	for range 8 {
		out = append(out, random(r, 150))
	}
	return out
}

// TestNative runs products as machine code for every target of this host, and
// task by task in reverse order as well, which must not matter.
func TestNative(t *testing.T) {
	for _, name := range target.Names() {
		tgt := resolve(t, name)
		if native.Supported(tgt.Requires) == nil {
			products(t, tgt, cases())
		}
	}
}

// products runs cs for a target of this host, and checks them.
func products(t *testing.T, tgt target.Target, cs []matmul) {
	t.Helper()
	var ks []*kernel.Kernel
	for i, c := range cs {
		k, err := c.generate(fmt.Sprintf("gemm%d", i), emit.Machine(tgt))
		if err != nil {
			t.Fatal(err)
		}
		ks = append(ks, k)
	}
	img := load(t, compile(t, tgt, ks...))
	for i, c := range cs {
		in := c.inputs(uint64(i))
		got, again := prepare(t, img, ks[i], in), prepare(t, img, ks[i], in)
		got.run(0, ks[i].Tasks)
		for task := ks[i].Tasks; task > 0; { // some alone, some together
			n := min(task, 1+task%3)
			again.run(task-n, task)
			task -= n
		}
		if err := c.check(got.bufs); err != nil {
			t.Errorf("%s: %v: %v", tgt.Name, c, err)
		}
		if string(got.bufs[3]) != string(again.bufs[3]) {
			t.Errorf("%s: %v: the result depends on the order of tasks", tgt.Name, c)
		}
		got.intact(t)
	}
}

// TestCompiles makes objects for the targets this host cannot run.
func TestCompiles(t *testing.T) {
	for _, name := range target.Names() {
		tgt := resolve(t, name)
		if native.Supported(tgt.Requires) == nil {
			continue
		}
		var ks []*kernel.Kernel
		for i, c := range cases()[:6] {
			k, err := c.generate(fmt.Sprintf("gemm%d", i), emit.Machine(tgt))
			if err != nil {
				t.Fatal(err)
			}
			ks = append(ks, k)
		}
		compile(t, tgt, ks...)
	}
}

// TestRegisters compiles a product for every target and looks for accumulators
// that LLVM kept on the stack: the register tile must fit.
func TestRegisters(t *testing.T) {
	spill := map[string]*regexp.Regexp{
		"x86-64": regexp.MustCompile(`.*[xyz]mm\d+.*\(%rsp\).*|.*\(%rsp\).*[xyz]mm\d+.*`),
		"arm64":  regexp.MustCompile(`.*\bq\d+,.*\[sp.*`),
	}
	for _, name := range target.Names() {
		tgt := resolve(t, name)
		for _, left := range []Along{AlongM, AlongK} {
			for _, k := range []int64{300, 3000} {
				c := matmul{m: 256, n: 256, k: k, left: left, right: AlongN, stride: 1, elem: kernel.F32}
				gemm, err := c.generate("gemm", emit.Machine(tgt))
				if err != nil {
					t.Fatal(err)
				}
				text, err := emit.Module(tgt, gemm)
				if err != nil {
					t.Fatal(err)
				}
				asm, err := library(t).Assembly(text, tgt)
				if err != nil {
					t.Fatal(err)
				}
				if found := spill[tgt.Arch].FindString(asm); found != "" {
					t.Errorf("%s: %v: a vector register on the stack:%s", name, c, found)
				}
			}
		}
	}
}

// TestDots: where the target has the instruction, the loop over K of a product of bf16
// is one for each accumulator and nothing is kept on the stack; elsewhere there is none.
func TestDots(t *testing.T) {
	stack := regexp.MustCompile(`.*zmm\d+.*\(%rsp\).*|.*\(%rsp\).*zmm\d+.*`)
	for _, name := range []string{"cpu:x86-64-v4+avx512bf16", "cpu:x86-64-v4"} {
		tgt := resolve(t, name)
		for _, left := range []Along{AlongM, AlongK} {
			for _, right := range []Along{AlongN, AlongK} {
				c := matmul{m: 14 * 8, n: 256, k: 1024, left: left, right: right, stride: 1, elem: kernel.BF16}
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
				want := 0
				if tgt.HasDotBF16 {
					want = 14 * 2
				}
				if got := strings.Count(asm, "vdpbf16ps"); got != want || stack.MatchString(asm) {
					t.Errorf("%s: %v: %d instructions, want %d; on the stack: %q", name, c, got, want, stack.FindString(asm))
				}
				if tgt.HasDotBF16 && !regexp.MustCompile(`vdpbf16ps.*\{1to16\}|vpbroadcastd|vbroadcastss`).MatchString(asm) {
					t.Errorf("%s: %v: no broadcast of the left operand", name, c)
				}
			}
		}
	}
}

// TestFewRows interprets and runs products of as many rows as are
// not packed, and one more, with operands of either kind.
func TestFewRows(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 7))
	var cs []matmul
	for m := int64(1); m <= fewRows+1; m++ {
		c := random(r, 120)
		c.m = m
		cs = append(cs, c)
	}
	for name, m := range machines {
		for _, c := range cs {
			c.n, c.k = 1+c.n/4, 1+c.k/2
			interpret(t, name, c, m)
		}
	}
	for _, name := range target.Names() {
		tgt := resolve(t, name)
		if native.Supported(tgt.Requires) == nil {
			products(t, tgt, cs)
		}
	}
}
