package collectives

import (
	"strings"
	"testing"

	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// TestWhy: of two collectives that stay, the reason is given, if it is asked for.
func TestWhy(t *testing.T) {
	const text = `ptir 1 local "t"
mesh tp = 2

func @step class=entry
  arg %0 : f32[b=4@tp, a=8] data "x"
  arg %1 : f32[a=4@tp] data "y"
  arg %2 : f32[a=8] data "z"
  %3 : f32[a=8] partial(tp) = reduce_sum %0 over=(b)
  %4 : f32[a=4@tp] = reduce_scatter %3 axis=a over=(tp) parts=2 reduce=sum
  %5 : f32[a=8] = all_gather %4 axis=a over=(tp) parts=2
  result %4 grad "y"
  result %5 grad "z"
end
`
	for _, why := range []string{"", "fuse", "collectives"} {
		c := &pass.Context{Pass: "collectives", Why: why}
		if err := Run(c, passtest.Parse(t, text)); err != nil {
			t.Fatal(err)
		}
		if asked := why == c.Pass; asked != (len(c.Reasons) == 1) || asked && !strings.Contains(c.Reasons[0].Text, "`all_gather` over tp stays after `reduce_scatter` over tp: others read its result") {
			t.Errorf("of %q: %v", why, c.Reasons)
		}
	}
}
