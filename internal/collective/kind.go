package collective

import "slices"

// Kind is the name of a kind of communication.
type Kind string

// The kinds. Constants have no type, since operations of the IR and instructions of plans are named by
// strings.
const (
	// Among the devices of a group.
	AllReduce     = "all_reduce"
	ReduceScatter = "reduce_scatter"
	AllGather     = "all_gather"
	AllToAll      = "all_to_all"
	Permute       = "permute"
	Broadcast     = "broadcast"
	Barrier       = "barrier"
	ShardSlice    = "shard_slice" // sends nothing: every device keeps its part of what all have

	// From one device to another.
	Send = "send"
	Recv = "recv"

	// Between memories of one device.
	HostToDevice = "host_to_device"
	DeviceToHost = "device_to_host"

	// Done waits for a communication that was started.
	Done = "done"
)

// Reduction is how the elements of the members are combined.
type Reduction string

// The reductions. The maximum of NaN and anything is NaN.
const (
	Sum = "sum"
	Max = "max"
)

// Known reports whether there is such a reduction.
func (r Reduction) Known() bool { return r == Sum || r == Max }

// Spec says what a kind does. A buffer is counted in slices: the operand of an all-gather is one slice of
// the group's n, its result all of them.
type Spec struct {
	Kind     Kind
	Group    bool // among a group; otherwise between two devices, or none
	Message  bool // from one device to another
	Copies   bool // between memories of one device
	Reduces  bool // combines the elements of all members
	Scatters bool // the operand has the slices of all members, each keeps its own
	Gathers  bool // the result has the slices of all members
	Several  bool // takes several tensors in one exchange
	InPlace  bool // source and destination may be the same bytes, or the member's own slice of the other
	Sends    bool // bytes leave a device
}

var specs = []Spec{
	{Kind: AllReduce, Group: true, Reduces: true, Several: true, InPlace: true, Sends: true},
	{Kind: ReduceScatter, Group: true, Reduces: true, Scatters: true, Several: true, InPlace: true, Sends: true},
	{Kind: AllGather, Group: true, Gathers: true, Several: true, InPlace: true, Sends: true},
	{Kind: AllToAll, Group: true, Scatters: true, Gathers: true, Sends: true},
	{Kind: Permute, Group: true, Sends: true},
	{Kind: Broadcast, Group: true, InPlace: true, Sends: true},
	{Kind: Barrier, Group: true},
	{Kind: ShardSlice, Group: true, Scatters: true},
	{Kind: Send, Message: true, Sends: true},
	{Kind: Recv, Message: true},
	{Kind: HostToDevice, Copies: true},
	{Kind: DeviceToHost, Copies: true},
	{Kind: Done},
}

var byKind = func() map[Kind]*Spec {
	m := map[Kind]*Spec{}
	for i := range specs {
		m[specs[i].Kind] = &specs[i]
	}
	return m
}()

// none is the spec of a name that is no kind.
var none Spec

// Of is the spec of a kind; that of a name which is no kind has no Kind.
func Of[S ~string](kind S) *Spec {
	if s := byKind[Kind(kind)]; s != nil {
		return s
	}
	return &none
}

// Kinds lists the kinds that f accepts, in the order of their names.
func Kinds(f func(*Spec) bool) []string {
	var out []string
	for i := range specs {
		if f(&specs[i]) {
			out = append(out, string(specs[i].Kind))
		}
	}
	slices.Sort(out)
	return out
}

// Exchanges reports whether the members of a group send one another elements.
func (s *Spec) Exchanges() bool { return s.Group && s.Sends }

// Slices is how many slices of the group's n the operand and the result of a kind have.
func (s *Spec) Slices(n int64) (operand, result int64) {
	operand, result = 1, 1
	if s.Scatters {
		operand = n
	}
	if s.Gathers {
		result = n
	}
	return operand, result
}
