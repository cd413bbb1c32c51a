package schedule_test

import (
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/passes/pass"
	"ptc/passes/schedule"
)

const tagged = `ptir 1 local "m"
mesh pp=2
meta layout(name="l", rules=[pipeline(at="m.ptl:9:3", blocks="blocks", chunks=1, microbatches=2, over=(pp), schedule="1f1b")])
func @step class=entry microbatches=2
  arg %0 : f32[a=4] data "x"
  %1 : f32[a=4] = neg %0 phase=forward microbatch=each stage=0
  %2 : f32[a=4] = neg %1 phase=forward microbatch=each stage=1
  %3 : f32[a=4] = accumulate %2 phase=forward microbatch=each stage=1
  result %3 grad "x"
end
`

// TestRefuses: what a schedule does not have, or a layout says of it, is an error at
// the directive.
func TestRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"stage=1", "stage=2", "`neg` is on stage 2, of 2"},
		{"entry microbatches=2", "entry microbatches=3", "@step: stage 0 has 2 slots of 3 in schedule 1f1b"},
		{"chunks=1", "chunks=2", "1f1b keeps 1 chunk on each device, found 2"},
		{"1f1b", "zb_v", "zb_v keeps 2 chunks on each device, found 1"},
		{"1, microbatches=2", "1, microbatches=9999999", "9999999 microbatches are too many"},
	} {
		m, errs := ir.Parse("test.ptir", []byte(strings.Replace(tagged, c.old, c.new, 1)))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		err := schedule.Run(&pass.Context{}, m)
		if c.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		list, ok := diag.As(err)
		if !ok || len(list) != 1 || list[0].Code != "E0610" || list[0].Pos.Line != 9 || !strings.Contains(list[0].Msg, c.want) {
			t.Errorf("%s: %v, want E0610 with %q", c.new, err, c.want)
		}
	}
}
