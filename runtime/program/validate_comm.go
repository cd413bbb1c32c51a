package program

import (
	"fmt"
	"slices"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/internal/ranges"
)

// maxTag bounds the tags of messages: those of transports end at 2^24, and the
// last are the runtime's own.
const maxTag = 1<<24 - 16

// maxTogether bounds the further tensors of a communication, whose buffers are
// compared with one another.
const maxTogether = 1<<16 - 1

// commCheck checks communications of a device against the mesh and their buffers.
type commCheck struct {
	plan   *Plan
	device *Device
}

// check checks one of them.
func (x commCheck) check(in *Instr, at where) error {
	d := x.device
	c := in.Comm
	if c.Kind == collective.Done {
		return validateDone(in)
	}
	switch {
	case in.NoWait:
		return fmt.Errorf("%s does not wait", c.Kind)
	case in.Kernel != 0:
		return fmt.Errorf("%s is a call of kernel %d, too", c.Kind, in.Kernel)
	case c.Of != 0:
		return fmt.Errorf("%s of another instruction", c.Kind)
	case c.Bytes < 0:
		return fmt.Errorf("%s of %d bytes", c.Kind, c.Bytes)
	case len(c.Why) > maxName:
		return fmt.Errorf("%s with a reason that is too long", c.Kind)
	}
	if c.Moves() {
		return d.validateTransfer(in)
	}
	parts, err := x.group(c, at.micros)
	if err != nil {
		return err
	}
	if err := c.validateKind(parts); err != nil {
		return err
	}
	return d.validateView(in, int64(parts))
}

// validateDone checks that a done says nothing but for what it waits.
func validateDone(in *Instr) error {
	c := in.Comm
	if in.NoWait || in.Kernel != 0 || len(in.Bufs) > 0 || c.Of < 0 || len(c.Over) > 0 || c.Reduce != "" || c.DType != "" || c.Start || len(c.Rest) > 0 ||
		c.Outer != 0 || c.Inner != 0 || c.DstOuter != 0 || c.DstInner != 0 || len(c.From) > 0 || c.Peer != 0 || c.Tag != 0 || c.Each != 0 || c.Bytes != 0 || len(c.Why) > maxName {
		return fmt.Errorf("done with more than what it waits for")
	}
	return nil
}

// group checks who takes part, for so many microbatches, and gives the size of
// the group.
func (x commCheck) group(c *Comm, micros int) (parts int, err error) {
	p := x.plan
	p2p := c.message()
	for i, name := range c.Over {
		if p.Mesh.index(name) < 0 || slices.Contains(c.Over[:i], name) {
			return 0, fmt.Errorf("%s over %q, which the mesh does not have or the list has twice", c.Kind, name)
		}
	}
	parts = p.Mesh.Parts(c.Over)
	switch {
	case len(c.Over) == 0 && !p2p:
		return 0, fmt.Errorf("%s over no mesh axis", c.Kind)
	case c.Kind == collective.Send && c.Start:
		return 0, fmt.Errorf("%s that is started apart", c.Kind)
	case !p2p && (c.Peer != 0 || c.Tag != 0 || c.Each != 0):
		return 0, fmt.Errorf("%s with a peer or a tag", c.Kind)
	case !p2p:
		return parts, nil
	case c.Tag < 0 || c.Each < 0 || micros == 0 && c.Each != 0:
		return 0, fmt.Errorf("%s with tag %d, and %d more for the next microbatch", c.Kind, c.Tag, c.Each)
	case c.Tag >= maxTag || c.Each >= maxTag:
		return 0, within(CountLimit, "%d messages in a step", int64(max(c.Tag, c.Each))+1, maxTag)
	case c.Each > 0 && c.Tag+c.Each*(micros-1) >= maxTag:
		return 0, within(CountLimit, "%d messages in a step", int64(c.Tag+c.Each*(micros-1))+1, maxTag)
	case c.Peer < 0 || len(c.Over) > 0 && c.Peer >= parts || c.Peer >= p.Mesh.Ranks():
		return 0, fmt.Errorf("%s with %d, which is none of the devices", c.Kind, c.Peer)
	}
	if len(c.Over) == 0 && p.HasRank(x.device, c.Peer) || len(c.Over) > 0 && x.meetsItself(c.Over, c.Peer) {
		return 0, fmt.Errorf("%s of a rank with itself", c.Kind)
	}
	return 1, nil
}

// meetsItself says whether some rank that runs the device has coordinate peer in its group
// over these mesh axes.
func (x commCheck) meetsItself(over []string, peer int) bool {
	p, d := x.plan, x.device
	for _, name := range slices.Backward(over) {
		size := p.Mesh[p.Mesh.index(name)].Size
		if j := slices.Index(p.By, name); j >= 0 && d.At[j] != peer%size {
			return false
		}
		peer /= size
	}
	return true
}

// validateKind checks the fields that only some kinds have.
func (c *Comm) validateKind(parts int) error {
	spec := collective.Of(c.Kind)
	switch {
	case spec.Kind == "" || c.Kind == collective.Broadcast || c.Kind == collective.Barrier:
		return fmt.Errorf("there is no communication %q", c.Kind)
	case DTypeSize(c.DType) == 0:
		return fmt.Errorf("%s of unknown dtype %q", c.Kind, c.DType)
	case len(c.Rest) > maxTogether:
		return within(CountLimit, "%d tensors that are exchanged together", int64(1+len(c.Rest)), 1+maxTogether)
	case len(c.Rest) > 0 && !spec.Several:
		return fmt.Errorf("%s of several tensors", c.Kind)
	case c.Start && c.Kind == collective.ShardSlice:
		return fmt.Errorf("%s that is started apart", c.Kind)
	case spec.Reduces && !collective.Reduction(c.Reduce).Known(), !spec.Reduces && c.Reduce != "":
		return fmt.Errorf("%s by %q", c.Kind, c.Reduce)
	case c.Reduce == collective.Sum && c.DType == dtype.Bool.String():
		return fmt.Errorf("%s of bool by sum", c.Kind)
	case c.Kind != collective.Permute && len(c.From) > 0:
		return fmt.Errorf("%s with sources", c.Kind)
	case c.Kind != collective.Permute:
		return nil
	case len(c.From) != parts:
		return fmt.Errorf("permute with %d sources for %d devices", len(c.From), parts)
	}
	used := make([]bool, 1+parts) // by source and 1; none, -1, may be it many times
	for _, f := range c.From {
		if f < -1 || f >= parts || used[1+f] {
			return fmt.Errorf("permute from %v", c.From)
		}
		used[1+f] = f >= 0
	}
	return nil
}

// validateView checks that the views of a communication are those of its
// buffers, whose elements it takes to the last.
func (d *Device) validateView(in *Instr, parts int64) error {
	c := in.Comm
	views := c.Views()
	var total int64
	for _, v := range views {
		if v.Outer < 1 || v.Inner < 1 || v.Outer > maxElems || v.Inner > maxElems/v.Outer || v.Outer*v.Inner > maxElems/parts-total {
			return fmt.Errorf("%s of [%d, %d, %d] elements", c.Kind, v.Outer, parts, v.Inner)
		}
		total += v.Outer * v.Inner
	}
	if c.Kind == collective.AllToAll {
		one := c.Outer * c.Inner
		if c.DstOuter < 1 || c.DstInner < 1 || c.DstOuter > one || c.DstInner != one/c.DstOuter || one%c.DstOuter != 0 {
			return fmt.Errorf("all_to_all of [%d, %d, %d] elements to [%d, %d, %d]", c.Outer, parts, c.Inner, c.DstOuter, parts, c.DstInner)
		}
	} else if c.DstOuter != 0 || c.DstInner != 0 {
		return fmt.Errorf("%s with a view of its destination", c.Kind)
	}
	source, destination := collective.Of(c.Kind).Slices(parts)
	var want []int64
	for _, v := range views {
		want = append(want, v.Outer*v.Inner*source)
	}
	for _, v := range views {
		if !c.message() {
			want = append(want, v.Outer*v.Inner*destination)
		}
	}
	if len(in.Bufs) != len(want) {
		return fmt.Errorf("%s has %d buffers instead of %d", c.Kind, len(in.Bufs), len(want))
	}
	return d.validatePlaces(in, want)
}

// validatePlaces checks the buffers of a communication: their elements and memory.
func (d *Device) validatePlaces(in *Instr, want []int64) error {
	c := in.Comm
	for i, n := range in.Bufs {
		b := &d.Buffers[n]
		if got := int64(Elems(b.Axes)); got != want[i] || b.DType != c.DType {
			return fmt.Errorf("%s of %d elements of %s has a buffer of %d of %s", c.Kind, want[i], c.DType, got, b.DType)
		}
		if b.Memory != "" {
			return fmt.Errorf("%s of a buffer in %s memory", c.Kind, b.Memory)
		}
	}
	return nil
}

// maxMoved bounds the buffers that one copy between memories has, which are compared
// with one another.
const maxMoved = 1024

// validateTransfer checks a copy between memories: each pair of buffers is of one type
// and one of them in another memory.
func (d *Device) validateTransfer(in *Instr) error {
	c := in.Comm
	if len(c.Over) > 0 || c.Reduce != "" || c.DType != "" || c.Outer != 0 || c.Inner != 0 || c.DstOuter != 0 || c.DstInner != 0 ||
		len(c.From) > 0 || c.Peer != 0 || c.Tag != 0 || c.Each != 0 || len(c.Rest) > 0 {
		return fmt.Errorf("%s with more than what it copies", c.Kind)
	}
	n := len(in.Bufs) / 2
	if n == 0 || len(in.Bufs)%2 != 0 || n > maxMoved {
		return fmt.Errorf("%s of %d buffers", c.Kind, len(in.Bufs))
	}
	for i := range n {
		src, dst := &d.Buffers[in.Bufs[i]], &d.Buffers[in.Bufs[n+i]]
		if src.DType != dst.DType || Elems(src.Axes) != Elems(dst.Axes) {
			return fmt.Errorf("%s of %d elements of %s to %d of %s", c.Kind, Elems(src.Axes), src.DType, Elems(dst.Axes), dst.DType)
		}
		if here, there := dst, src; c.Kind == collective.DeviceToHost && (src.Memory != "" || dst.Memory == "") || c.Kind == collective.HostToDevice && (here.Memory != "" || there.Memory == "") {
			return fmt.Errorf("%s from memory %q to %q", c.Kind, src.Memory, dst.Memory)
		}
	}
	return nil
}

// apart checks that no buffer that a communication writes meets another of it, but
// for a reduction in place. They are those of one instance.
func (c *Comm) apart(sources, destinations []span) error {
	if c.message() || c.Kind == collective.Done {
		return nil
	}
	if c.Moves() {
		for i, s := range destinations {
			if meetsAny(s, destinations[:i]) {
				return fmt.Errorf("%s has two destinations in the bytes from %d on", c.Kind, s.lo)
			}
		}
		return nil
	}
	n := len(sources)
	place := slices.Concat(sources, destinations)
	all := make([]ranges.Span, len(place))
	for i, s := range place {
		all[i] = ranges.Span{Lo: s.lo, Hi: s.hi}
	}
	index := ranges.NewIndex(all) // all are in one memory
	var found []int
	for i := n; i < len(place); i++ {
		found = index.Meeting(all[i], found[:0])
		for _, j := range found {
			s := place[j]
			inPlace := c.Kind == collective.AllReduce && j == i-n && s == place[i]
			if j != i && !inPlace {
				return fmt.Errorf("%s has its source and destination in the same bytes, from %d on", c.Kind, max(place[i].lo, s.lo))
			}
		}
	}
	return nil
}
