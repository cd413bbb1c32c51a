package exec

import (
	"math"
	"slices"
	"strings"

	"ptc/internal/collective"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

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

// overlap says whether two buffers of the device share bytes.
func overlap(d *program.Device, a, b int) bool {
	x, y := &d.Buffers[a], &d.Buffers[b]
	return x.Memory == y.Memory && x.Offset < y.Offset+y.Bytes && y.Offset < x.Offset+x.Bytes
}

// knownAfter is the number of instructions after which a program writes a buffer
// no more.
func knownAfter(plan *program.Plan, d *program.Device, index, buffer int) int {
	prog, after := &d.Progs[index], 0
	for i := range prog.Instrs {
		_, writes := plan.Touches(&prog.Instrs[i])
		if slices.ContainsFunc(writes, func(b int) bool { return overlap(d, b, buffer) }) {
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
		if c := prog.Instrs[j].Comm; c != nil && c.Kind == collective.Done && c.Of == i {
			return j
		}
	}
	return i
}

// firstChange is the first instruction that writes a tensor which lives between
// steps.
func firstChange(plan *program.Plan, d *program.Device, index int) int {
	prog := &d.Progs[index]
	for i := range prog.Instrs {
		_, writes := plan.Touches(&prog.Instrs[i])
		for _, b := range writes {
			if slices.ContainsFunc(d.Tensors, func(t program.Tensor) bool { return overlap(d, b, t.Buffer) }) {
				return i
			}
		}
	}
	return len(prog.Instrs)
}

// meets says whether all devices have such a place, and each communication before
// one device's is before that of all others that take part in it.
func meets(c *crew, prog int, guards []guard) bool {
	type stream struct {
		kind, over string
		from, to   int
	}
	counts := make([]map[stream]int, len(c.ranks))
	for rank, d := range c.ranks {
		if guards[rank].at == 0 {
			return false
		}
		counts[rank] = map[stream]int{}
		for i := range guards[rank].at {
			switch x := d.prog.Progs[prog].Instrs[i].Comm; {
			case x == nil || x.Moves() || x.Kind == collective.Done || x.Kind == collective.ShardSlice:
			case x.Kind == collective.Send:
				counts[rank][stream{kind: "message", from: rank, to: c.plan.Mesh.PeerOf(rank, x)}]++
			case x.Kind == collective.Recv:
				counts[rank][stream{kind: "message", from: c.plan.Mesh.PeerOf(rank, x), to: rank}]++
			default:
				over := strings.Join(x.Over, ",")
				for i := range c.plan.Mesh.Parts(x.Over) {
					counts[rank][stream{"group", over, c.plan.Mesh.Member(rank, x.Over, i), 0}]++
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
func (d *logical) runGuarded(prog int, g *guard) error {
	all := len(d.prog.Progs[prog].Instrs)
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
