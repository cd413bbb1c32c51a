package fusion_test

import (
	"strings"
	"testing"

	"ptc/ir/fusion"
)

// Of an attention of 8 queries and 8 keys, the work of those pairs counts that a mask
// of positions lets through.
func TestFlopsOfMasks(t *testing.T) {
	work := func(mask string) int64 {
		t.Helper()
		return fusion.Flops(kernel(t, `
arg %0 : f32[b=2, s=8, d=3] in
arg %1 : f32[b=2, t=8, d=3] in
arg %30 : i32[b=2, s=8] in
%2 : i32[s=8] = index axis=s size=8
%3 : i32[t=8] = index axis=t size=8
%4 : i32[] = const dtype=i32 value=3
%5 : i32[t=8] = add %3, %4
%6 : f32[] = const dtype=f32 value=-inf
%7 : f32[b=2, s=8, t=8] = dot %0, %1 over=(d)
`+mask+`
%20 : f32[b=2, s=8] = reduce_max %10 over=(t)
%21 : f32[b=2, s=8, t=8] = sub %10, %20
%22 : f32[b=2, s=8, t=8] = exp %21
%23 : f32[b=2, s=8, d=3] = dot %22, %1 out=(b, s, d) over=(t)
result %23 out`))
	}
	sel := "%10 : f32[b=2, s=8, t=8] = select %9, %7, %6"
	ge := "%8 : bool[s=8, t=8] = ge %2, %3\n"
	none := work("%9 : bool[b=2, s=8] = ge %30, %4\n" + sel)
	for _, c := range []struct {
		name, mask string
		pairs      int64 // of 64
	}{
		{"of data", "%8 : bool[s=8, t=8] = ge %2, %3\n%9 : bool[b=2, s=8] = ge %30, %4\n" + sel, 64},
		{"causal", "%9 : bool[s=8, t=8] = ge %2, %3\n" + sel, 36},
		{"the other way round", "%9 : bool[s=8, t=8] = le %3, %2\n" + sel, 36},
		{"not itself", "%9 : bool[s=8, t=8] = gt %2, %3\n" + sel, 28},
		{"hidden where it is not so", "%9 : bool[s=8, t=8] = lt %2, %3\n" + strings.Replace(sel, "%7, %6", "%6, %7", 1), 36},
		{"not", "%8 : bool[s=8, t=8] = lt %2, %3\n%9 : bool[s=8, t=8] = not %8\n" + sel, 36},
		{"window", ge + "%11 : bool[s=8, t=8] = lt %2, %5\n%9 : bool[s=8, t=8] = and %8, %11\n" + sel, 21},
		{"one or the other", ge + "%11 : bool[s=8, t=8] = lt %2, %5\n%9 : bool[s=8, t=8] = or %8, %11\n" + sel, 64},
		{"a scale on the left", "%9 : bool[s=8, t=8] = ge %2, %3\n" + strings.Replace(sel, "%10", "%12", 1) + "\n%13 : f32[] = const dtype=f32 value=0.5\n%10 : f32[b=2, s=8, t=8] = mul %13, %12", 36},
		{"added", "%9 : bool[s=8, t=8] = ge %2, %3\n%12 : f32[] = const dtype=f32 value=0\n%13 : f32[s=8, t=8] = select %9, %12, %6\n%10 : f32[b=2, s=8, t=8] = add %7, %13", 36},
		{"each its own", "%9 : bool[s=8, t=8] = eq %2, %3\n" + sel, 8},
		{"also of data", ge + "%11 : bool[b=2, s=8] = ge %30, %4\n%9 : bool[b=2, s=8, t=8] = and %8, %11\n" + sel, 36},
		{"some keys", "%9 : bool[t=8] = lt %3, %4\n" + sel, 24},
	} {
		// The mask itself takes up to 2 FLOP for a pair.
		if got, want := work(c.mask), none*c.pairs/64; got < want-16 || got > want+2*64 {
			t.Errorf("%s: %d FLOP, not %d; %d without a mask", c.name, got, want, none)
		}
	}
}
