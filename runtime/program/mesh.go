package program

import "slices"

// MeshAxis is one axis of the device mesh.
type MeshAxis struct {
	Name string `cbor:"1,keyasint,omitempty"`
	Size int    `cbor:"2,keyasint,omitempty"`
}

// Mesh is the device mesh, its major axis first.
type Mesh []MeshAxis

// Coordinates is the place of a rank in the mesh, one number for each axis.
// Ranks are row-major, the last axis fastest.
func (m Mesh) Coordinates(rank int) []int {
	at := make([]int, len(m))
	for i := len(m) - 1; i >= 0; i-- {
		at[i] = rank % m[i].Size
		rank /= m[i].Size
	}
	return at
}

// Ranks is the number of logical devices: the product of the mesh's sizes, 1
// without a mesh.
func (m Mesh) Ranks() int {
	n := 1
	for _, a := range m {
		n *= a.Size
	}
	return n
}

// Box is the part [lo, hi) of the whole tensor with these axes that a rank
// holds. An axis sharded over several mesh axes is cut by the first of them,
// each part by the second, and so on.
func (m Mesh) Box(rank int, axes []Axis) (lo, hi []int) {
	at := m.Coordinates(rank)
	lo, hi = make([]int, len(axes)), make([]int, len(axes))
	for i, a := range axes {
		part := 0
		for _, name := range a.Mesh {
			for j, x := range m {
				if x.Name == name {
					part = part*x.Size + at[j]
				}
			}
		}
		lo[i] = part * a.Size
		hi[i] = lo[i] + a.Size
	}
	return lo, hi
}

// Parts is the number of devices in each group over these mesh axes.
func (m Mesh) Parts(over []string) int {
	n := 1
	for _, a := range m {
		if slices.Contains(over, a.Name) {
			n *= a.Size
		}
	}
	return n
}

// Member is the rank of the device that has coordinate at, counted over these
// mesh axes (major to minor), in rank's group.
func (m Mesh) Member(rank int, over []string, at int) int {
	place := m.Coordinates(rank)
	for i := len(over) - 1; i >= 0; i-- {
		j := m.index(over[i])
		place[j] = at % m[j].Size
		at /= m[j].Size
	}
	member := 0
	for i, a := range m {
		member = member*a.Size + place[i]
	}
	return member
}

// CoordinateOver is a rank's coordinate in its group over these mesh axes.
func (m Mesh) CoordinateOver(rank int, over []string) int {
	place, at := m.Coordinates(rank), 0
	for _, name := range over {
		j := m.index(name)
		at = at*m[j].Size + place[j]
	}
	return at
}

// PeerOf is the rank that a send or receive of rank is with.
func (m Mesh) PeerOf(rank int, c *Comm) int {
	if len(c.Over) == 0 {
		return c.Peer
	}
	return m.Member(rank, c.Over, c.Peer)
}

func (m Mesh) index(name string) int {
	return slices.IndexFunc(m, func(a MeshAxis) bool { return a.Name == name })
}
