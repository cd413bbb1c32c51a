package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptc/backend/tile/schedule"
	"ptc/foresight/cost"
	"ptc/foresight/machine"
	"ptc/internal/collective"
	"ptc/internal/wide"
	"ptc/runtime/program"
)

// Job is what the devices of a cluster do in one step.
type Job struct {
	Cluster *machine.Cluster
	Classes []Class
	Causes  []string // names, by number
	Kernels []Kernel // of the plan, in its order
	groups  int      // of several classes
	sharing cost.Sharing
}

// Kernel is the time of a kernel of the plan: of one instance, and of a launch of any number of them.
type Kernel struct{ Time, Launch machine.PS }

// Class is what a class of ranks does. Rank is the one that stands for all.
type Class struct {
	Rank, Ranks int
	Device      int // number in Plan.Devices
	Lines       []Line
	tasks       []task
	turns       []turn
}

// Turns is how many turns of tasks a step of the class has; 1 without tasks.
func (c *Class) Turns() int { return len(c.turns) }

// turn is one time that a task is issued: posted are the turns, this one or the next, whose receives are posted first.
type turn struct {
	task      int32
	micro     int32
	first     bool // of its task
	own, next bool
}

// task is what a class does in one turn.
type task struct {
	first, rest []event // in its first turn, and in others; the same slice where these do not differ
	posted      []event // receives that are posted at the head of the turn before
	handles     int     // exchanges that are started in a turn and waited for
}

// kind is what happens at an event.
type kind uint8

const (
	nothing  kind = iota // the end of a task
	blocking             // an exchange, a receive or a copy that the class waits for
	started              // one that it does not wait for
	done                 // the wait for a started one
)

// event is work of the compute stream, and then an exchange, or the wait for one.
type event struct {
	work   machine.PS
	causes []part // of work
	kind   kind
	what   *exchange // nil for done
	handle int32     // of started and done, by its turn; −1 for what nobody waits for
}

// part is the time of a cause.
type part struct {
	cause int32
	time  machine.PS
}

// stream is where exchanges of a class follow one another.
type stream uint8

const (
	collectives stream = iota // in the order of the program, as a communication library's
	copies                    // between memories of the device
	messages                  // each by itself
)

// exchange is a collective, a message or a copy of one class: what is the same every time that it is issued.
type exchange struct {
	cost.Exchange
	stream  stream
	cause   int32
	classes []int32 // that take part, ascending; of a message the sender and the receiver
	group   int32   // number of the group in the job, of a collective of several classes
	send    bool
	tag     int
	each    int
	// demand is, by resource and in parts of full, how much of it the exchange uses when it is alone: of the first of its
	// classes, and of the others.
	demand [2][]int64
	busy   int64 // in parts of full: how many of the processors it keeps busy
}

// full is all of a resource.
const full = 1 << 20

// Options of a job.
type Options struct {
	// Slow are ranks whose kernels take so many times as long; the key −1 is all of them.
	Slow map[int]float64
	// Blocking says that a device does nothing else while it sends a message.
	Blocking bool
	// Narrow says that activations between kernels have 16 bits, where the plan has 32.
	Narrow bool
	// Autograd says that the software differentiates one operation after the other: a backward kernel reads what the forward
	// kernel read, and computes anew what that one could have kept; and slices are views, not kernels.
	Autograd bool
	// FlatGradients says that gradients lie in one buffer, which one collective over a group reduces.
	FlatGradients bool
	// Profiled says that times are sums of what a profiler of one device measured and of collectives, so that the host is no further
	// ahead after a collective than before.
	Profiled bool
	// Again says that a block whose activations are computed again is computed to its end, though the backward pass does not
	// read its last results.
	Again bool
	// MessageRate is the bytes/s of messages between tasks of microbatches; 0: that of their links.
	MessageRate float64
	// NarrowGradients says that gradients are added up across devices in 16 bits, where the plan has 32.
	NarrowGradients bool
	// UpdateAtOnce says that the host launches what is once a step, such as the optimizer, for many tensors at a time.
	UpdateAtOnce bool
}

// builder makes the classes of a job.
type builder struct {
	*Job
	model   *cost.Model
	plan    *program.Plan
	who     *classes
	kernels []kernelCost
	options Options
	cause   map[string]int32
	group   map[string]int32
	work    Work
}

// kernelCost is the time of a kernel of the plan without its launch, and its cause.
type kernelCost struct {
	time  machine.PS
	cause int32
	bound cost.Bound
	none  bool // no kernel in the software that runs the plan
}

// Work is what each kernel of a plan computes: it depends on the machine's kind of device, and on none of its rates.
type Work [][]cost.Part

// WorkOf reads the kernels of a plan. Their tiles are those of the plan's own schedules, if it was compiled with some for the
// machine's target.
func WorkOf(p *program.Plan, m *cost.Model) (Work, error) {
	given, err := schedulesOf(p, m.Device.Target)
	if err != nil {
		return nil, err
	}
	out := make(Work, len(p.Kernels))
	for i := range p.Kernels {
		k := &p.Kernels[i]
		if out[i], err = m.PartsOf(k.Name, k.IR, given); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// schedulesOf are the schedules that the plan was compiled with for a target; nil if there are none.
func schedulesOf(p *program.Plan, target string) (*schedule.Table, error) {
	if len(p.Schedules) == 0 || p.Target != target {
		return nil, nil
	}
	t := schedule.NewTable(p.Target)
	for _, x := range p.Schedules {
		s, err := schedule.Parse(x.Value)
		if err != nil {
			return nil, fmt.Errorf("the schedule of kernel %.40s of the plan: %w", x.Key, err)
		}
		t.Set(x.Key, s, "")
	}
	return t, nil
}

// New is the job of a plan, whose kernels do this work, on a cluster. The error says why the plan does not fit the cluster.
func New(p *program.Plan, work Work, m *cost.Model, o Options) (*Job, error) {
	b, err := newBuilder(p, work, m, o)
	if err != nil {
		return nil, err
	}
	for i, r := range b.who.ranks {
		if err := b.class(i, int(r)); err != nil {
			return nil, err
		}
	}
	b.groups = len(b.group)
	return b.Job, nil
}

// newBuilder finds the classes of a plan's ranks, and the times of its kernels.
func newBuilder(p *program.Plan, work Work, m *cost.Model, o Options) (*builder, error) {
	for i := range p.Devices {
		if stepOf(&p.Devices[i]) == nil {
			return nil, errors.New("the plan has no training step: it was compiled for ptc sample")
		}
	}
	c := m.Cluster
	m = m.Among(p.Mesh.Ranks())
	if n, have := p.Mesh.Ranks(), c.Devices(); n > have {
		return nil, fmt.Errorf("the plan is for %d devices; the machine has %d", n, have)
	}
	who, err := classesOf(p, c, func(rank int) int {
		if _, ok := o.Slow[rank]; ok {
			return rank + 1
		}
		return 0
	})
	if err != nil {
		return nil, err
	}
	b := &builder{
		Job: &Job{Cluster: c, Causes: []string{"wait", "bubble", "copy", "host"}, sharing: m.Sharing}, model: m, plan: p, who: who, options: o,
		cause: map[string]int32{}, group: map[string]int32{},
	}
	for i, name := range b.Causes {
		b.cause[name] = int32(i)
	}
	as := o.eager(p, work)
	b.work = as.work
	for i := range p.Kernels {
		t, bound := m.Kernel(as.work[i])
		t = m.Part(t, p.Kernels[i].Tasks)
		b.kernels = append(b.kernels, kernelCost{t, b.causeOf("compute." + p.Kernels[i].Class), bound, as.none[i]})
		b.Kernels = append(b.Kernels, Kernel{t, m.Launch()})
	}
	return b, nil
}

// The causes that every job has.
const (
	causeWait int32 = iota
	causeBubble
	causeCopy
	causeHost
)

// commPrefix begins the names of causes that are exchanges.
const commPrefix = "comm."

// causeOf is the number of a cause by its name.
func (b *builder) causeOf(name string) int32 {
	i, ok := b.cause[name]
	if !ok {
		i = int32(len(b.Causes))
		b.Causes = append(b.Causes, name)
		b.cause[name] = i
	}
	return i
}

// exchangeOf is a communication of a class's representative; one without cost, such as that of a group of one, is nil. A part of a
// collective whose payload is together has its share of the time.
func (b *builder) exchangeOf(class, rank int, in *program.Instr, together int64) *exchange {
	c := in.Comm
	s := collective.Of(c.Kind)
	x := &exchange{cause: b.commCause(c), tag: c.Tag, each: c.Each}
	switch {
	case s.Message:
		peer := b.plan.Mesh.PeerOf(rank, c)
		x.stream, x.send, x.classes = messages, s.Sends, []int32{int32(class), b.who.class[peer]}
		if !x.send {
			x.classes[0], x.classes[1] = x.classes[1], x.classes[0]
		}
		x.Exchange = b.model.Message(rank, peer, c.Bytes)
	case s.Copies:
		x.stream, x.cause, x.classes = copies, causeCopy, []int32{int32(class)}
		x.Exchange = cost.Exchange{Time: b.model.Copy(c.Bytes, b.onDisk(rank, in)), By: "copy"}
	default:
		g := b.who.group(c)
		i := g.of[rank]
		if own := b.payload(c); together > own {
			x.Exchange = b.model.Collective(c.Kind, g.lies[i], together).Part(own, together)
		} else {
			x.Exchange = b.model.Collective(c.Kind, g.lies[i], own)
		}
		x.classes = b.membersOf(g.ranks[i])
		x.busy = int64(float64(full * min(b.model.Device.Occupies.Value/float64(max(b.model.Device.Processors, 1)), 0.9)))
		if len(x.classes) > 1 {
			x.group = b.groupOf(c, x.classes)
		}
	}
	if x.Time == 0 && len(x.classes) == 1 {
		return nil
	}
	x.demand = b.demand(x, s)
	return x
}

// payload is the bytes of a collective.
func (b *builder) payload(c *program.Comm) int64 {
	if b.options.NarrowGradients && c.DType == "f32" && c.Reduce == "sum" && c.Bytes > littleSum {
		return c.Bytes / 2
	}
	return c.Bytes
}

// littleSum is how many bytes sums of numbers have at most that are no gradients: losses, norms, statistics of a few rows.
const littleSum = 1 << 10

// onDisk reports whether a copy is from or to a disk.
func (b *builder) onDisk(rank int, in *program.Instr) bool {
	buffers := b.plan.Devices[b.who.device[rank]].Buffers
	return slices.ContainsFunc(in.Bufs, func(i int) bool { return buffers[i].Memory == program.Disk })
}

// commCause is the cause of the time of a communication: the mesh axes that it is over, as the layout names them.
func (b *builder) commCause(c *program.Comm) int32 {
	return b.causeOf(commPrefix + strings.Join(b.plan.DeclaredOver(c.Over), "+"))
}

// membersOf are the classes of ranks, each once, ascending.
func (b *builder) membersOf(ranks []int32) []int32 {
	set := map[int32]bool{}
	for _, r := range ranks {
		set[b.who.class[r]] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// groupOf numbers the groups of several classes: classes that meet over the same axes.
func (b *builder) groupOf(c *program.Comm, members []int32) int32 {
	key := fmt.Sprint(c.Over, members)
	i, ok := b.group[key]
	if !ok {
		i = int32(len(b.group))
		b.group[key] = i
	}
	return i
}

// demand is how much of each resource an exchange uses when it is alone. Resources are, of each level, the links out of a device
// and into it; then the link from its host, and the one to it.
func (b *builder) demand(x *exchange, s *collective.Spec) (d [2][]int64) {
	levels := len(b.Cluster.Levels)
	use := func(out, in bool) []int64 {
		d := make([]int64, 2*levels+2)
		for l, t := range x.Use {
			part := wide.MulDiv(int64(t), full, int64(max(x.Time-x.Latency, 1)))
			if out {
				d[2*l] = part
			}
			if in {
				d[2*l+1] = part
			}
		}
		return d
	}
	switch {
	case x.stream == copies:
		d[0] = use(false, false)
		to := 2*levels + 1
		if s.Kind == collective.HostToDevice {
			to = 2 * levels
		}
		d[0][to] = full
	case x.stream == messages:
		d[0], d[1] = use(true, false), use(false, true)
	default:
		d[0] = use(true, true)
		d[1] = d[0]
	}
	return d
}
