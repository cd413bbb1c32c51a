package fuse

import (
	"fmt"
	"testing"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/ir/targetinfo"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// TestCastsApart: a weight is cast before products where their blocks would read it more often than that takes, once
// for products whose casts are one launch, and by the products else.
func TestCastsApart(t *testing.T) {
	const text = `ptir 1 local "t"

func @step class=entry
  arg %%0 : bf16[a=%[1]d, b=256] data "x"
  arg %%1 : f32[b=256, c=256] param "w"
  %%2 : bf16[b=256, c=256] = cast %%1 to=bf16
  %%3 : bf16[a=%[1]d, c=256] = dot %%0, %%2 over=(b)
  %%4 : bf16[b=256, c=256] = cast %%1 to=bf16
  %%5 : bf16[a=%[1]d, b=256] = dot %%3, %%4 over=(c)
  result %%5 grad "x"
end
`
	for _, c := range []struct {
		name  string
		rows  int
		block int64
		casts int // kernels that are casts alone
		calls int
	}{
		{"many blocks", 32768, 128, 1, 3},
		{"few blocks", 4096, 128, 0, 2},
		{"larger blocks", 32768, 1024, 0, 2},
		{"a target without blocks", 32768, 0, 0, 2},
	} {
		m := passtest.Parse(t, fmt.Sprintf(text, c.rows))
		before := m.Clone()
		if err := Run(&pass.Context{Target: pass.Target{Info: targetinfo.Info{Block: c.block}}}, m); err != nil {
			t.Fatal(err)
		}
		passtest.Numbered(t, before, m)
		casts, calls := 0, 0
		for _, o := range m.Func("step").Ops {
			if o.Callee == nil {
				continue
			}
			calls++
			if k := o.Callee; fusion.Class(k.Attrs.Text("kind")) != fusion.Gemm && len(k.Ops) == 1 && k.Ops[0].Name == op.Cast {
				casts++
			}
		}
		if casts != c.casts || calls != c.calls {
			t.Errorf("%s: %d casts of %d calls, expected %d of %d\n%s", c.name, casts, calls, c.casts, c.calls, ir.Print(m))
		}
	}
}
