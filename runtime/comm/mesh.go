package comm

import (
	"fmt"
	"slices"
	"strings"

	"ptc/runtime/program"
)

// Mesh numbers the devices of a plan: row-major over the axes, the last fastest.
type Mesh struct {
	axes []program.MeshAxis
	size int
	step []int // by axis: how far apart neighbours along it are
}

// maxAxes bounds the sets of axes, so that a set fits in an MPI tag.
const maxAxes = 10

// MaxDevices is how many devices a mesh that runs may have; plans may be for more.
const MaxDevices = 1 << 20

// NewMesh makes a mesh of axes with distinct names and sizes of at least 1.
// Without axes it is one device.
func NewMesh(axes []program.MeshAxis) (*Mesh, error) {
	if len(axes) > maxAxes {
		return nil, invalid("the mesh may have at most %d axes, but has %d", maxAxes, len(axes))
	}
	m := &Mesh{axes: slices.Clone(axes), size: 1, step: make([]int, len(axes))}
	for i := len(axes) - 1; i >= 0; i-- {
		a := axes[i]
		if a.Size < 1 {
			return nil, invalid("mesh axis %s has size %d", a.Name, a.Size)
		}
		for _, b := range axes[:i] {
			if a.Name == b.Name {
				return nil, invalid("the mesh has two axes named %s", a.Name)
			}
		}
		m.step[i] = m.size
		m.size *= a.Size
		if m.size > MaxDevices {
			return nil, invalid("the mesh has more than %d devices", MaxDevices)
		}
	}
	return m, nil
}

// Size is the number of devices.
func (m *Mesh) Size() int { return m.size }

func (m *Mesh) String() string {
	parts := make([]string, len(m.axes))
	for i, a := range m.axes {
		parts[i] = fmt.Sprintf("%s=%d", a.Name, a.Size)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Group is a partition of all devices of a mesh: two devices are in one part,
// called a group by everyone, when they differ only along the group's axes.
type Group struct {
	name    string
	set     uint16 // the axes of size above 1, as bits; 0 for no or for all of them
	members [][]int
	index   []int // by rank: which of members
	coord   []int // by rank: where in it
}

// Group is the group over some axes. Members are ordered by their coordinates
// along the axes as listed, the last fastest, which is how a tensor's axis
// sharded over them is cut. Without axes each device is alone.
func (m *Mesh) Group(axes ...string) (*Group, error) {
	g := &Group{name: strings.Join(axes, ", ")}
	offsets := []int{0} // of members from the first
	own := make([]bool, len(m.axes))
	for _, name := range axes {
		i := slices.IndexFunc(m.axes, func(a program.MeshAxis) bool { return a.Name == name })
		switch {
		case i < 0:
			return nil, invalid("the mesh %s has no axis %s", m, name)
		case own[i]:
			return nil, invalid("the group has axis %s twice", name)
		}
		own[i] = true
		wider := make([]int, 0, len(offsets)*m.axes[i].Size)
		for _, o := range offsets {
			for c := range m.axes[i].Size {
				wider = append(wider, o+c*m.step[i])
			}
		}
		offsets = wider
	}
	m.fill(g, own, offsets)
	return g, nil
}

// World is the group of all devices, in the order of their ranks.
func (m *Mesh) World() *Group {
	names := make([]string, len(m.axes))
	for i, a := range m.axes {
		names[i] = a.Name
	}
	g, err := m.Group(names...)
	if err != nil {
		panic("comm: the group of all axes of a mesh: " + err.Error()) // NewMesh excludes it
	}
	g.name = "all devices"
	return g
}

// fill makes the tables of the group with those axes and offsets of members.
func (m *Mesh) fill(g *Group, own []bool, offsets []int) {
	g.index = make([]int, m.size)
	g.coord = make([]int, m.size)
	all := true
	for i, a := range m.axes {
		if a.Size > 1 {
			all = all && own[i]
			if own[i] {
				g.set |= 1 << i
			}
		}
	}
	if all {
		g.set = 0
	}
	for rank := range m.size {
		if !m.origin(rank, own) {
			continue
		}
		members := make([]int, len(offsets))
		for c, o := range offsets {
			members[c] = rank + o
			g.index[rank+o] = len(g.members)
			g.coord[rank+o] = c
		}
		g.members = append(g.members, members)
	}
}

// origin says whether a rank has coordinate 0 along all axes of a group.
func (m *Mesh) origin(rank int, own []bool) bool {
	for i, a := range m.axes {
		if own[i] && rank/m.step[i]%a.Size != 0 {
			return false
		}
	}
	return true
}

// Size is the number of members of each group.
func (g *Group) Size() int { return len(g.members[0]) }

// Members are the ranks in a device's group, by coordinate. The slice is the
// group's own.
func (g *Group) Members(rank int) []int { return g.members[g.index[rank]] }

// Coord is a device's coordinate in its group.
func (g *Group) Coord(rank int) int { return g.coord[rank] }

// Ranks is the number of devices of the mesh that the group was made for.
func (g *Group) Ranks() int { return len(g.index) }

// Set identifies who is in a device's group, whatever the order of the axes: it
// is the same for two groups of a mesh exactly if their members are, and it is
// below 1024. Operations of one set are issued in one order by all members. It is
// 0 for the group of all devices, on every mesh, and for a device alone.
func (g *Group) Set() int { return int(g.set) }

// String is the names of the axes.
func (g *Group) String() string { return g.name }
