package pitch

import (
	"testing"

	"ptc/ir"
	"ptc/ir/targetinfo"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// wide wants rows of multiples of 16 bytes, and 128 where that is little.
func wide(c *pass.Context, m *ir.Module) error {
	c.Target.Rows = targetinfo.Rows{Least: 16, Best: 128}
	return Run(c, m)
}

func TestGolden(t *testing.T) { passtest.Golden(t, "testdata/*.txtar", wide, nil) }

// TestNone: a target that does not ask for it has nothing padded.
func TestNone(t *testing.T) {
	const text = "ptir 1 fused \"t\"\n\nfunc @f class=entry\n  arg %0 : bf16[a=8, b=64] data \"x\"\n  arg %1 : bf16[b=64, v=101] param \"w\"\n" +
		"  %2 : bf16[a=8, v=101] = call %0, %1 fn=@logits\n  %3 : f32[a=8] = call %2 fn=@loss\n  result %3 grad \"x\"\nend\n\n" +
		"func @logits class=kernel kind=gemm\n  arg %0 : bf16[a=8, b=64] in\n  arg %1 : bf16[b=64, v=101] in\n  %2 : bf16[a=8, v=101] = dot %0, %1 over=(b)\n  result %2 out\nend\n\n" +
		"func @loss class=kernel kind=row\n  arg %0 : bf16[a=8, v=101] in\n  %1 : f32[a=8, v=101] = cast %0 to=f32\n  %2 : f32[a=8] = reduce_sum %1 over=(v)\n  result %2 out\nend\n"
	m := passtest.Parse(t, text)
	before := ir.Print(m)
	if err := Run(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	if ir.Print(m) != before {
		t.Errorf("changed:\n%s", ir.Print(m))
	}
	if err := wide(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	if ir.Print(m) == before {
		t.Error("a target that asks for it has nothing padded")
	}
}

// TestPadding: by how much.
func TestPadding(t *testing.T) {
	p := &padder{rows: targetinfo.Rows{Least: 16, Best: 128}}
	for _, c := range []struct {
		d         ir.DType
		row, want int
	}{
		{ir.BF16, 50257, 47}, {ir.BF16, 50264, 0}, {ir.BF16, 101, 3}, {ir.BF16, 33, 7}, {ir.BF16, 31, 0}, {ir.F32, 50257, 15}, {ir.F32, 1001, 23},
		{ir.BF16, 513, 31}, {ir.BF16, 1025, 63}, {ir.Bool, 65, 15},
	} {
		typ := ir.Type{DType: c.d, Axes: []ir.Axis{{Name: "a", Size: 3}, {Name: "b", Size: c.row}}}
		if got := p.padding(typ); got != c.want {
			t.Errorf("%s: %d, want %d", typ, got, c.want)
		}
		if typ.Axes = typ.Axes[1:]; p.padding(typ) != 0 {
			t.Errorf("%s has rows", typ)
		}
	}
}
