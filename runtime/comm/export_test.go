package comm

import (
	"slices"

	"ptc/runtime/program"
)

// What only tests ask of a mesh and its groups.

// Axes are the axes as given.
func (m *Mesh) Axes() []program.MeshAxis { return slices.Clone(m.axes) }

// Count is the number of groups: the devices of the mesh over Size.
func (g *Group) Count() int { return len(g.members) }

// Index is which of the Count groups a device is in; the first has device 0.
func (g *Group) Index(rank int) int { return g.index[rank] }
