package cost

import (
	"math/bits"

	"ptc/foresight/machine"
	"ptc/internal/collective"
)

// link is the rate and the latency of a level under one protocol.
type link struct {
	alone   rate // bytes/s of a device whose neighbours send nothing out of their unit
	shared  rate // bytes/s of a device where all devices of the unit send out of it
	latency machine.PS
	reduces bool
	memory  bool // devices exchange through memory that they share
}

// protocol is a way of a communication library to send: quick for few bytes, or fast for many.
type protocol struct {
	name  string
	start machine.PS // of a collective that moves nothing
	links []link     // by level
}

func protocolOf(m *machine.Machine, name string) protocol {
	p := protocol{name: name, start: machine.Picoseconds(m.Device.Start[name].Value)}
	for i := range m.Levels {
		l := &m.Levels[i]
		alone := rateOf(l.Link, l.Share[name].Value)
		p.links = append(p.links, link{
			alone: alone, shared: rate(float64(alone) / max(l.Oversubscription.Value, 1)),
			latency: machine.Picoseconds(l.Latency[name].Value), reduces: l.Reduces, memory: l.Memory,
		})
	}
	return p
}

// rate is the bytes/s of each of so many devices of a unit with span devices that all send out of it.
func (l *link) rate(senders, span int64) rate {
	return min(l.alone, rate(int64(l.shared)*span/max(senders, 1)))
}

// Exchange is how long devices exchange, and how long that keeps their links busy.
type Exchange struct {
	Time    machine.PS   // from the moment when all devices have come to it
	Latency machine.PS   // of Time, before and between the bytes
	Use     []machine.PS // by level: how long one device's link is busy
	By      string       // the algorithm and the protocol
}

// Part is n of m bytes of an exchange, with as large a share of its latency.
func (x Exchange) Part(n, m int64) Exchange {
	share := func(t machine.PS) machine.PS { return machine.PS(ceilDiv(int64(t), n, max(m, 1))) }
	part := Exchange{Time: share(x.Time), Latency: share(x.Latency), By: x.By}
	for _, t := range x.Use {
		part.Use = append(part.Use, share(t))
	}
	return part
}

// algorithm is a way to do a collective.
type algorithm struct {
	name  string
	kinds func(s *collective.Spec) bool
	// steps are messages of the longest chain over links of level l; bytes are what one device sends over them.
	steps func(c *call, l int) int64
	bytes func(c *call, l int) int64
}

// call is a collective of a group: sent is what a device sends by the algorithms that send the fewest bytes.
type call struct {
	spec *collective.Spec
	machine.Spread
	payload, sent int64
}

// below is how many devices of the group stand in one unit of the level below l.
func (c *call) below(l int) int64 {
	if l == 0 {
		return 1
	}
	return int64(max(c.Members[l-1], 1))
}

// units is how many units of the level below l the group has in all.
func (c *call) units(l int) int64 {
	if l == 0 {
		return int64(c.Size)
	}
	return int64(c.Units[l-1])
}

// twice is 2 for a reduction whose result everyone gets, which goes through the group twice.
func (c *call) twice() int64 {
	if c.spec.Reduces && !c.spec.Scatters {
		return 2
	}
	return 1
}

// algorithms are the ways to do collectives; the fastest one is taken, the first of equal ones. To add one, add a row.
var algorithms = []algorithm{
	{ // each device passes a slice on to the next one; in a unit, each device's link takes its part of what leaves the unit
		name: "ring", kinds: func(s *collective.Spec) bool { return s.Reduces || s.Gathers && !s.Scatters },
		steps: func(c *call, l int) int64 { return c.twice() * (c.units(l) - int64(c.Units[l])) },
		bytes: func(c *call, l int) int64 { return blocks(c.sent, c.below(l)) },
	},
	{ // up and down a binary tree, in pieces, so that each device sends the tensor once in each direction
		name: "tree", kinds: func(s *collective.Spec) bool { return s.Reduces && !s.Scatters },
		steps: func(c *call, l int) int64 { return 2 * log2(blocks(c.units(l), int64(c.Units[l]))) },
		bytes: func(c *call, l int) int64 { return blocks(2*c.payload, c.below(l)) },
	},
	{ // every device sends to every other one
		name: "direct", kinds: func(s *collective.Spec) bool { return s.Scatters && s.Gathers },
		steps: func(c *call, l int) int64 { return 1 },
		bytes: func(c *call, l int) int64 {
			n, inside := int64(c.Size), c.below(l)
			far := n - inside // peers that are reached over this level, or further out
			if l == 0 {
				far = int64(c.Members[0]) - 1 // devices of one unit have links of their own
			}
			return ceilDiv(c.sent, far, max(n-1, 1))
		},
	},
	{ // from each device to one other, at the far end of the group
		name: "message", kinds: func(s *collective.Spec) bool { return s.Sends && !s.Reduces && !s.Gathers && !s.Scatters },
		steps: func(c *call, l int) int64 { return one(l == c.Outer) },
		bytes: func(c *call, l int) int64 { return c.sent * one(l == c.Outer || l > 0) },
	},
}

// Collective is the fastest way to exchange a payload, as plans count it (collective.Payload), among a group.
func (m *Model) Collective(kind string, s machine.Spread, payload int64) Exchange {
	spec := collective.Of(kind)
	if s.Outer < 0 || !spec.Group || !spec.Sends {
		return Exchange{Use: make([]machine.PS, len(m.Levels))}
	}
	c := &call{spec: spec, Spread: s, payload: payload, sent: collective.SentOf(kind, payload, int64(s.Size))}
	best := Exchange{Time: -1}
	for i := range algorithms {
		for j := range m.protocols {
			if a := &algorithms[i]; a.kinds(spec) {
				if x := m.by(a, &m.protocols[j], c); best.Time < 0 || x.Time < best.Time {
					best = x
				}
			}
		}
	}
	return best
}

// by is the cost of an algorithm: latencies follow one another, and levels carry bytes at the same time.
func (m *Model) by(a *algorithm, p *protocol, c *call) Exchange {
	x := Exchange{By: a.name + " " + p.name, Latency: p.start, Use: make([]machine.PS, len(m.Levels))}
	most := machine.PS(0)
	for l := 0; l <= c.Outer; l++ {
		k := &p.links[l]
		if c.units(l) == int64(c.Units[l]) {
			continue // no two devices of the group are joined by this level
		}
		steps, bytes := a.steps(c, l), a.bytes(c, l)
		if k.memory {
			steps, bytes = c.units(l)/max(int64(c.Units[l]), 1), c.touched(l)
		}
		x.Latency += k.latency * machine.PS(steps)
		x.Use[l] = m.crowded(k, k.rate(m.senders(c, l), int64(m.Span(l-1))).time(k.reduced(c, l, bytes)))
		most = max(most, x.Use[l])
	}
	x.Time = x.Latency + most
	return x
}

// touched is what a device reads and writes of an exchange through shared memory: a device adds up its part of the result from
// the operands of all members and writes it to each.
func (c *call) touched(l int) int64 {
	switch p := blocks(c.payload, c.below(l)); {
	case c.spec.Reduces && c.spec.Scatters:
		return p + blocks(p, int64(c.Size))
	default:
		return 2 * p
	}
}

// crowded is how long a device moves bytes that take t on a processor of its own, while every device of the host moves as many.
func (m *Model) crowded(k *link, t machine.PS) machine.PS {
	if n := m.Sharing; k.memory && n.Devices > n.Capacity && n.Capacity > 0 {
		return machine.PS(ceilDiv(int64(t), n.Devices, n.Capacity))
	}
	return t
}

// reduced is what a device sends over a level whose switches add up what they receive: of an all-reduce, its
// operand once instead of twice.
func (k *link) reduced(c *call, l int, bytes int64) int64 {
	if k.reduces && c.twice() == 2 {
		return min(bytes, blocks(c.payload, c.below(l)))
	}
	return bytes
}

// senders is how many devices of a unit below level l send out of it at the same time, as all groups do the same.
func (m *Model) senders(c *call, l int) int64 {
	if l == 0 {
		return 1
	}
	return min(int64(m.Span(l-1)), c.below(l)*int64(max(c.Sharing[l-1], 1)))
}

// Message is how long a message between two ranks takes, while their neighbours send as much.
func (m *Model) Message(from, to int, bytes int64) Exchange {
	x := Exchange{By: "message", Use: make([]machine.PS, len(m.Levels))}
	l := m.Level(from, to)
	if l < 0 {
		return x
	}
	x.Time = -1
	for i := range m.protocols {
		p := &m.protocols[i]
		k := &p.links[l]
		moved := k.shared.time(bytes)
		if k.memory {
			moved = m.crowded(k, k.shared.time(2*bytes))
		}
		if t := p.start + k.latency + moved; x.Time < 0 || t < x.Time {
			x.Time, x.Latency, x.Use[l] = t, p.start+k.latency, moved
		}
	}
	return x
}

// log2 is the logarithm of n to the base 2, rounded up.
func log2(n int64) int64 { return int64(bits.Len64(uint64(max(n, 1) - 1))) }

// one is 1 where a condition holds, else 0.
func one(holds bool) int64 {
	if holds {
		return 1
	}
	return 0
}
