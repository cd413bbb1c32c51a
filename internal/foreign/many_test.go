package foreign_test

import (
	"slices"
	"testing"

	"ptc/internal/foreign"
)

// TestCallMany: every argument arrives, of numbers that fill the stack evenly and not, call after call.
func TestCallMany(t *testing.T) {
	if err := foreign.Many(); err != nil {
		t.Skip(err)
	}
	var got []uintptr
	callees := map[int]uintptr{
		3: foreign.Callback(func(a, b, c uintptr) uintptr { got = []uintptr{a, b, c}; return 42 }),
		16: foreign.Callback(func(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p uintptr) uintptr {
			got = []uintptr{a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p}
			return 42
		}),
		19: foreign.Callback(func(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s uintptr) uintptr {
			got = []uintptr{a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s}
			return 42
		}),
	}
	for round := range uintptr(100) {
		for _, n := range []int{3, 16, 19} {
			args := make([]uintptr, n)
			for i := range args {
				args[i] = round<<32 | uintptr(i+1)*0x01010101
			}
			if r := foreign.CallMany(callees[n], args...); r != 42 || !slices.Equal(got, args) {
				t.Fatalf("round %d of %d arguments gives %d and %#x; expected %#x", round, n, r, got, args)
			}
		}
	}
}
