package llvm

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"ptc/backend/cpu/llvm/target"
)

// library is libLLVM, or the end of the test: its absence is a failure, unless
// it was asked for.
func library(t testing.TB) *Library {
	t.Helper()
	l, err := Load()
	if errors.Is(err, ErrNone) {
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

// saxpy is y += a·x over 16 floats per task.
const saxpy = `
define void @saxpy(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) #0 {
entry:
  %x = load ptr, ptr %bufs
  %yp = getelementptr ptr, ptr %bufs, i64 1
  %y = load ptr, ptr %yp
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %o = mul i64 %i, 16
  %px = getelementptr float, ptr %x, i64 %o
  %py = getelementptr float, ptr %y, i64 %o
  %vx = load <16 x float>, ptr %px, align 4
  %vy = load <16 x float>, ptr %py, align 4
  %m = fmul contract <16 x float> %vx, splat (float 2.5)
  %s = fadd contract <16 x float> %m, %vy
  store <16 x float> %s, ptr %py, align 4
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
attributes #0 = { nounwind }
`

func TestVersion(t *testing.T) {
	l := library(t)
	if l.major < minMajor || !strings.Contains(l.Version(), ".") || l.Path() == "" {
		t.Errorf("version %q at %q", l.Version(), l.Path())
	}
}

func TestEveryTargetCompiles(t *testing.T) {
	l := library(t)
	want := map[string]string{ // an instruction that only this vector width gives
		"cpu:x86-64-v2": "%xmm", "cpu:x86-64-v3": "%ymm",
		"cpu:x86-64-v4": "%zmm", "cpu:x86-64-v4+avx512bf16": "%zmm", "cpu:x86-64-v4+amx": "%zmm",
		"cpu:arm64": "fmla\tv", "cpu:arm64+bf16": "fmla\tv", "cpu:neoverse-v2": "fmla\tv",
	}
	for _, name := range target.Names() {
		tgt := resolve(t, name)
		asm, err := l.Assembly(saxpy, tgt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if w := want[name]; w == "" || !strings.Contains(asm, w) {
			t.Errorf("%s: no %q in\n%s", name, w, asm)
		}
	}
}

func TestCompileIsDeterministic(t *testing.T) {
	l := library(t)
	for _, name := range target.Names() {
		tgt := resolve(t, name)
		driver, err := Driver(tgt)
		if err != nil {
			t.Fatal(err)
		}
		first, err := l.Compile(saxpy+program+driver, tgt)
		if err != nil {
			t.Fatal(err)
		}
		if names, err := Undefined(first); err != nil || len(names) > 0 {
			t.Errorf("%s: undefined symbols %v, %v", name, names, err)
		}
		var wg sync.WaitGroup
		for range 2 { // at once, and after one another
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range 2 {
					again, err := l.Compile(saxpy+program+driver, tgt)
					if err != nil || string(again) != string(first) {
						t.Errorf("%s: compiled again, %d bytes that differ from the first %d: %v", name, len(again), len(first), err)
					}
				}
			}()
		}
		wg.Wait()
	}
}

// TestCompileLeaksNothing compiles until a leak of one context or module in each
// compilation, some 100 KiB, would show.
func TestCompileLeaksNothing(t *testing.T) {
	l, tgt := library(t), resolve(t, "cpu:x86-64-v3")
	many := func(n int) {
		for range n {
			if _, err := l.Compile(program, tgt); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Compile("nonsense", tgt); err == nil {
				t.Fatal("nonsense compiled")
			}
		}
	}
	many(30)
	before := resident(t)
	many(150)
	if grown := resident(t) - before; grown > 8<<20 {
		t.Errorf("150 compilations left %d KiB of memory in use", grown>>10)
	}
	n := 0
	l.diagnostics.open.Range(func(any, any) bool { n++; return true })
	if n != 0 {
		t.Errorf("%d diagnostic sinks left open", n)
	}
}

// resident is the process's resident memory in bytes.
func resident(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, rss int
	if _, err := fmt.Sscan(string(b), &size, &rss); err != nil {
		t.Fatal(err)
	}
	return rss * os.Getpagesize()
}

func TestCompileErrors(t *testing.T) {
	l, tgt := library(t), resolve(t, "cpu:x86-64-v3")
	elsewhere := tgt
	elsewhere.Triple = "pdp11-unknown-none"
	zero := tgt
	zero.CPU = "x\x00y"
	cases := []struct {
		name, ir string
		t        target.Target
		want     []string
	}{
		{"syntax", "define void @f() {\n  ret i32 %nowhere\n}\n", tgt, []string{"ptc:2:", "nowhere"}},
		{"no IR", "garbage", tgt, []string{"not LLVM IR"}},
		{"semantics", "define void @f() {\n  %a = add i32 %b, 1\n  %b = add i32 1, 1\n  ret void\n}\n", tgt, []string{"dominate"}},
		{"assembly", "define void @f() {\n  call void asm sideeffect \"frobnicate\", \"\"()\n  ret void\n}\n", tgt, []string{"invalid instruction"}},
		{"triple", "", elsewhere, []string{"pdp11"}},
		{"zero byte", "", zero, []string{"zero byte"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := l.Compile(c.ir, c.t)
			if err == nil {
				t.Fatal("compiled")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q has no %q", err, w)
				}
			}
		})
	}
	if object, err := l.Compile("", tgt); err != nil || len(object) == 0 {
		t.Errorf("an empty module gave %d bytes, %v", len(object), err)
	}
}

// zeroFill is a loop that LLVM's default pipelines turn into a call of memset.
const zeroFill = `
define void @zero(ptr %bufs, i64 %begin, i64 %end, ptr %scratch) nounwind {
entry:
  %a = load ptr, ptr %bufs
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %p = getelementptr float, ptr %a, i64 %i
  store float 0.0, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
`

func TestUndefined(t *testing.T) {
	l, tgt := library(t), resolve(t, "cpu:x86-64-v3")
	const calls = "declare void @zulu()\ndeclare float @llvm.exp.f32(float)\n" +
		"define float @f(float %x) {\n  call void @zulu()\n  %y = call float @llvm.exp.f32(float %x)\n  ret float %y\n}\n"
	for _, c := range []struct{ ir, want string }{{zeroFill, ""}, {saxpy, ""}, {calls, "expf zulu"}} {
		object, err := l.Compile(c.ir, tgt)
		if err != nil {
			t.Fatal(err)
		}
		names, err := Undefined(object)
		if got := strings.Join(names, " "); err != nil || got != c.want {
			t.Errorf("undefined %q, %v, want %q", got, err, c.want)
		}
	}
	if _, err := Undefined([]byte("no object")); err == nil {
		t.Error("no error for bytes that are no object")
	}
}

func TestPTX(t *testing.T) {
	const kernel = `
define ptx_kernel void @scale(ptr addrspace(1) %x) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  %v = load float, ptr addrspace(1) %p
  %w = fmul float %v, 2.0
  store float %w, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
`
	gpu := target.Target{Name: "cuda:sm_90", Triple: "nvptx64-nvidia-cuda", CPU: "sm_90"}
	ptx, err := library(t).Assembly(kernel, gpu)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".target sm_90", ".visible", "scale(", "ld.global.f32"} {
		if !strings.Contains(ptx, want) {
			t.Errorf("no %q in\n%s", want, ptx)
		}
	}
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	if _, err := open("none"); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), EnvLLVM) {
		t.Errorf("none: %v", err)
	}
	_, err := open("/nowhere/libLLVM.so")
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), InstallLine) || !strings.Contains(err.Error(), "/nowhere/libLLVM.so") {
		t.Errorf("wrong path: %v", err)
	}
	if _, err := open("libc.so.6"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "has no function LLVM") {
		t.Errorf("another library: %v", err)
	}
}
