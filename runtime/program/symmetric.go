package program

import "slices"

// symmetric finds the mesh axes along which all devices do the same: they run one
// program, and messages stay at one coordinate. Whatever one of them can do then,
// those next to it can, so that it goes for all of them: a collective along the
// axis meets as soon as it is issued. Of a pipeline's thousands of devices this
// leaves one for each stage.
func (r *rehearsal) symmetric() error {
	p, n := r.plan, int64(1)
	r.whole = make([]bool, len(p.Mesh))
	for j, a := range p.Mesh {
		r.whole[j] = a.Size > 1 && !slices.Contains(p.By, a.Name) && !r.messagesAlong(a.Name)
		if !r.whole[j] {
			n *= int64(a.Size)
		}
	}
	if err := within(CountLimit, "%d devices whose communications are compared one by one", n, maxRehearsed); err != nil {
		return err
	}
	r.ranks = []int{0}
	for j, a := range p.Mesh {
		size := a.Size
		if r.whole[j] {
			size = 1
		}
		next := make([]int, 0, len(r.ranks)*size)
		for _, rank := range r.ranks {
			for at := range size {
				next = append(next, rank*a.Size+at)
			}
		}
		r.ranks = next
	}
	return nil
}

// maxRehearsed bounds the devices that are run.
const maxRehearsed = 1 << 20

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
