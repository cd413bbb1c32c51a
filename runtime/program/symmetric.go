package program

import "slices"

// symmetric finds the mesh axes along which all devices do the same: they run one
// program, and messages stay at one coordinate. Whatever one of them can do then,
// those beside it can, so that it goes for all of them: a collective along the
// axis meets as soon as it is issued. Of a pipeline's thousands of devices this
// leaves one for each stage.
func (r *rehearsal) symmetric() {
	r.whole = make([]bool, len(r.plan.Mesh))
	stride := len(r.device)
	for j, a := range r.plan.Mesh {
		stride /= a.Size
		r.whole[j] = a.Size > 1 && !r.messagesAlong(a.Name)
		for rank := 0; r.whole[j] && rank < len(r.device); rank++ {
			r.whole[j] = r.device[rank] == r.device[rank-rank/stride%a.Size*stride]
		}
	}
	for rank := range r.device {
		at, first := rank, true
		for j, a := range slices.Backward(r.plan.Mesh) {
			first = first && (at%a.Size == 0 || !r.whole[j])
			at /= a.Size
		}
		if first {
			r.ranks = append(r.ranks, rank)
		}
	}
}

// messagesAlong reports whether a message may go along a mesh axis.
func (r *rehearsal) messagesAlong(axis string) bool {
	for i := range r.plan.Devices {
		for _, in := range r.plan.Devices[i].Progs[r.prog].Instrs {
			if c := in.Comm; c != nil && (c.Kind == Send || c.Kind == Recv) && (len(c.Over) == 0 || slices.Contains(c.Over, axis)) {
				return true
			}
		}
	}
	return false
}

// parts is the number of devices that are run of each group over these mesh axes.
func (r *rehearsal) parts(over []string) int {
	n := 1
	for j, a := range r.plan.Mesh {
		if !r.whole[j] && slices.Contains(over, a.Name) {
			n *= a.Size
		}
	}
	return n
}
