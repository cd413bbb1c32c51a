package program

import "ptc/internal/collective"

// Comm is one communication of a device, with the devices that differ from it
// only in their coordinates on the mesh axes Over (major to minor), or with one
// of them. Members of a group issue the same communications, with the same
// scope, in the same order.
type Comm struct {
	// Kind is all_reduce, reduce_scatter, all_gather, all_to_all, permute, send,
	// recv; or shard_slice, which keeps the device's own part and sends nothing;
	// or host_to_device and device_to_host, which copy buffers from and to another memory
	// of the device, each of the first half of Bufs to one of the second; or done, which
	// waits for a communication that was started.
	Kind   string   `cbor:"1,keyasint,omitempty"`
	Over   []string `cbor:"2,keyasint,omitempty"`
	Reduce string   `cbor:"3,keyasint,omitempty"` // sum or max
	DType  string   `cbor:"4,keyasint,omitempty"`
	// Outer and Inner are the view [outer, parts, inner], in elements, of the
	// buffer along the axis that is cut or joined; where nothing is, Outer is 1
	// and Inner the number of elements. DstOuter and DstInner are the view of an
	// all_to_all's destination.
	Outer    int64 `cbor:"5,keyasint,omitempty"`
	Inner    int64 `cbor:"6,keyasint,omitempty"`
	DstOuter int64 `cbor:"7,keyasint,omitempty"`
	DstInner int64 `cbor:"8,keyasint,omitempty"`
	From     []int `cbor:"9,keyasint,omitempty"`  // permute: by coordinate, the member received from, -1 for zeros
	Peer     int   `cbor:"10,keyasint,omitempty"` // send, recv: the other device: its rank; with Over its coordinate over these
	Tag      int   `cbor:"11,keyasint,omitempty"` // send, recv
	// Bytes is the payload of one device: all_reduce the tensor, all_gather the
	// gathered result, reduce_scatter its input, the others what leaves.
	Bytes int64  `cbor:"12,keyasint,omitempty"`
	Why   string `cbor:"13,keyasint,omitempty"` // the rule and source line that asked for it
	// Rest are the views of further tensors that an all_reduce, reduce_scatter
	// or all_gather exchanges together with the first: the buffers are all
	// sources and then all destinations, in one order.
	Rest []View `cbor:"14,keyasint,omitempty"`
	// Start says that the communication, which is no send, is only issued here. Until
	// the later instruction of kind done, whose Of is this one, nobody writes its sources
	// or touches its destinations. Receives of one stream (sender, receiver, tag) are
	// waited for in the order in which they were begun.
	Start bool `cbor:"15,keyasint,omitempty"`
	// Of is, of a done, the number of the instruction that started; in a run, for
	// the same instance, and in a task in the same tick.
	Of int `cbor:"16,keyasint,omitempty"`
	// Each is by how much Tag grows from one microbatch to the next.
	Each int `cbor:"17,keyasint,omitempty"`
}

// View is a tensor as [outer, parts, inner] elements, see [Comm].
type View struct {
	Outer int64 `cbor:"1,keyasint,omitempty"`
	Inner int64 `cbor:"2,keyasint,omitempty"`
}

// MaxOpen is how many collectives of one set of mesh axes, and how many receives of
// one stream, may be started and not done.
const MaxOpen = 32

// InFlight is how many messages of one stream (sender, receiver, tag) can be
// sent and not yet received; a send waits for room among them.
const InFlight = 4

// Moves says whether c copies between memories of the device, with no other
// device.
func (c *Comm) Moves() bool { return collective.Of(c.Kind).Copies }

// message says whether c goes from one device to another.
func (c *Comm) message() bool { return collective.Of(c.Kind).Message }

// Views are those of all tensors that c exchanges.
func (c *Comm) Views() []View {
	return append([]View{{c.Outer, c.Inner}}, c.Rest...)
}
