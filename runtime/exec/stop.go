package exec

import (
	"slices"

	"ptc/runtime/comm"
	"ptc/runtime/program"
)

// StopBeforeUpdate lets Run and Trace end with ErrNotFinite, all tensors as they
// were before, where the loss or one of the named scalars is not finite. It looks
// at those that are known before any tensor changes, and says whether there are
// any.
func (p *Program) StopBeforeUpdate(stats ...string) (bool, error) {
	c := p.crew
	guards := make([]guard, len(c.ranks))
	var seen []string // by rank: the ports that it looks at
	for rank, d := range c.ranks {
		guards[rank].at = firstChange(c.plan, d.prog, p.index)
		seen = append(seen, p.watch(d, &guards[rank], stats))
	}
	if len(slices.Compact(slices.Clone(seen))) == 1 && seen[0] == "" || !meets(c, p.index, guards) {
		return false, nil
	}
	p.late = map[string]bool{}
	for rank, d := range c.ranks {
		p.unknown(d, guards[rank].at)
	}
	alike := len(slices.Compact(seen)) == 1
	for rank, d := range c.ranks {
		if d.comm == nil {
			continue
		}
		g := &guards[rank]
		if !alike {
			var err error
			if g.ask, err = comm.Any(d.comm, "before the update"); err != nil {
				return false, errorf(ReasonBug, err, "rank %d cannot check whether the step is finite on all devices", rank)
			}
		}
		p.guards[rank] = *g
	}
	return true, nil
}

// watch adds the loss and the scalars that the device knows in time to a guard,
// and names them.
func (p *Program) watch(d *logical, g *guard, stats []string) (seen string) {
	for i := range d.prog.Ports {
		port := &d.prog.Ports[i]
		if port.Program != p.name || port.Role != program.RoleLoss && !(port.Role == program.RoleStat && slices.Contains(stats, port.Path)) {
			continue
		}
		if knownAfter(p.crew.plan, d.prog, p.index, port.Buffer) > g.at {
			continue
		}
		seen += port.Role + " " + port.Path + "\n"
		if d.here() {
			var s scalar
			s.at(d.progs[p.index].Port(i))
			g.scalars = append(g.scalars, s)
		}
	}
	return seen
}

// unknown notes the stats that the device may not have computed when its program ends
// before instruction at.
func (p *Program) unknown(d *logical, at int) {
	for _, port := range d.prog.Ports {
		if port.Program == p.name && port.Role == program.RoleStat && knownAfter(p.crew.plan, d.prog, p.index, port.Buffer) > at {
			p.late[port.Path] = true
		}
	}
}
