package llvm

import (
	"errors"
	"strings"
	"testing"

	"ptc/backend/llvm/target"
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
		"cpu:x86-64-v4": "%zmm", "cpu:x86-64-v4+avx512bf16": "%zmm",
		"cpu:arm64": "fmla\tv", "cpu:neoverse-v2": "fmla\tv",
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
