package sim

import (
	"slices"

	"ptc/foresight/machine"
	"ptc/runtime/program"
)

// groups are the groups of ranks that differ only in their coordinates on some mesh axes.
type groups struct {
	over  []string
	of    []int32 // by rank: the number of its group
	first []int32 // by group: its first rank
	size  int
	ranks [][]int32 // by group: its ranks, ascending
	lies  []machine.Spread
}

// groupsOf lists the groups over mesh axes, numbered by their first ranks.
func groupsOf(mesh program.Mesh, over []string) *groups {
	n := mesh.Ranks()
	g := &groups{over: over, of: make([]int32, n), size: mesh.Parts(over)}
	number := map[int]int32{}
	for r := range n {
		first := mesh.Member(r, over, 0)
		i, ok := number[first]
		if !ok {
			i = int32(len(g.first))
			number[first] = i
			g.first = append(g.first, int32(first))
			g.ranks = append(g.ranks, make([]int32, 0, g.size))
		}
		g.of[r] = i
		g.ranks[i] = append(g.ranks[i], int32(r))
	}
	return g
}

// spread says how each group lies on a cluster.
func (g *groups) spread(c *machine.Cluster, mesh program.Mesh) {
	var axes []machine.Axis
	for i, stride := len(mesh)-1, 1; i >= 0; i-- {
		if slices.Contains(g.over, mesh[i].Name) {
			axes = append(axes, machine.Axis{Size: mesh[i].Size, Stride: stride})
		}
		stride *= mesh[i].Size
	}
	slices.Reverse(axes)
	of := c.Spreads(axes...)
	for _, r := range g.first {
		g.lies = append(g.lies, of(int(r)))
	}
}
