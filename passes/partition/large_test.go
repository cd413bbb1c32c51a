package partition

import (
	"fmt"
	"testing"

	"ptc/internal/collective"
	"ptc/ir"
)

// TestCostsOfLargeMeshes: costs are the closed forms up to the largest mesh and tensors of
// 2^52 elements, where a product of bytes and devices takes more than 64 bits.
func TestCostsOfLargeMeshes(t *testing.T) {
	for _, sizes := range [][2]int{{2, 2}, {512, 8}, {6400, 16}, {1 << 12, 1 << 12}, {1 << 23, 2}} {
		m := &ir.Module{Mesh: []ir.MeshAxis{{Name: "x", Size: sizes[0]}, {Name: "y", Size: sizes[1]}}}
		n := int64(sizes[0] * sizes[1])
		for _, elems := range []int{1 << 26, 1 << 36, 1 << 52} {
			elems -= elems % int(n)
			of := func(mesh []string, partial ...string) ir.Type {
				t := ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "a", Size: elems, Mesh: mesh}}}
				for _, m := range partial {
					t.Partial = append(t.Partial, ir.Partial{Mesh: m, Reduce: "sum"})
				}
				return t
			}
			shard := 4 * int64(elems) / n
			both := []string{"x", "y"}
			for what, c := range map[string]struct {
				from, to ir.Type
				sent     int64
			}{
				collective.AllGather:     {of(both), of(nil), shard * (n - 1)},
				collective.ReduceScatter: {of(nil, both...), of(both), shard * (n - 1)},
				collective.AllReduce:     {of(nil, both...), of(nil), 2 * shard * (n - 1)},
				collective.ShardSlice:    {of(nil), of(both), 0},
			} {
				t.Run(fmt.Sprint(n, " devices/", elems, " elements/", what), func(t *testing.T) {
					if got := NewPlanner(m).Plan(c.from, c.to, nil).Cost().Sent; got != c.sent {
						t.Errorf("%d bytes, want %d", got, c.sent)
					}
				})
			}
		}
	}
}
