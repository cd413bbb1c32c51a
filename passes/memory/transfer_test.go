package memory_test

import (
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/verify"
	"ptc/passes/memory"
	"ptc/passes/pass"
)

// A state that is stored before the old one was fetched cannot be where that is:
// an error, and no panic, of modules that somebody edited.
func TestStoredBeforeItIsFetched(t *testing.T) {
	const head = `ptir 1 fused "m"
func @step class=entry
  arg %0 : f32[a=32] state "w/m" memory=host
  arg %1 : f32[a=32] data "x"
`
	const tail = `  %4 : f32[a=32] = call %3 fn=@neg
  result %2 state "w/m"
  result %4 grad "w"
end
func @neg class=kernel kind=map
  arg %0 : f32[a=32] in
  %1 : f32[a=32] = neg %0
  result %1 out
end
`
	for _, c := range []struct{ body, want string }{
		{"  %3 : f32[a=32] = host_to_device %0\n  %2 : f32[a=32] = device_to_host %1 memory=host\n", ""},
		{"  %2 : f32[a=32] = device_to_host %1 memory=host\n  %3 : f32[a=32] = host_to_device %0\n", "overwritten before all of the old value is on the device"},
		{"  %5 : f32[a=32] = host_to_device %0 start=true\n  %2 : f32[a=32] = device_to_host %1 memory=host\n  %3 : f32[a=32] = done %5\n", "overwritten before all of the old value is on the device"},
	} {
		m, errs := ir.Parse("test.ptir", []byte(head+c.body+tail))
		if len(errs) == 0 {
			errs = verify.Module(m)
		}
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		err := memory.Run(&pass.Context{}, m)
		if c.want == "" {
			if err != nil || len(memory.Check(m)) > 0 {
				t.Errorf("%v, %v", err, memory.Check(m))
			}
			continue
		}
		if _, ok := diag.As(err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s%v", c.body, err)
		}
	}
}
