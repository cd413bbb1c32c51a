package program

import "fmt"

// maxMoved bounds the buffers that one fetch or store copies, which are compared
// with one another.
const maxMoved = 1024

// validateTransfer checks a fetch or a store: what it copies is of one type on
// either side, and goes from or to another memory.
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
		if here, there := dst, src; c.Kind == Store && (src.Memory != "" || dst.Memory == "") || c.Kind == Fetch && (here.Memory != "" || there.Memory == "") {
			return fmt.Errorf("%s from memory %q to %q", c.Kind, src.Memory, dst.Memory)
		}
	}
	return nil
}
