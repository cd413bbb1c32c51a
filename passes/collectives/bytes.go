package collectives

import (
	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/op"
)

// exchange reports whether o is an exchange in a group (and no message), or a
// slice of what the group has.
func exchange(o *ir.Op) bool {
	return op.Of(o).Class == op.Collective && len(o.Args) == 1 && len(o.Results) == 1 && !o.Attrs.Has("peer")
}

// reshards reports whether o is a collective that brings a tensor into another
// sharding.
func reshards(o *ir.Op) bool {
	return exchange(o) && (op.Has(o, op.SameValue) || op.Reorders(o))
}

// sent is how many bytes a device sends for o.
func sent(m *ir.Module, o *ir.Op) int64 {
	if !exchange(o) {
		return 0
	}
	return collective.Sent(o.Name, int64(o.Args[0].Type.Bytes()), int64(m.Group(over(o))))
}

// whole is t with the sizes of the whole tensor.
func whole(m *ir.Module, t ir.Type) ir.Type {
	t = t.Clone()
	for i := range t.Axes {
		t.Axes[i].Size *= m.Group(t.Axes[i].Mesh)
	}
	return t
}
