package exec

import (
	"ptc/runtime/comm"
	"ptc/runtime/program"
)

// exchange is a captured communication of a device.
type exchange struct {
	at   int // instruction
	call comm.Call
	do   func(comm.Call) error // Run, or Start or Wait alone
	own  *ownPart              // of a shard_slice, which sends nothing
	move func() error          // of a fetch or store
}

func (x *exchange) run() error {
	if x.own != nil {
		x.own.copy()
		return nil
	}
	if x.move != nil {
		return x.move()
	}
	return x.do(x.call)
}

// ownPart is a device's own part of a tensor along an axis.
type ownPart struct {
	src, dst     []byte
	first        int // byte of src
	piece, every int // bytes: of each contiguous piece, and from one to the next in src
}

func (o *ownPart) copy() {
	for from, to := o.first, 0; to < len(o.dst); from, to = from+o.every, to+o.piece {
		copy(o.dst[to:to+o.piece], o.src[from:])
	}
}

// prepare captures the device's communications.
func (m *Machine) prepare(d *device) error {
	groups := map[string]*comm.Group{}
	for i := range d.prog.Progs {
		p := &d.prog.Progs[i]
		var list []exchange
		started, moving := map[int]comm.Call{}, map[int]*transfer{}
		for j := range p.Instrs {
			in := &p.Instrs[j]
			if in.Comm == nil {
				continue
			}
			if in.Comm.Kind == program.Done && moving[in.Comm.Of] != nil {
				t := moving[in.Comm.Of]
				list = append(list, exchange{at: j, move: func() error { return d.mover.wait(t) }})
				continue
			}
			if in.Comm.Moves() {
				t := newTransfer(d, in)
				x := exchange{at: j, move: t.copy}
				if in.Comm.Start {
					if d.mover == nil {
						d.mover = newMover()
					}
					d.mover.all = append(d.mover.all, t)
					moving[j], x.move = t, func() error { return d.mover.start(t) }
				}
				list = append(list, x)
				continue
			}
			if in.Comm.Kind == program.Done {
				if call := started[in.Comm.Of]; call != nil {
					list = append(list, exchange{at: j, call: call, do: comm.Call.Wait})
				} else {
					list = append(list, exchange{at: j, move: func() error { return nil }}) // done at once
				}
				continue
			}
			x, err := m.exchange(d, in, groups)
			if err != nil {
				return errorf(ReasonBug, err, "instruction %d of program %s cannot be run on rank %d", j, p.Name, d.rank)
			}
			x.at, x.do = j, comm.Call.Run
			if in.Comm.Start && !m.inStep(d, in.Comm) {
				started[j], x.do = x.call, comm.Call.Start
			}
			list = append(list, x)
		}
		d.exchanges = append(d.exchanges, list)
	}
	return nil
}

// inStep reports whether all members of a communication's group are of this
// process and run one program. Such devices do what they start at once: none
// would do the work meanwhile but themselves, and it is cheapest while what they
// send is in their caches. That cannot block what could go on otherwise: members
// come to it in one order, after the same messages with their own neighbours.
func (m *Machine) inStep(d *device, c *program.Comm) bool {
	for i := range m.plan.Parts(c.Over) {
		if other := m.ranks[m.plan.Member(d.rank, c.Over, i)]; other.prog != d.prog || other.comm == nil {
			return false
		}
	}
	return true
}

// exchange captures one communication; Validate has checked it.
func (m *Machine) exchange(d *device, in *program.Instr, groups map[string]*comm.Group) (exchange, error) {
	c := in.Comm
	op := comm.Op{Label: in.Scope, Outer: int(c.Outer), Inner: int(c.Inner), From: c.From, Tag: c.Tag}
	var err error
	if op.DType, err = comm.ParseDType(c.DType); err != nil {
		return exchange{}, err
	}
	n := len(in.Bufs) / 2 // of a message 0
	src, dst := d.buffer(in.Bufs[0]), d.buffer(in.Bufs[n])
	for i, v := range c.Rest {
		op.Rest = append(op.Rest, comm.Tensor{Outer: int(v.Outer), Inner: int(v.Inner), Src: d.buffer(in.Bufs[i+1]), Dst: d.buffer(in.Bufs[n+i+1])})
	}
	switch c.Kind {
	case program.ShardSlice:
		piece := op.Inner * op.DType.Size()
		return exchange{own: &ownPart{src: src, dst: dst, piece: piece,
			first: piece * m.plan.CoordinateOver(d.rank, c.Over), every: piece * m.plan.Parts(c.Over)}}, nil
	case program.AllToAll:
		op.DstOuter, op.DstInner = int(c.DstOuter), int(c.DstInner)
	case program.Send, program.Recv:
		op.Peer = m.plan.PeerOf(d.rank, c)
	}
	if op.Kind, err = comm.ParseKind(c.Kind); err != nil {
		return exchange{}, err
	}
	if c.Reduce == "max" {
		op.Reduce = comm.Max
	}
	switch op.Kind {
	case comm.Send:
		op.Src = src
	case comm.Recv:
		op.Dst = dst
	default:
		op.Src, op.Dst = src, dst
		if op.Group, err = m.group(d, c.Over, groups); err != nil {
			return exchange{}, err
		}
	}
	call, err := d.comm.Prepare(op)
	return exchange{call: call}, err
}

// group finds or makes the group over some axes; a program names few.
func (m *Machine) group(d *device, over []string, groups map[string]*comm.Group) (*comm.Group, error) {
	key := ""
	for _, a := range over {
		key += a + "\x00"
	}
	if g := groups[key]; g != nil {
		return g, nil
	}
	g, err := d.comm.Mesh().Group(over...)
	if err == nil {
		groups[key] = g
	}
	return g, err
}
