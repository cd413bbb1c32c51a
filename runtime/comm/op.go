package comm

import (
	"fmt"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/device"
)

// Op is one communication as one device issues it, with all that is known before
// the program runs. Members of a group issue the same Op but for their buffers.
type Op struct {
	Kind   collective.Kind
	Label  string               // where it comes from, such as "blocks.3.mlp"; the same on all members
	Group  *Group               // not of Send and Recv
	DType  dtype.DType          // bool has no sum; its maximum is "or"
	Reduce collective.Reduction // of kinds that reduce; empty is Sum

	// Outer and Inner are the view [outer, parts, inner] in elements; Outer 0 is
	// 1. Where nothing is sliced their product is the number of elements.
	Outer, Inner int
	// DstOuter and DstInner are the view of Dst of a kind that scatters and gathers, with the same
	// product as Outer·Inner; both 0: as Src. With another view a tensor changes
	// the axis along which it is sharded: sliced along the new one, joined along
	// the old one.
	DstOuter, DstInner int

	// Src is read and Dst written. In place, an all-reduce and a broadcast have
	// them the same; with Outer 1, Dst of a reduce-scatter may be, and Src of an
	// all-gather be, the member's own slice of the other buffer. No other overlap.
	// Src of a broadcast is read on the root alone and may be none elsewhere. Both
	// are in memories that the transport serves.
	Src, Dst device.Range

	// Rest are further tensors that are exchanged with the first, where the kind takes
	// several; of the operation's kind, group, dtype and reduction. No two buffers
	// overlap but for those of one tensor.
	Rest []Tensor

	From []int // of Permute: by coordinate, the member that it receives from, or -1 for zeros
	Root int   // of Broadcast: a coordinate
	Peer int   // of Send and Recv: the rank of the other device
	Tag  int   // of Send and Recv: which of the streams of messages between the two, below MaxTag
}

// Tensor is one of several that an operation exchanges: its view and buffers.
type Tensor struct {
	Outer, Inner int
	Src, Dst     device.Range
}

// each calls f with the operation of each tensor alone.
func (o *Op) each(f func(one *Op)) {
	one := *o
	one.Rest = nil
	f(&one)
	for _, t := range o.Rest {
		one.Outer, one.Inner, one.Src, one.Dst = max(t.Outer, 1), t.Inner, t.Src, t.Dst
		one.DstOuter, one.DstInner = one.Outer, one.Inner
		f(&one)
	}
}

// Host is one tensor of an operation as the bytes of this process that it is.
type Host struct {
	Op
	Src, Dst []byte // in place of the operation's
}

// OnHost lists the tensors of an operation for a transport that serves the bytes
// of this process, or says that some are elsewhere.
func (o *Op) OnHost(rank int) ([]Host, error) {
	var out []Host
	var elsewhere error
	o.each(func(one *Op) {
		h := Host{Op: *one}
		var src, dst bool
		h.Src, src = one.Src.HostBytes()
		h.Dst, dst = one.Dst.HostBytes()
		if !src || !dst {
			elsewhere = o.invalid(rank, "its buffers are not in host memory")
		}
		out = append(out, h)
	})
	return out, elsewhere
}

// MaxTag bounds the tags of Send and Recv.
const MaxTag = 1 << 24

// Elems is the number of elements of a member's slice, of the first tensor:
// Outer·Inner.
func (o *Op) Elems() int { return max(o.Outer, 1) * o.Inner }

// Describe is the operation in an error: "all_reduce #12 blocks.3.mlp over tp".
// Operations of a set of axes, and messages of a stream, are counted from 1.
func (o *Op) Describe(seq uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s #%d", o.Kind, seq)
	if o.Label != "" {
		b.WriteString(" " + o.Label)
	}
	switch {
	case o.Kind == collective.Send:
		fmt.Fprintf(&b, " to rank %d", o.Peer)
	case o.Kind == collective.Recv:
		fmt.Fprintf(&b, " from rank %d", o.Peer)
	case o.Group != nil && o.Group.name != "":
		b.WriteString(" over " + o.Group.name)
	}
	return b.String()
}
