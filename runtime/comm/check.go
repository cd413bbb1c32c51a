package comm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/device"
)

// Check says why an operation cannot be issued by a device of a mesh with that
// many devices, or returns nil. Transports call it first in Prepare. It replaces
// values that stand for a default: Outer, DstOuter and DstInner of 0.
func (o *Op) Check(rank, devices int) error {
	if msg := o.check(rank, devices); msg != "" {
		return o.invalid(rank, msg)
	}
	return nil
}

func (o *Op) invalid(rank int, why string) error {
	return &Error{Reason: ReasonInvalid, Rank: rank, Ranks: []int{rank}, Op: o.Describe(0),
		Msg: fmt.Sprintf("rank %d cannot issue %s: %s", rank, o.Signature(), why)}
}

func (o *Op) check(rank, devices int) string {
	o.Outer = max(o.Outer, 1)
	if o.DstOuter == 0 && o.DstInner == 0 {
		o.DstOuter, o.DstInner = o.Outer, o.Inner
	}
	if o.Reduce == "" {
		o.Reduce = collective.Sum
	}
	spec := collective.Of(o.Kind)
	p2p := spec.Message
	switch {
	case !p2p && !spec.Exchanges() && o.Kind != collective.Barrier:
		return "there is no such operation"
	case !o.DType.Valid() && (o.Kind != collective.Barrier || o.DType != dtype.Invalid):
		return "there is no such dtype"
	case !o.Reduce.Known():
		return "there is no such reduction"
	case o.Inner < 0 || o.DstOuter < 0 || o.DstInner < 0:
		return "a size is negative"
	case p2p && (o.Peer < 0 || o.Peer >= devices || o.Peer == rank):
		return fmt.Sprintf("rank %d is not another device", o.Peer)
	case p2p && (o.Tag < 0 || o.Tag >= MaxTag):
		return fmt.Sprintf("tag %d is not below %d", o.Tag, MaxTag)
	case p2p:
		return o.checkBuffers(1, 0)
	case o.Group == nil:
		return "it has no group"
	case o.Group.Ranks() != devices:
		return fmt.Sprintf("its group belongs to a mesh of %d devices, not of %d", o.Group.Ranks(), devices)
	}
	if msg := o.checkKind(); msg != "" {
		return msg
	}
	if len(o.Rest) > 0 && !spec.Several {
		return "it cannot have several tensors"
	}
	msg := ""
	o.each(func(one *Op) {
		if one.Inner < 0 {
			msg = "a size is negative"
		} else if m := one.checkBuffers(o.Group.Size(), o.Group.Coord(rank)); msg == "" {
			msg = m
		}
	})
	if msg != "" {
		return msg
	}
	return o.checkApart()
}

// checkApart compares the buffers of different tensors.
func (o *Op) checkApart() string {
	if len(o.Rest) == 0 {
		return ""
	}
	type part struct {
		lo, hi int64
		tensor int
		write  bool
	}
	all := map[device.Memory][]part{} // by where they lie
	tensor := 0
	o.each(func(one *Op) {
		for k, b := range []device.Range{one.Src, one.Dst} {
			if b.Bytes > 0 {
				space, at := b.Place()
				all[space] = append(all[space], part{at, at + b.Bytes, tensor, k == 1})
			}
		}
		tensor++
	})
	for _, parts := range all {
		slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.lo, b.lo) })
		for i, a := range parts {
			for _, b := range parts[i+1:] {
				if b.lo >= a.hi {
					break
				}
				if a.tensor != b.tensor && (a.write || b.write) {
					return fmt.Sprintf("buffers of its tensors %d and %d overlap", a.tensor, b.tensor)
				}
			}
		}
	}
	return ""
}

// checkKind looks at the fields that only one kind has.
func (o *Op) checkKind() string {
	n, spec := o.Group.Size(), collective.Of(o.Kind)
	switch {
	case spec.Reduces && o.DType == dtype.Bool && o.Reduce == collective.Sum:
		return "bool values have no sum"
	case spec.Scatters && spec.Gathers && o.DstOuter*o.DstInner != o.Elems():
		return fmt.Sprintf("slices of [%d, %d] cannot be stored as [%d, %d]", o.Outer, o.Inner, o.DstOuter, o.DstInner)
	}
	switch o.Kind {
	case collective.Permute:
		if len(o.From) != n {
			return fmt.Sprintf("it names %d sources for %d members", len(o.From), n)
		}
		used := make([]bool, n)
		for _, f := range o.From {
			if f < -1 || f >= n {
				return fmt.Sprintf("there is no member %d", f)
			}
			if f >= 0 && used[f] {
				return fmt.Sprintf("member %d is a source twice", f)
			}
			if f >= 0 {
				used[f] = true
			}
		}
	case collective.Broadcast:
		if o.Root < 0 || o.Root >= n {
			return fmt.Sprintf("its root is member %d, which does not exist", o.Root)
		}
	}
	return ""
}

// checkBuffers compares the buffers with the view, for member me of n.
func (o *Op) checkBuffers(n, me int) string {
	one, spec := dtype.Bytes(o.DType, o.Elems()), collective.Of(o.Kind)
	operand, result := spec.Slices(int64(n))
	src, dst := one*int(operand), one*int(result)
	switch o.Kind {
	case collective.Broadcast:
		if me != o.Root {
			src = -1
		}
	case collective.Barrier:
		return ""
	case collective.Send:
		dst = -1
	case collective.Recv:
		src = -1
	}
	for _, b := range []struct {
		name string
		buf  device.Range
		want int
	}{{"Src", o.Src, src}, {"Dst", o.Dst, dst}} {
		if b.want >= 0 && b.buf.Bytes != int64(b.want) {
			return fmt.Sprintf("%s has %d bytes instead of %d", b.name, b.buf.Bytes, b.want)
		}
		if b.want > 0 {
			if _, at := b.buf.Place(); at%int64(o.DType.Size()) != 0 {
				return b.name + " is not aligned to its elements"
			}
		}
	}
	if src <= 0 || dst <= 0 {
		return ""
	}
	from, x := o.Src.Place()
	to, y := o.Dst.Place()
	if from != to || x >= y+o.Dst.Bytes || y >= x+o.Src.Bytes {
		return ""
	}
	inPlace := 0 // where Dst begins in Src, or Src in Dst
	switch {
	case src > dst:
		inPlace = one * me
	case dst > src:
		inPlace = -one * me
	}
	if !spec.InPlace || (spec.Scatters || spec.Gathers) && o.Outer > 1 || y-x != int64(inPlace) {
		return "Src and Dst overlap in a way it cannot have in place"
	}
	return ""
}

// Signature is all that members of a group must agree on, in words. Transports
// compare it.
func (o *Op) Signature() string {
	var b strings.Builder
	spec := collective.Of(o.Kind)
	b.WriteString(string(o.Kind))
	if spec.Reduces {
		fmt.Fprintf(&b, " (%s)", o.Reduce)
	}
	if o.Kind != collective.Barrier {
		fmt.Fprintf(&b, " of %s", o.DType)
		if o.Outer > 1 {
			fmt.Fprintf(&b, "[%d, %d]", o.Outer, o.Inner)
		} else {
			fmt.Fprintf(&b, "[%d]", o.Inner)
		}
		for _, t := range o.Rest {
			fmt.Fprintf(&b, ", [%d, %d]", max(t.Outer, 1), t.Inner)
		}
	}
	switch {
	case spec.Scatters && spec.Gathers && o.DstOuter != o.Outer:
		fmt.Fprintf(&b, " to [%d, %d]", o.DstOuter, o.DstInner)
	case o.Kind == collective.Permute:
		fmt.Fprintf(&b, " from %v", o.From)
	case o.Kind == collective.Broadcast:
		fmt.Fprintf(&b, " from member %d", o.Root)
	case spec.Message: // labels and peers differ between the two
		return b.String()
	}
	if o.Label != "" {
		b.WriteString(" " + o.Label)
	}
	if o.Group != nil && o.Group.name != "" {
		b.WriteString(" over " + o.Group.name)
	}
	return b.String()
}
