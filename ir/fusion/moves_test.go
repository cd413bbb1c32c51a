package fusion_test

import (
	"testing"

	"ptc/ir/fusion"
)

// A lookup reads of a table what it looks up, and not more than the table.
func TestMoves(t *testing.T) {
	for _, c := range []struct {
		name, text string
		bytes      int64
	}{
		{"a few of many", `
arg %0 : f32[vocab=100, d=3] in
arg %1 : i32[s=8] in
%2 : f32[s=8, d=3] = gather %0, %1 axis=vocab
%3 : f32[s=8, d=3] = exp %2
result %3 out`, 4 * (24 + 8 + 24)},
		{"many of a few", `
arg %0 : f32[vocab=5, d=3] in
arg %1 : i32[s=8] in
%2 : f32[s=8, d=3] = gather %0, %1 axis=vocab
%3 : f32[s=8, d=3] = exp %2
result %3 out`, 4 * (15 + 8 + 24)},
		{"a part", `
arg %0 : f32[s=100] in
%1 : f32[s=10] = slice %0 axis=s start=20 limit=30
%2 : f32[s=10] = exp %1
result %2 out`, 4 * (10 + 10)},
		{"a part and all", `
arg %0 : f32[s=100] in
%1 : f32[s=10] = slice %0 axis=s start=20 limit=30
%2 : f32[s=10] = exp %1
%3 : f32[s=100] = exp %0
result %2 out
result %3 all`, 4 * (100 + 10 + 100)},
	} {
		if got := fusion.Moves(kernel(t, c.text)); got != c.bytes {
			t.Errorf("%s: %d bytes, not %d", c.name, got, c.bytes)
		}
	}
}
