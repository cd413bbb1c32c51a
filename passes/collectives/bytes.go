package collectives

import (
	"ptc/ir"
	"ptc/ir/op"
)

// collective reports whether o is an exchange in a group (and no message), or a
// slice of what the group has.
func collective(o *ir.Op) bool {
	return op.Of(o).Class == op.Collective && len(o.Args) == 1 && len(o.Results) == 1 && !o.Attrs.Has("peer")
}

// Parts is the number of devices that differ in these mesh axes alone.
func Parts(m *ir.Module, over []string) int64 {
	n := int64(1)
	for _, a := range over {
		n *= int64(m.MeshSize(a))
	}
	return n
}

// Sent is how many bytes a device sends for o, by algorithms that send the
// fewest: of a group of n and a whole of S bytes (n−1)/n · S for reduce_scatter,
// all_gather and all_to_all, and twice that for all_reduce, which is the first
// two. Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations" (2009), theorem 1; Thakur, Rabenseifner, Gropp, "Optimization of
// collective communication operations in MPICH" (2005), section 4.
func Sent(m *ir.Module, o *ir.Op) int64 {
	if !collective(o) {
		return 0
	}
	in := int64(o.Args[0].Type.Bytes())
	n := Parts(m, o.Attrs.Names("over"))
	switch {
	case !op.Has(o, op.Exchanges):
		return 0
	case op.Has(o, op.Scatters):
		return in * (n - 1) / n
	case op.Has(o, op.Gathers):
		return in * (n - 1)
	case op.Has(o, op.Reduces):
		return 2 * in * (n - 1) / n
	}
	return in // to one device
}
