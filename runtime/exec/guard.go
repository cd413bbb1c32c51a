package exec

import (
	"errors"
	"math"
	"slices"
	"strings"

	"ptc/runtime/comm"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// ErrNotFinite is the error of a run that ended before it changed any tensor,
// because its loss or its gradients are not finite: see StopBeforeUpdate.
var ErrNotFinite = errors.New("the loss or the gradients are not finite")

// guard is the place in a device's program before which it changes no tensor that
// lives between steps. By then it knows its loss and the norm of its gradients,
// if it has them at all:
//
//	forward ── loss ── backward ── norm ── ┆ update ── update …
//	                                       at
//
// All devices stop there or none does: what they look at is the same on all, or
// they ask one another, and no communication has begun on one and not on the
// others.
type guard struct {
	at      int // instruction; 0: there is no such place
	scalars []scalar
	ask     func(bool) (bool, error) // whether it is so on any device; nil: all look at the same
}

// bad says whether what was computed is not finite, here or on another device.
func (g *guard) bad() (bool, error) {
	own := false
	for i := range g.scalars {
		v := g.scalars[i].value()
		own = own || math.IsNaN(v) || math.IsInf(v, 0)
	}
	if g.ask == nil {
		return own, nil
	}
	return g.ask(own)
}

// StopBeforeUpdate lets Run and Trace end with ErrNotFinite, all tensors as they
// were before, where the loss or one of the named scalars is not finite. It looks
// at those that are known before any tensor changes, and says whether there are
// any.
func (p *Program) StopBeforeUpdate(stats ...string) (bool, error) {
	m := p.m
	guards := make([]guard, len(m.ranks))
	var seen []string // by rank: the ports that it looks at
	for rank, d := range m.ranks {
		guards[rank].at = d.firstChange(m, &d.prog.Progs[p.index])
		seen = append(seen, d.watch(p, &guards[rank], stats))
	}
	if len(slices.Compact(slices.Clone(seen))) == 1 && seen[0] == "" || !m.meets(p.index, guards) {
		return false, nil
	}
	p.late = map[string]bool{}
	for rank, d := range m.ranks {
		d.unknown(p, guards[rank].at)
	}
	alike := len(slices.Compact(seen)) == 1
	for rank, d := range m.ranks {
		if d.comm == nil {
			continue
		}
		g := &guards[rank]
		if !alike {
			var err error
			if g.ask, err = comm.Any(d.comm, "before the update"); err != nil {
				return false, errorf(ReasonBug, err, "rank %d cannot ask whether the step is finite", rank)
			}
		}
		d.guards[p.index] = *g
	}
	return true, nil
}

// watch adds the loss and the scalars that the device knows in time to a guard,
// and names them.
func (d *logical) watch(p *Program, g *guard, stats []string) (seen string) {
	prog := &d.prog.Progs[p.index]
	for i := range d.prog.Ports {
		port := &d.prog.Ports[i]
		if port.Program != p.name || port.Role != program.RoleLoss && !(port.Role == program.RoleStat && slices.Contains(stats, port.Path)) {
			continue
		}
		if d.knownAfter(p.m, prog, port.Buffer) > g.at {
			continue
		}
		seen += port.Role + " " + port.Path + "\n"
		if !d.here() {
			continue
		}
		if mem := d.progs[p.index].Port(i); len(mem) == 8 {
			g.scalars = append(g.scalars, scalar{f64: &elements[float64](mem)[0]})
		} else {
			g.scalars = append(g.scalars, scalar{f32: &elements[float32](mem)[0]})
		}
	}
	return seen
}

// unknown notes the stats that the device may not have computed when its program ends
// before instruction at.
func (d *logical) unknown(p *Program, at int) {
	for _, port := range d.prog.Ports {
		if port.Program == p.name && port.Role == program.RoleStat && d.knownAfter(p.m, &d.prog.Progs[p.index], port.Buffer) > at {
			p.late[port.Path] = true
		}
	}
}

// overlap says whether two buffers of the device share bytes.
func (d *logical) overlap(a, b int) bool {
	x, y := &d.prog.Buffers[a], &d.prog.Buffers[b]
	return x.Memory == y.Memory && x.Offset < y.Offset+y.Bytes && y.Offset < x.Offset+x.Bytes
}

// knownAfter is the number of instructions after which a program writes a buffer
// no more.
func (d *logical) knownAfter(m *Machine, prog *program.Program, buffer int) int {
	after := 0
	for i := range prog.Instrs {
		_, writes := m.plan.Touches(&prog.Instrs[i])
		if slices.ContainsFunc(writes, func(b int) bool { return d.overlap(b, buffer) }) {
			after = max(after, endOf(prog, i)+1)
		}
	}
	return after
}

// endOf is the instruction with which instruction i is complete: the one that
// waits for it, where i only starts.
func endOf(prog *program.Program, i int) int {
	if c := prog.Instrs[i].Comm; c == nil || !c.Start {
		return i
	}
	for j := i + 1; j < len(prog.Instrs); j++ {
		if c := prog.Instrs[j].Comm; c != nil && c.Kind == program.Done && c.Of == i {
			return j
		}
	}
	return i
}

// firstChange is the first instruction that writes a tensor which lives between
// steps.
func (d *logical) firstChange(m *Machine, prog *program.Program) int {
	for i := range prog.Instrs {
		_, writes := m.plan.Touches(&prog.Instrs[i])
		for _, b := range writes {
			if slices.ContainsFunc(d.prog.Tensors, func(t program.Tensor) bool { return d.overlap(b, t.Buffer) }) {
				return i
			}
		}
	}
	return len(prog.Instrs)
}

// meets says whether all devices have such a place, and each communication before
// one device's is before that of all others that take part in it.
func (m *Machine) meets(prog int, guards []guard) bool {
	type stream struct {
		kind, over string
		from, to   int
	}
	counts := make([]map[stream]int, len(m.ranks))
	for rank, d := range m.ranks {
		if guards[rank].at == 0 {
			return false
		}
		counts[rank] = map[stream]int{}
		for i := range guards[rank].at {
			switch c := d.prog.Progs[prog].Instrs[i].Comm; {
			case c == nil || c.Moves() || c.Kind == program.Done || c.Kind == program.ShardSlice:
			case c.Kind == program.Send:
				counts[rank][stream{kind: "message", from: rank, to: m.plan.Mesh.PeerOf(rank, c)}]++
			case c.Kind == program.Recv:
				counts[rank][stream{kind: "message", from: m.plan.Mesh.PeerOf(rank, c), to: rank}]++
			default:
				over := strings.Join(c.Over, ",")
				for i := range m.plan.Mesh.Parts(c.Over) {
					counts[rank][stream{"group", over, m.plan.Mesh.Member(rank, c.Over, i), 0}]++
				}
			}
		}
	}
	for rank, own := range counts {
		for s, n := range own {
			switch {
			case s.kind == "group":
				if counts[s.from][stream{"group", s.over, rank, 0}] != n {
					return false
				}
			case counts[s.from][s] != n || counts[s.to][s] != n:
				return false
			}
		}
	}
	return true
}

// runGuarded runs all of a program, or up to its guard where something is not
// finite there.
func (d *logical) runGuarded(prog int) error {
	all := len(d.prog.Progs[prog].Instrs)
	g := &d.guards[prog]
	if g.at == 0 {
		return d.run(prog)
	}
	if err := d.stepJoint(prog, 0, g.at); err != nil {
		return err
	}
	if bad, err := g.bad(); err != nil {
		return errorf(ReasonComm, err, "program %s failed", d.prog.Progs[prog].Name)
	} else if bad {
		return d.endAt(prog, g.at)
	}
	return d.stepJoint(prog, g.at, all)
}

// stepJoint is step, of a range at whose ends all devices are where no communication is between them.
func (d *logical) stepJoint(prog, from, to int) error {
	if p, ok := d.progs[prog].(device.Joint); ok {
		return d.failed(prog, p.StepJoint(from, to))
	}
	return d.step(prog, from, to)
}

// endAt ends a program before an instruction: it waits for what has been started.
func (d *logical) endAt(prog, at int) error {
	if err := d.failed(prog, d.progs[prog].Stop(at)); err != nil {
		return err
	}
	return ErrNotFinite
}
