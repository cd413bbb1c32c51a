package partition

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"ptc/internal/collective"
	"ptc/internal/wide"
)

// sharding is how a tensor lies on the mesh axes of one reshard, by their
// numbers: those that shard each axis, major to minor, and those over which it is
// partial. Over the other ones it is replicated.
type sharding struct {
	axes    [][]int
	partial uint64
}

// key is a text of its own for each sharding.
func (s sharding) key() string {
	out := binary.LittleEndian.AppendUint64(make([]byte, 0, 32), s.partial)
	for _, a := range s.axes {
		for _, m := range a {
			out = append(out, byte(m))
		}
		out = append(out, 0xff)
	}
	return string(out)
}

func (s sharding) clone() sharding {
	c := sharding{make([][]int, len(s.axes)), s.partial}
	for i, a := range s.axes {
		c.axes[i] = slices.Clone(a)
	}
	return c
}

// replicated reports whether s is replicated over mesh axis m.
func (s sharding) replicated(m int) bool {
	return s.partial&(1<<m) == 0 && !slices.ContainsFunc(s.axes, func(a []int) bool { return slices.Contains(a, m) })
}

// extended is s, axis i sharded further over these mesh axes and no longer partial
// over them.
func (s sharding) extended(i int, over []int) sharding {
	c := s.clone()
	c.axes[i] = append(c.axes[i], over...)
	c.partial &^= bits(over)
	return c
}

// gathered is s, axis i without its minor mesh axes from k on.
func (s sharding) gathered(i, k int) sharding {
	c := s.clone()
	c.axes[i] = c.axes[i][:k]
	return c
}

func bits(over []int) (set uint64) {
	for _, m := range over {
		set |= 1 << m
	}
	return set
}

// step is one collective, and the sharding that it brings about: `axis` is the
// axis that it slices, scatters or gathers, from which an all_to_all goes to
// another.
type step struct {
	kind     string
	over     []int
	axis, to int
	then     sharding
}

// problem is a reshard in the abstract: of a tensor of these sizes, on a mesh of
// these. What stays as it is, is not in it: mesh axes by which an axis begins to
// be sharded both before and after, those over which the tensor is partial or
// replicated both times.
type problem struct {
	mesh     []int    // sizes
	kinds    []string // reductions of those over which the tensor is partial
	sizes    []int    // of the tensor's axes
	from, to sharding
	banned   []string // kinds of collectives not to use
	solid    bool     // axes may not be split
}

func (p *problem) key() string {
	return fmt.Sprint(p.mesh, p.kinds, p.sizes, p.from, p.to, p.banned, p.solid)
}

func (p *problem) parts(over []int) int64 {
	n := int64(1)
	for _, m := range over {
		n *= int64(p.mesh[m])
	}
	return n
}

// local is the size of one device's shard, in units of which the whole tensor has
// a number that makes every cost one of units too.
func (p *problem) local(s sharding) int64 {
	all, devices := int64(1), int64(1)
	for _, n := range p.mesh {
		devices *= int64(n)
	}
	for _, a := range s.axes {
		all *= p.parts(a)
	}
	return devices * devices / all
}

// even reports whether axis i can be sharded over these mesh axes.
func (p *problem) even(i int, over []int) bool { return int64(p.sizes[i])%p.parts(over) == 0 }

// Cost of a plan: what a device sends, then how many collectives send, then how
// many operations there are, then what is sent times how far.
type Cost struct{ Sent, Sends, Ops, Far int64 }

func (c Cost) plus(d Cost) Cost {
	return Cost{c.Sent + d.Sent, c.Sends + d.Sends, c.Ops + d.Ops, c.Far + d.Far}
}

// Compare is negative where c is cheaper.
func (c Cost) Compare(d Cost) int {
	return cmp.Or(cmp.Compare(c.Sent, d.Sent), cmp.Compare(c.Sends, d.Sends), cmp.Compare(c.Ops, d.Ops), cmp.Compare(c.Far, d.Far))
}

// cost of a step ([op.Sent]). Devices that differ on the first mesh axes are the farthest
// apart, as the mesh numbers them: two gathers, or two scatters, send the same in either order,
// and less of it far with the gather over the first axis first, of whose result there is least then.
func (p *problem) cost(s sharding, st step) Cost {
	c := Cost{Sent: collective.Sent(st.kind, p.local(s), p.parts(st.over)), Sends: 1, Ops: 1}
	if st.kind == collective.ShardSlice {
		c.Sends = 0
	}
	if st.kind == collective.Permute && p.placed(s) == p.placed(st.then) {
		c.Sent = 0
	}
	c.Far = wide.Mul(c.Sent, int64(len(p.mesh)-slices.Min(st.over)))
	return c
}

// permute is the least that a permute costs: nothing is sent where only mesh axes of
// one device change place.
func (p *problem) permute(s sharding) Cost {
	if slices.Contains(p.mesh, 1) {
		return Cost{Sends: 1, Ops: 1}
	}
	return Cost{Sent: p.local(s), Sends: 1, Ops: 1}
}

// placed is the key of s without mesh axes of one device: where it is the same,
// every device has the same shard.
func (p *problem) placed(s sharding) string {
	s = s.clone()
	for i, a := range s.axes {
		s.axes[i] = slices.DeleteFunc(a, func(m int) bool { return p.mesh[m] == 1 })
	}
	return s.key()
}

// total is the cost of steps one after the other.
func (p *problem) total(steps []step) (c Cost) {
	s := p.from
	for _, st := range steps {
		c = c.plus(p.cost(s, st))
		s = st.then
	}
	return c
}
