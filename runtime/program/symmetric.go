package program

import (
	"slices"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/progress"
)

// quotient is the ranks that are run for all of a mesh: one along each axis along which all
// devices do the same. They run one program, and messages stay at one coordinate. What one
// of them can do, its neighbours can do as well, so one goes for all: a collective along
// the axis meets as soon as it is issued. Of a pipeline's thousands of devices this leaves
// one for each stage.
type quotient struct {
	mesh  Mesh
	whole []bool // by mesh axis: all along it are run as one
	ranks []int  // that are run
}

func quotientOf(p *Plan, prog int) (*quotient, error) {
	s, n := &quotient{mesh: p.Mesh, whole: make([]bool, len(p.Mesh)), ranks: []int{0}}, int64(1)
	for j, a := range p.Mesh {
		s.whole[j] = a.Size > 1 && !slices.Contains(p.By, a.Name) && !messagesAlong(p.Devices, prog, a.Name)
		if !s.whole[j] {
			n *= int64(a.Size)
		}
	}
	if err := within(CountLimit, "%d devices whose communications are compared one by one", n, maxRehearsed); err != nil {
		return nil, err
	}
	for j, a := range p.Mesh {
		size := a.Size
		if s.whole[j] {
			size = 1
		}
		next := make([]int, 0, len(s.ranks)*size)
		for _, rank := range s.ranks {
			for at := range size {
				next = append(next, rank*a.Size+at)
			}
		}
		s.ranks = next
	}
	return s, nil
}

// maxRehearsed bounds the devices that are run.
const maxRehearsed = 1 << 20

// messagesAlong reports whether a message may go along a mesh axis.
func messagesAlong(devices []Device, prog int, axis string) bool {
	for i := range devices {
		for _, in := range devices[i].Progs[prog].Instrs {
			if c := in.Comm; c != nil && c.message() && (len(c.Over) == 0 || slices.Contains(c.Over, axis)) {
				return true
			}
		}
	}
	return false
}

// size is the number of devices that are run of each group over these mesh axes.
func (q *quotient) size(over []string) int {
	n := 1
	for j, a := range q.mesh {
		if !q.whole[j] && slices.Contains(over, a.Name) {
			n *= a.Size
		}
	}
	return n
}

// groupOf identifies the group of a rank; the order of the axes does not matter.
func (q *quotient) groupOf(rank int, c *Comm) progress.Group {
	var axes strings.Builder
	for _, a := range q.mesh {
		for _, name := range c.Over {
			if name == a.Name && a.Size > 1 {
				axes.WriteString(name + ",")
			}
		}
	}
	return progress.Group{First: q.mesh.Member(rank, c.Over, 0), Over: axes.String()}
}

// members are the ranks of a group that are run.
func (q *quotient) members(g progress.Group) (out []int) {
	over := strings.FieldsFunc(g.Over, func(c rune) bool { return c == ',' })
	for _, rank := range q.ranks {
		if q.mesh.Member(rank, over, 0) == g.First {
			out = append(out, rank)
		}
	}
	return out
}

// matters says whether an instruction may wait for another device that is run, or
// one of these for it.
func (q *quotient) matters(prog *Program, i int) bool {
	c := prog.Instrs[i].Comm
	switch {
	case c == nil || c.Kind == collective.ShardSlice || c.Moves():
		return false
	case c.Kind == collective.Done:
		return q.matters(prog, c.Of)
	case c.message():
		return true
	}
	return q.size(c.Over) > 1
}
