package foreign_test

import (
	"runtime"
	"testing"
	"unsafe"

	"ptc/internal/foreign"
)

// seen is what the C function of the test was called with.
type seen struct {
	a, b, d uintptr
	value   [16]uint64
}

// callee is the address of what a C compiler makes of
//
//	int f(void *a, int b, struct { char c[128]; } value, int d)
//
// as a callback of words: on x86-64 six registers, of which the structure has none, and the
// stack; on arm64 the structure's address in its place.
func callee(t *testing.T, s *seen) uintptr {
	t.Helper()
	if err := foreign.Available(); err != nil {
		t.Skip(err)
	}
	switch runtime.GOARCH {
	case "amd64":
		return foreign.Callback(func(a, b, d, _, _, _, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15 uintptr) uintptr {
			s.a, s.b, s.d = a, b, d
			for i, v := range []uintptr{v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15} {
				s.value[i] = uint64(v)
			}
			return 42
		})
	case "arm64":
		return foreign.Callback(func(a, b, value, d uintptr) uintptr {
			s.a, s.b, s.d = a, b, d
			s.value = *(*[16]uint64)(foreign.Pointer(value))
			return 42
		})
	}
	t.Skip("no such calls on " + runtime.GOARCH)
	return 0
}

// TestCallValue: every word of the structure and every other argument arrives, call after call.
func TestCallValue(t *testing.T) {
	s := &seen{}
	fn := callee(t, s)
	for round := range uint64(100) {
		var value [16]uint64
		for i := range value {
			value[i] = round<<32 | uint64(i)*0x01010101
		}
		got := foreign.CallValue(fn, 2, unsafe.Slice((*byte)(unsafe.Pointer(&value)), 128), 7, 8, uintptr(round))
		if got != 42 || s.a != 7 || s.b != 8 || s.d != uintptr(round) || s.value != value {
			t.Fatalf("round %d gives %d and %+v", round, got, *s)
		}
	}
}

// TestCallValueRefuses what it cannot pass.
func TestCallValueRefuses(t *testing.T) {
	for _, c := range []struct{ at, bytes, args int }{{0, 16, 1}, {0, 24, 1}, {2, 32, 1}, {0, 32, 6}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was called", c)
				}
			}()
			foreign.CallValue(1, c.at, make([]byte, c.bytes), make([]uintptr, c.args)...)
		}()
	}
}
