package sim

import (
	"fmt"
	"slices"
	"strings"

	"ptc/foresight/machine"
	"ptc/internal/collective"
	"ptc/runtime/program"
)

// mostClasses bounds the classes of ranks. A mesh that lies on a cluster at odd angles has more, and is refused.
const mostClasses = 4096

// classes are ranks by what they do: ranks of one class run one program, and their groups and the partners of their
// messages lie alike on the cluster and are of the same classes in turn.
type classes struct {
	plan    *program.Plan
	cluster *machine.Cluster
	device  []int32 // by rank: its number in Plan.Devices
	class   []int32 // by rank
	ranks   []int32 // by class: its first rank
	count   []int   // by class: how many ranks it has
	groups  map[string]*groups
	// exchanges are, by device, one of each kind of exchange of the program that tells ranks apart.
	exchanges [][]*program.Comm
}

// classesOf refines the ranks of a plan, first by program and by apart, numbers that tell single ranks from the others, until
// all ranks of a class see the same around them: colour refinement, as for graphs.
func classesOf(p *program.Plan, c *machine.Cluster, apart func(rank int) int) (*classes, error) {
	x := &classes{plan: p, cluster: c, groups: map[string]*groups{}, device: make([]int32, p.Mesh.Ranks())}
	colours := make([]uint64, len(x.device))
	for i := range p.Devices {
		for _, r := range p.RanksOf(&p.Devices[i]) {
			x.device[r] = int32(i)
			colours[r] = mix(mix(uint64(i)) + uint64(apart(r)))
		}
		x.exchanges = append(x.exchanges, x.exchangesOf(stepOf(&p.Devices[i])))
	}
	for n := 0; ; {
		x.number(colours)
		if len(x.ranks) > mostClasses {
			return nil, fmt.Errorf("the mesh has %d classes of devices on this machine; at most %d can be simulated: give mesh axes sizes that divide the levels %v, innermost first", len(x.ranks), mostClasses, c.Sizes)
		}
		if len(x.ranks) == n {
			return x, nil
		}
		n = len(x.ranks)
		colours = x.refine()
	}
}

// stepOf is the program of a step.
func stepOf(d *program.Device) *program.Program {
	i := slices.IndexFunc(d.Progs, func(p program.Program) bool { return p.Name == "step" })
	if i < 0 {
		return nil
	}
	return &d.Progs[i]
}

// exchangesOf are the exchanges of a program, each group and each peer once.
func (x *classes) exchangesOf(p *program.Program) (out []*program.Comm) {
	seen := map[string]bool{}
	for i := range p.Instrs {
		c := p.Instrs[i].Comm
		if c == nil {
			continue
		}
		s := collective.Of(c.Kind)
		key := strings.Join(c.Over, ",")
		switch {
		case s.Message:
			key = fmt.Sprint(c.Kind, " ", key, " ", c.Peer)
		case s.Exchanges():
			if x.groups[key] == nil {
				x.groups[key] = groupsOf(x.plan.Mesh, c.Over)
				x.groups[key].spread(x.cluster, x.plan.Mesh)
			}
		default:
			continue
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, c)
		}
	}
	return out
}

// group is the groups of a collective.
func (x *classes) group(c *program.Comm) *groups { return x.groups[strings.Join(c.Over, ",")] }

// number gives the classes numbers in the order of their first ranks.
func (x *classes) number(colours []uint64) {
	of := map[uint64]int32{}
	x.class, x.ranks, x.count = make([]int32, len(colours)), nil, nil
	for r, c := range colours {
		i, ok := of[c]
		if !ok {
			i = int32(len(x.ranks))
			of[c] = i
			x.ranks, x.count = append(x.ranks, int32(r)), append(x.count, 0)
		}
		x.class[r] = i
		x.count[i]++
	}
}

// refine is, by rank, its class with what it sees: how its groups lie and which classes their members are of; how far away its
// partners are, and which classes these are of.
func (x *classes) refine() []uint64 {
	members := map[*groups][]uint64{}
	for _, g := range x.groups {
		sums := make([]uint64, len(g.ranks))
		for i, ranks := range g.ranks {
			for _, r := range ranks {
				sums[i] += mix(uint64(x.class[r]) + 1) // in no order
			}
			for _, v := range g.lies[i].Members {
				sums[i] = mix(sums[i] + uint64(v))
			}
			for l, v := range g.lies[i].Units {
				sums[i] = mix(sums[i] + uint64(v)<<32 + uint64(g.lies[i].Sharing[l]))
			}
		}
		members[g] = sums
	}
	out := make([]uint64, len(x.class))
	for r := range out {
		h := mix(uint64(x.class[r]))
		for _, c := range x.exchanges[x.device[r]] {
			if collective.Of(c.Kind).Message {
				peer := x.plan.Mesh.PeerOf(r, c)
				h = mix(h + uint64(x.class[peer])<<8 + uint64(x.cluster.Level(r, peer)+1))
			} else {
				g := x.group(c)
				h = mix(h + members[g][g.of[r]])
			}
		}
		out[r] = h
	}
	return out
}

// mix spreads the bits of x (the finalizer of SplitMix64, Steele, Lea and Flood, 2014), so that sums of mixed numbers
// tell sets apart.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
