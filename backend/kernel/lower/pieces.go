package lower

import (
	"ptc/backend/kernel"
	"ptc/ir"
	"ptc/ir/op"
)

// pieces generates concat and pad: each operand is stored at its place along
// the axis, and what no operand covers is zero.
func (g *gen) pieces() (*kernel.Kernel, error) {
	root := g.k.Root
	axis := root.Attrs.Text("axis")
	out := root.Result().Type
	var before, after []dim
	seen := false
	for _, a := range out.Axes {
		switch {
		case a.Name == axis:
			seen = true
		case a.Size == 1:
			g.at[a.Name] = coord{}
		case seen:
			after = append(after, dim{[]string{a.Name}, int64(a.Size)})
		default:
			before = append(before, dim{[]string{a.Name}, int64(a.Size)})
		}
	}
	inner := int64(out.Size(axis))
	for _, d := range after {
		inner *= d.size
	}
	outer, rest, tasks := tasksOf(before, inner)
	g.begin(tasks)
	g.position(outer, g.taskValue())
	g.nest(rest, nil, func() {
		for _, p := range placed(root) {
			g.piece(p, axis, after)
		}
	})
	return g.b.Finish()
}

// placement is a run along the axis: an operand, or zeros where it is nil.
type placement struct {
	v     *ir.Value
	at, n int64
}

func placed(root *ir.Op) []placement {
	axis := root.Attrs.Text("axis")
	if root.Name == op.Pad {
		n := int64(root.Args[0].Type.Size(axis))
		low, high := root.Attrs.Int("low", 0), root.Attrs.Int("high", 0)
		return []placement{{nil, 0, low}, {root.Args[0], low, n}, {nil, low + n, high}}
	}
	var out []placement
	at := int64(0)
	for _, v := range root.Args {
		n := int64(v.Type.Size(axis))
		out = append(out, placement{v, at, n})
		at += n
	}
	return out
}

func (g *gen) piece(p placement, axis string, after []dim) {
	if p.n == 0 {
		return
	}
	t := g.k.Root.Result().Type
	view := op.Dense(t)
	view.Offset += int(p.at) * strideOf(view, axis)
	dims := append([]dim{{[]string{axis}, p.n}}, after...)
	inner := dims[len(dims)-1]
	g.nest(dims[:len(dims)-1], nil, func() {
		g.sweep(inner, kernel.Int(0), inner.size, func() {
			x := g.b.Const(register(t.DType, 1), 0)
			if p.v != nil {
				x = g.value(p.v)
			}
			g.storeTo(g.results[0], view, x)
		})
	})
}

func strideOf(v op.Strided, axis string) int {
	a, _ := v.Axis(axis)
	return a.Stride
}
