package schedule_test

import (
	"strings"
	"testing"

	"ptc/ir"
	"ptc/passes/schedule"
)

const programs = `ptir 1 local "m"
mesh pp=2, tp=2
func @step.0 class=entry of=step stage=0
  arg %0 : f32[a=4] data "x"
  _ = send %0 over=(pp) peer=1 tag=1
  %1 : f32[a=4] = recv axes={a=4} dtype=f32 over=(pp) peer=1 tag=2
  result %1 grad "x"
end
func @step.1 class=entry of=step stage=1
  %1 : f32[a=4] = recv axes={a=4} dtype=f32 over=(pp) peer=0 tag=1
  _ = send %1 over=(pp) peer=0 tag=2
  result %1 grad "y"
end
`

// TestCheck: each fault of the messages has its words.
func TestCheck(t *testing.T) {
	send := "  _ = send %0 over=(pp) peer=1 tag=1\n"
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{send, "", "the stages wait for ever"},
		{send, send + send, "message 1 from stage 0 to stage 1 is sent and never received"},
		{send, strings.Repeat(send, 6), "stage 0 waits to send message 1 of stage 1"},
		{"peer=1 tag=1", "peer=2 tag=1", "a message from stage 0 to or from stage 2"},
		{"peer=1 tag=1", "peer=0 tag=1", "a message from stage 0 to or from stage 0"},
		{"send %0 over=(pp)", "send %0 over=(tp)", "over `pp`"},
		{"recv axes={a=4} dtype=f32 over=(pp) peer=0 tag=1", "recv axes={a=4} dtype=f32 over=(pp) peer=0 tag=3", "the stages wait for ever"},
		{"%1 : f32[a=4] = recv axes={a=4} dtype=f32 over=(pp) peer=0", "%1 : f32[a=2] = recv axes={a=2} dtype=f32 over=(pp) peer=0", "is f32[a=4], and f32[a=2] is received"},
		{"stage=1", "stage=2", "program 1, @step.1, is of stage 2"},
		{"mesh pp=2", "mesh pp=3", "2 programs for 3 coordinates"},
		{" of=step stage=0", "", "is no program of a pipeline"},
		{"_ = send %1 over=(pp) peer=0 tag=2", "_ = send %1 over=(pp) peer=0 tag=2\n  %2 : f32[a=4] = all_reduce %1 over=(pp) reduce=sum", "among devices of different programs"},
	} {
		m, errs := ir.Parse("test.ptir", []byte(strings.Replace(programs, c.old, c.new, 1)))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		text := ""
		if bugs := schedule.Check(m); len(bugs) > 0 {
			text = bugs.Error()
		}
		if c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%q for %q: %s; want %q", c.new, c.old, text, c.want)
		}
	}
}
