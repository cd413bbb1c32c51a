package memory_test

import (
	"strings"
	"testing"

	"ptc/ir"
	"ptc/passes/memory"
)

const twoFunctions = `ptir 1 planned "m"
meta arena(bytes=320)
func @step arena=320 class=entry
  arg %0 : f32[a=16] param "w" at=0
  arg %1 : f32[a=16] state "w/m" at=64
  arg %2 : f32[a=16] data "x" at=128
  %3 : f32[a=16] = call %2 at=[192] fn=@neg
  result %3 grad "w"
end
func @eval arena=320 class=entry
  arg %0 : f32[a=16] param "w" at=0
  arg %2 : f32[a=16] data "x" at=128
  %3 : f32[a=16] = call %0 at=[192] fn=@neg
  %4 : f32[a=16] = call %3 at=[256] fn=@neg
  result %4 grad "w"
end
func @neg class=kernel kind=map
  arg %0 : f32[a=16] in
  %1 : f32[a=16] = neg %0
  result %1 out
end
`

// What functions of one device rely on of each other: each fault has its words.
func TestFunctionsOfOneDevice(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"call %3 at=[256]", "call %3 at=[64]", "@eval: %4 at 64..128 is in the place of a parameter or state, at 64..128"},
		{"@eval arena=320 class=entry\n  arg %0 : f32[a=16] param \"w\" at=0", "@eval arena=320 class=entry\n  arg %0 : f32[a=16] param \"w\" at=256", "param \"w\" is at 256..320, and at 0..64 in @step"},
		{"arg %2 : f32[a=16] data \"x\" at=128\n  %3 : f32[a=16] = call %0", "arg %2 : f32[a=16] data \"y\" at=64\n  %3 : f32[a=16] = call %0", "argument %2 at 64..128 is in the place of a parameter or state"},
		{"@step arena=320", "@step arena=384", "@step: the arena has 384 bytes, and its buffers end at 320"},
		{"bytes=320", "bytes=384", "the arenas need 320 bytes, the module says 384"},
	} {
		text := strings.Replace(twoFunctions, c.old, c.new, 1)
		m, errs := ir.Parse("test.ptir", []byte(text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		got := ""
		if bugs := memory.Check(m); len(bugs) > 0 {
			got = bugs.Error()
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q for %q: %s; want %q", c.new, c.old, got, c.want)
		}
	}
	m, errs := ir.Parse("test.ptir", []byte("ptir 1 planned \"m\"\nmeta arena(bytes=5)\n"))
	if bugs := memory.Check(m); len(errs) > 0 || len(bugs) > 0 {
		t.Error(errs, bugs)
	}
}
