package memory_test

import (
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/verify"
	"ptc/passes/memory"
	"ptc/passes/pass"
)

const differing = `ptir 1 fused "m"
func @step class=entry
  stack blocks count=3
  arg %0 : f32[a=16] data "x"
  arg %1 : f32[a=16] param "blocks.0.w"
  arg %2 : f32[a=16] each blocks param "blocks.{i+1}.w"
  arg %3 : f32[a=16] each blocks param "blocks.{i+1}.b"
  %4 : f32[a=16] = call %0, %1 fn=@add
  for blocks
    %5 : f32[a=16] = enter %4
    %6 : f32[a=16] = call %5, %2 fn=@add
    %7 : f32[a=16] = call %6, %3 fn=@add
    %8 : f32[a=16] = leave %5, %7
  end for
  result %8 grad "x"
end
func @eval class=entry
  stack blocks count=4
  arg %0 : f32[a=16] data "x"
  arg %1 : f32[a=16] each blocks param "blocks.{i}.w"
  for blocks
    %2 : f32[a=16] = enter %0
    %3 : f32[a=16] = call %2, %1 fn=@add
    %4 : f32[a=16] = leave %2, %3
  end for
  result %4 grad "x"
end
func @last class=entry
  stack blocks count=2
  arg %0 : f32[a=16] each blocks param "blocks.{2i+1}.w"
  arg %1 : f32[a=16] param "blocks.2.b"
  for blocks
    %2 : f32[a=16] = call %0, %0 fn=@add
  end for
  %3 : f32[a=16] = call %1, %1 fn=@add
  result %2 grad "blocks.{i}.v"
  result %3 grad "v"
end
func @add class=kernel kind=map
  arg %0 : f32[a=16] in
  arg %1 : f32[a=16] in
  %2 : f32[a=16] = add %0, %1
  result %2 out
end
`

// Functions of a device find a parameter in the same place, whatever is repeated in
// each.
func TestFunctionsWithOtherRuns(t *testing.T) {
	m, errs := ir.Parse("test.ptir", []byte(differing))
	if len(errs) == 0 {
		errs = verify.Module(m)
	}
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if err := memory.Run(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	if errs := verify.Module(m); len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, ir.Print(m))
	}
	at := map[string]int64{}
	for _, f := range m.Unrolled().Funcs {
		for _, a := range f.Args {
			if old, known := at[a.Path]; a.Role == ir.RoleParam && known && old != a.At.Bytes() {
				t.Errorf("@%s has %s at %d, and it is at %d", f.Name, a.Path, a.At.Bytes(), old)
			} else if a.Role == ir.RoleParam {
				at[a.Path] = a.At.Bytes()
			}
		}
	}
	if len(at) != 7 {
		t.Errorf("%d parameters: %v", len(at), at)
	}
	text := strings.Replace(ir.Print(m), `"blocks.{2i+1}.w" at=`, `"blocks.{2i}.w" at=`, 1)
	if m, errs = ir.Parse("test.ptir", []byte(text)); len(errs) > 0 {
		t.Fatal(errs)
	}
	if bugs := memory.Check(m); len(bugs) == 0 {
		t.Error("a function that looks for blocks 0 and 2 where 1 and 3 are is accepted")
	}
}
