package emit

import (
	"errors"
	"testing"
	"unsafe"

	"ptc/backend/cpu/llvm"
	"ptc/backend/cpu/llvm/target"
	"ptc/backend/kernel"
	"ptc/internal/foreign"
	"ptc/runtime/native"
)

// library is libLLVM, or the end of the test: its absence is a failure, unless
// it was asked for.
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

// targets are all named ones, and of them those that this host can run.
func targets(t testing.TB) (all, runnable []target.Target) {
	t.Helper()
	for _, name := range target.Names() {
		tgt, err := target.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tgt)
		if native.Supported(tgt.Requires) == nil {
			runnable = append(runnable, tgt)
		}
	}
	if len(runnable) == 0 {
		t.Fatal("this host runs no target")
	}
	return all, runnable
}

// compile makes an object of kernels and checks that it needs no symbols.
func compile(t testing.TB, tgt target.Target, ks ...*kernel.Kernel) []byte {
	t.Helper()
	text, err := Module(tgt, ks...)
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

// image loads an object for the time of the test.
func image(t testing.TB, obj []byte) *native.Image {
	t.Helper()
	img, err := native.Load(obj)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(img.Close)
	return img
}

// run calls a kernel of img on copies of bufs, which it returns. What lies
// beyond a buffer must stay as it is.
func run(t testing.TB, img *native.Image, k *kernel.Kernel, bufs [][]byte, begin, end int64) [][]byte {
	t.Helper()
	fn, ok := img.Symbol(k.Name)
	if !ok {
		t.Fatalf("no symbol %s", k.Name)
	}
	var ptrs []unsafe.Pointer
	var out [][]byte
	for _, b := range bufs {
		mem := aligned(len(b) + guard)
		copy(mem, b)
		for i := len(b); i < len(mem); i++ {
			mem[i] = 0xa5
		}
		out = append(out, mem)
		ptrs = append(ptrs, unsafe.Pointer(&mem[0]))
	}
	ptrs = append(ptrs, nil)
	scratch := aligned(int(k.ScratchBytes()) + guard)
	foreign.Call(fn, uintptr(unsafe.Pointer(&ptrs[0])), uintptr(begin), uintptr(end), uintptr(unsafe.Pointer(&scratch[0])))
	for i, b := range bufs {
		for _, x := range out[i][len(b):] {
			if x != 0xa5 {
				t.Fatalf("%s writes past buffer %d", k.Name, i)
			}
		}
		out[i] = out[i][:len(b)]
	}
	return out
}

const guard = 256

// aligned is n bytes at an address that 64 divides.
func aligned(n int) []byte {
	b := make([]byte, n+64)
	off := int(-uintptr(unsafe.Pointer(&b[0])) & 63)
	return b[off : off+n : off+n]
}
