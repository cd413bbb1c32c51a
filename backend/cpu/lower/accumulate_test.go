package lower

import (
	"testing"

	"ptc/ir/fusion"
)

// What is added up over microbatches is written over what it is added to, by products of
// several blocks and tails too.
func TestAccumulationInPlace(t *testing.T) {
	before := map[fusion.Class]int{}
	for class, n := range inPlace {
		before[class] = n
	}
	for i, text := range []string{`func @k class=kernel
  arg %0 : f32[f=19, e=37] in
  arg %1 : f32[b=3, s=7, f=19] in
  arg %2 : f32[b=3, s=7, e=37] in
  %3 : f32[f=19, e=37] = dot %1, %2 out=(f, e) over=(b, s)
  %4 : f32[f=19, e=37] = add %0, %3
  result %4 out
end
`, `func @k class=kernel
  arg %0 : f32[e=5, f=70] in
  arg %1 : bf16[s=600, e=5] in
  arg %2 : bf16[s=600, f=70] in
  %3 : f32[e=5, f=70] = dot %1, %2 out=(e, f) over=(s) to=f32
  %4 : f32[e=5, f=70] = add %3, %0
  result %4 out
end
`, `func @k class=kernel
  arg %0 : f32[e=67] in
  arg %1 : f32[b=3, s=7, e=67] in
  %2 : f32[e=67] = reduce_sum %1 over=(b, s)
  %3 : f32[e=67] = add %0, %2
  result %3 out
end
`} {
		checkKernel(t, parse(t, text), int64(i))
	}
	if n := inPlace[fusion.Gemm] - before[fusion.Gemm]; n != 4 {
		t.Errorf("%d products in place", n)
	}
	if n := inPlace[fusion.Column] - before[fusion.Column]; n != 2 {
		t.Errorf("%d reductions in place", n)
	}
}
