package fakeblaslt

import (
	"math"
	"strings"
	"testing"
	"unsafe"

	"ptc/internal/foreign"
)

//go:uintptrescapes
func (l *Library) call(t *testing.T, name string, args ...uintptr) int {
	t.Helper()
	at, err := l.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return int(int32(foreign.CallMany(at, args...)))
}

// TestMistakes: each mistake of a caller is an error, and noted; what is left is told.
func TestMistakes(t *testing.T) {
	if err := foreign.Many(); err != nil {
		t.Skip(err)
	}
	for _, m := range []struct {
		name string
		do   func(l *Library) int
		note string
	}{
		{"no handle", func(l *Library) int { return l.call(t, "cublasLtDestroy", 5) }, "there is no"},
		{"TF32", func(l *Library) int {
			var d uintptr
			return l.call(t, "cublasLtMatmulDescCreate", uintptr(unsafe.Pointer(&d)), 77, 0)
		}, "a computation in 77"},
		{"rows that meet", func(l *Library) int {
			var x uintptr
			return l.call(t, "cublasLtMatrixLayoutCreate", uintptr(unsafe.Pointer(&x)), 0, 8, 4, 7)
		}, "8 by 4, 7 apart"},
		{"reductions in place", func(l *Library) int {
			var p, d, x, h uintptr
			scheme, n := uint32(3), int32(0)
			results := make([]byte, 96)
			for _, r := range []int{l.call(t, "cublasLtCreate", uintptr(unsafe.Pointer(&h))),
				l.call(t, "cublasLtMatmulPreferenceCreate", uintptr(unsafe.Pointer(&p))),
				l.call(t, "cublasLtMatmulPreferenceSetAttribute", p, 3, uintptr(unsafe.Pointer(&scheme)), 4),
				l.call(t, "cublasLtMatmulDescCreate", uintptr(unsafe.Pointer(&d)), 68, 0),
				l.call(t, "cublasLtMatrixLayoutCreate", uintptr(unsafe.Pointer(&x)), 0, 4, 4, 4)} {
				if r != Success {
					t.Errorf("%d, %q", r, l.Problems())
				}
			}
			return l.call(t, "cublasLtMatmulAlgoGetHeuristic", h, d, x, x, x, x, p, 1, uintptr(unsafe.Pointer(&results[0])), uintptr(unsafe.Pointer(&n)))
		}, "reductions 3"},
		{"an attribute's size", func(l *Library) int {
			var d uintptr
			op := int64(1)
			_ = l.call(t, "cublasLtMatmulDescCreate", uintptr(unsafe.Pointer(&d)), 68, 0)
			return l.call(t, "cublasLtMatmulDescSetAttribute", d, 3, uintptr(unsafe.Pointer(&op)), 8)
		}, "an attribute of 8 bytes; expected 4"},
		{"freed twice", func(l *Library) int {
			var h uintptr
			_, _ = l.call(t, "cublasLtCreate", uintptr(unsafe.Pointer(&h))), l.call(t, "cublasLtDestroy", h)
			return l.call(t, "cublasLtDestroy", h)
		}, "there is no"},
	} {
		l := New(Options{})
		if got := m.do(l); got != InvalidValue || !strings.Contains(strings.Join(l.Problems(), "\n"), m.note) {
			t.Errorf("%s: found %d, problems %q; expected %q", m.name, got, l.Problems(), m.note)
		}
	}
	l := New(Options{})
	var h uintptr
	l.Fail("cublasLtCreate", 2, InternalError)
	if a, b := l.call(t, "cublasLtCreate", uintptr(unsafe.Pointer(&h))), l.call(t, "cublasLtCreate", uintptr(unsafe.Pointer(&h))); a != Success || b != InternalError || len(l.Leaks()) != 1 {
		t.Errorf("%d, %d, left %q", a, b, l.Leaks())
	}
}

// TestNumbers: each type is read as it was written, rounded to the nearest.
func TestNumbers(t *testing.T) {
	b := make([]byte, 8)
	for kind, want := range map[uint32]float64{0: float64(float32(math.Pi)), 2: 3.140625, 14: 3.140625} {
		if store(b, 1, kind, math.Pi); load(b, 1, kind) != want {
			t.Errorf("type %d: found %v, expected %v", kind, load(b, 1, kind), want)
		}
	}
}
