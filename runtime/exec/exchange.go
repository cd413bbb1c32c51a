package exec

import (
	"errors"
	"strings"
	"time"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// exchanger readies the communication of a device's programs.
type exchanger struct {
	plan   *program.Plan
	rank   int
	comm   comm.Device
	local  []*program.Device // by rank: of the devices of this process
	groups map[string]*comm.Group

	blocked  time.Duration // in communication, by the host's clock
	enqueues bool          // the device communicates by itself, and the host does not see when
}

func (x *exchanger) Serves(m device.Memory) bool { return x.comm.Serves(m) }

// Prepare readies one communication; Validate has checked it.
func (x *exchanger) Prepare(prog, instr int, at func(buffer int) device.Range) (device.Exchange, error) {
	in := &x.local[x.rank].Progs[prog].Instrs[instr]
	op, err := x.operation(in, at)
	if err != nil {
		return device.Exchange{}, err
	}
	call, err := x.comm.Prepare(op)
	if err != nil {
		return device.Exchange{}, err
	}
	if q, ok := call.(device.Enqueued); ok {
		x.enqueues = true
		return device.Exchange{Enqueued: q}, nil
	}
	return device.Exchange{Call: blocking{call, &x.blocked}, AtOnce: x.inStep(in.Comm)}, nil
}

// Begin connects the device where its transport has it communicate by itself; so
// do Watch and End look after that. Other transports have nothing to do.
func (x *exchanger) Begin() error {
	if q, ok := x.comm.(device.Enqueuer); ok {
		return q.Begin()
	}
	return nil
}

// Watch says why what was issued cannot end.
func (x *exchanger) Watch() error {
	if q, ok := x.comm.(device.Enqueuer); ok {
		return q.Watch()
	}
	return nil
}

// capturer is what a transport has that is captured.
type capturer interface {
	device.Enqueuer
	Captures() error
	Does(op comm.Op) bool
	Capture(ops []device.Enqueued) ([]device.Captured, error)
	Replay(stream uintptr, ops []device.Enqueued, marks []uint32) error
}

// errNotCaptured is of a transport whose operations are the host's.
var errNotCaptured = errors.New("the transport works on the host")

// Captures says why what is exchanged is not captured in graphs, or nil.
func (x *exchanger) Captures() error {
	if q, ok := x.comm.(capturer); ok {
		return q.Captures()
	}
	return errNotCaptured
}

// Enqueues says whether an instruction of any device is done by that device.
func (x *exchanger) Enqueues(in *program.Instr) bool {
	q, ok := x.comm.(capturer)
	if !ok {
		return false
	}
	op, err := x.kind(in)
	return err == nil && q.Does(op)
}

// Capture makes graphs of operations.
func (x *exchanger) Capture(ops []device.Enqueued) ([]device.Captured, error) {
	if q, ok := x.comm.(capturer); ok {
		return q.Capture(ops)
	}
	return nil, errNotCaptured
}

// Replay says that a graph with operations is about to be launched.
func (x *exchanger) Replay(stream uintptr, ops []device.Enqueued, marks []uint32) error {
	if q, ok := x.comm.(capturer); ok {
		return q.Replay(stream, ops, marks)
	}
	return errNotCaptured
}

// Allocate gives memory of the transport, where it has any.
func (x *exchanger) Allocate(bytes int64) (uint64, func() error, error) {
	if q, ok := x.comm.(device.Allocator); ok {
		return q.Allocate(bytes)
	}
	return 0, nil, nil
}

// End disconnects the device.
func (x *exchanger) End() error {
	if q, ok := x.comm.(device.Enqueuer); ok {
		return q.End()
	}
	return nil
}

// inStep reports whether all members of a communication's group are of this
// process and run one program.
func (x *exchanger) inStep(c *program.Comm) bool {
	if c.Kind == collective.Send || c.Kind == collective.Recv {
		return false
	}
	for i := range x.plan.Mesh.Parts(c.Over) {
		if x.local[x.plan.Mesh.Member(x.rank, c.Over, i)] != x.local[x.rank] {
			return false
		}
	}
	return true
}

// operation is an instruction as comm has it.
func (x *exchanger) operation(in *program.Instr, at func(buffer int) device.Range) (comm.Op, error) {
	c := in.Comm
	op, err := x.kind(in)
	if err != nil {
		return op, err
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
	op.DstOuter, op.DstInner = int(c.DstOuter), int(c.DstInner)
	if collective.Of(op.Kind).Message {
		op.Peer = x.plan.Mesh.PeerOf(x.rank, c)
	}
	return op, nil
}

// kind is what of an instruction is the same for all who take part in it.
func (x *exchanger) kind(in *program.Instr) (comm.Op, error) {
	c := in.Comm
	op := comm.Op{Kind: collective.Kind(c.Kind), Reduce: collective.Reduction(c.Reduce), Label: in.Scope, Outer: int(c.Outer), Inner: int(c.Inner), From: c.From, Tag: c.Tag}
	op.DType, _ = dtype.Parse(c.DType) // the plan was validated
	if collective.Of(op.Kind).Message {
		return op, nil
	}
	var err error
	op.Group, err = x.group(c.Over)
	return op, err
}

// group finds or makes the group over some axes; a program names few.
func (x *exchanger) group(over []string) (*comm.Group, error) {
	key := strings.Join(over, "\x00")
	if g := x.groups[key]; g != nil {
		return g, nil
	}
	g, err := x.comm.Mesh().Group(over...)
	if err == nil {
		x.groups[key] = g
	}
	return g, err
}

// blocking counts how long its device is blocked in a communication: it waits for the
// others there, and for what they exchange. Who is late has others wait, and waits least.
type blocking struct {
	device.Call
	blocked *time.Duration
}

func (b blocking) Run() error {
	begin := time.Now()
	err := b.Call.Run()
	*b.blocked += time.Since(begin)
	return err
}

func (b blocking) Wait() error {
	begin := time.Now()
	err := b.Call.Wait()
	*b.blocked += time.Since(begin)
	return err
}
