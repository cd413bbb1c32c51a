package exec

import (
	"strings"

	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// exchanger readies the communication of a device's programs.
type exchanger struct {
	m      *Machine
	d      *logical
	groups map[string]*comm.Group
}

func (x *exchanger) Serves(m device.Memory) bool { return x.d.comm.Serves(m) }

// Prepare readies one communication; Validate has checked it.
func (x *exchanger) Prepare(prog, instr int, at func(buffer int) device.Range) (device.Exchange, error) {
	in := &x.d.prog.Progs[prog].Instrs[instr]
	op, err := x.operation(in, at)
	if err != nil {
		return device.Exchange{}, err
	}
	call, err := x.d.comm.Prepare(op)
	if err != nil {
		return device.Exchange{}, err
	}
	if q, ok := call.(device.Enqueued); ok {
		x.d.enqueues = true
		return device.Exchange{Enqueued: q}, nil
	}
	return device.Exchange{Call: blocking{call, x.d}, AtOnce: x.inStep(in.Comm)}, nil
}

// Begin connects the device where its transport has it communicate by itself; so
// do Watch and End look after that. Other transports have nothing to do.
func (x *exchanger) Begin() error {
	if q, ok := x.d.comm.(device.Enqueuer); ok {
		return q.Begin()
	}
	return nil
}

// Watch says why what was issued cannot end.
func (x *exchanger) Watch() error {
	if q, ok := x.d.comm.(device.Enqueuer); ok {
		return q.Watch()
	}
	return nil
}

// End disconnects the device.
func (x *exchanger) End() error {
	if q, ok := x.d.comm.(device.Enqueuer); ok {
		return q.End()
	}
	return nil
}

// inStep reports whether all members of a communication's group are of this
// process and run one program.
func (x *exchanger) inStep(c *program.Comm) bool {
	if c.Kind == program.Send || c.Kind == program.Recv {
		return false
	}
	for i := range x.m.plan.Parts(c.Over) {
		if other := x.m.ranks[x.m.plan.Member(x.d.rank, c.Over, i)]; other.prog != x.d.prog || other.comm == nil {
			return false
		}
	}
	return true
}

// operation is an instruction as comm has it.
func (x *exchanger) operation(in *program.Instr, at func(buffer int) device.Range) (comm.Op, error) {
	c := in.Comm
	op := comm.Op{Label: in.Scope, Outer: int(c.Outer), Inner: int(c.Inner), From: c.From, Tag: c.Tag}
	op.DType, _ = dtype.Parse(c.DType) // the plan was validated
	var err error
	if op.Kind, err = comm.ParseKind(c.Kind); err != nil {
		return op, err
	}
	if c.Reduce == "max" {
		op.Reduce = comm.Max
	}
	src, dst := in.Ends()
	if len(src) > 0 {
		op.Src = at(src[0])
	}
	if len(dst) > 0 {
		op.Dst = at(dst[0])
	}
	for i, v := range c.Rest {
		op.Rest = append(op.Rest, comm.Tensor{Outer: int(v.Outer), Inner: int(v.Inner), Src: at(src[i+1]), Dst: at(dst[i+1])})
	}
	switch op.Kind {
	case comm.Send, comm.Recv:
		op.Peer = x.m.plan.PeerOf(x.d.rank, c)
		return op, nil
	case comm.AllToAll:
		op.DstOuter, op.DstInner = int(c.DstOuter), int(c.DstInner)
	}
	op.Group, err = x.group(c.Over)
	return op, err
}

// group finds or makes the group over some axes; a program names few.
func (x *exchanger) group(over []string) (*comm.Group, error) {
	key := strings.Join(over, "\x00")
	if g := x.groups[key]; g != nil {
		return g, nil
	}
	g, err := x.d.comm.Mesh().Group(over...)
	if err == nil {
		x.groups[key] = g
	}
	return g, err
}
