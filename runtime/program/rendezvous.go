package program

import (
	"errors"
	"fmt"
	"strings"

	"ptc/internal/progress"
)

// InFlight is how many messages of one stream (sender, receiver, tag) can be
// sent and not yet received; a send waits for room among them.
const InFlight = 4

// validateMeetings proves that the communications of every program meet: members
// of a group issue the same ones in the same order, every message that is sent
// is received, and no device waits for ever.
//
// Where one program runs on all devices and sends no message, there is nothing
// to prove. Otherwise the programs are run, without their kernels: a device
// stops where it waits for a collective until all members have issued it, at a
// receive until there is a message, and at a send until there is room. One run
// proves it for all (package progress). Nor do devices differ that run the same and stand alike to all others:
// one of them goes for all, see [rehearsal.symmetric].
func (p *Plan) validateMeetings() error {
	if len(p.Devices) == 0 {
		return nil
	}
	for i := range p.Devices[0].Progs {
		if len(p.Devices) == 1 && !messages(&p.Devices[0].Progs[i]) {
			continue
		}
		if err := p.rehearse(i); err != nil {
			return invalid("program %s: %v", p.Devices[0].Progs[i].Name, err)
		}
	}
	return nil
}

// messages says whether a program sends or receives any.
func messages(prog *Program) bool {
	for i := range prog.Instrs {
		if c := prog.Instrs[i].Comm; c != nil && (c.Kind == Send || c.Kind == Recv) {
			return true
		}
	}
	return false
}

// rehearsal is a run of one program on all devices.
type rehearsal struct {
	plan   *Plan
	prog   int
	ranks  []int     // that are run
	whole  []bool    // by mesh axis: all along it are run as one
	device []*Device // by rank
	words  map[*Instr]string
}

func (p *Plan) rehearse(prog int) error {
	r := &rehearsal{plan: p, prog: prog, device: make([]*Device, p.Ranks()), words: map[*Instr]string{}}
	for i := range p.Devices {
		for _, rank := range p.Devices[i].Ranks {
			r.device[rank] = &p.Devices[i]
		}
	}
	r.symmetric()
	_, err := progress.System{Processes: r.ranks, Step: r.step, Room: InFlight, Members: r.members}.Run()
	var f *progress.Fault
	if errors.As(err, &f) {
		return r.explain(f)
	}
	return err
}

// step is what instruction i of a rank does among devices.
func (r *rehearsal) step(rank, i int) (progress.Step, bool) {
	instrs := r.device[rank].Progs[r.prog].Instrs
	if i >= len(instrs) {
		return progress.Step{}, false
	}
	c := instrs[i].Comm
	if c == nil || c.Kind == ShardSlice || c.Moves() || c.Kind == Done && instrs[c.Of].Comm.Moves() {
		return progress.Step{}, true
	}
	switch c.Kind {
	case Done:
		return progress.Step{Kind: progress.Wait, Of: c.Of}, true
	case Send:
		return progress.Step{Kind: progress.Send, Channel: progress.Channel{From: rank, To: r.plan.PeerOf(rank, c), Tag: c.Tag}, What: content(c)}, true
	case Recv:
		return progress.Step{Kind: progress.Receive, Channel: progress.Channel{From: r.plan.PeerOf(rank, c), To: rank, Tag: c.Tag}, What: content(c)}, true
	}
	x := progress.Step{Kind: progress.Meet, Group: r.groupOf(rank, c), Members: r.parts(c.Over), What: r.signature(&instrs[i])}
	if c.Start {
		x.Kind = progress.Start
	}
	return x, true
}

// signature is [signature], made once for all ranks that run the instruction.
func (r *rehearsal) signature(in *Instr) string {
	text, known := r.words[in]
	if !known {
		text = signature(in)
		r.words[in] = text
	}
	return text
}

// content is what a message holds.
func content(c *Comm) string { return fmt.Sprintf("%d of %s", c.Outer*c.Inner, c.DType) }

// groupOf identifies the group of a rank; the order of the axes does not matter.
func (r *rehearsal) groupOf(rank int, c *Comm) progress.Group {
	var axes strings.Builder
	for _, a := range r.plan.Mesh {
		for _, name := range c.Over {
			if name == a.Name && a.Size > 1 {
				axes.WriteString(name + ",")
			}
		}
	}
	return progress.Group{First: r.plan.Member(rank, c.Over, 0), Over: axes.String()}
}

// members are the ranks of a group that are run.
func (r *rehearsal) members(g progress.Group) (out []int) {
	over := strings.FieldsFunc(g.Over, func(c rune) bool { return c == ',' })
	for _, rank := range r.ranks {
		if r.plan.Member(rank, over, 0) == g.First {
			out = append(out, rank)
		}
	}
	return out
}

// explain says who waits for ever, or what does not meet.
func (r *rehearsal) explain(f *progress.Fault) error {
	at := f.At[0]
	switch x, _ := r.step(at.Process, at.Step); f.Kind {
	case progress.Lost:
		return fmt.Errorf("rank %d does not receive a message of rank %d", x.Channel.To, at.Process)
	case progress.Mismatch:
		y, _ := r.step(f.At[1].Process, f.At[1].Step)
		if x.Kind == progress.Send {
			return fmt.Errorf("rank %d receives %s from rank %d, which sends %s", f.At[1].Process, y.What, at.Process, x.What)
		}
		return fmt.Errorf("rank %d issues %s where rank %d issues %s", f.At[1].Process, y.What, at.Process, x.What)
	}
	var waits []string
	for _, at := range f.At {
		in := &r.device[at.Process].Progs[r.prog].Instrs[at.Step]
		if in.Comm.Kind == Done {
			at.Step = in.Comm.Of
			in = &r.device[at.Process].Progs[r.prog].Instrs[at.Step]
		}
		waits = append(waits, fmt.Sprintf("rank %d waits in %s (instruction %d)", at.Process, signature(in), at.Step))
	}
	if f.Ended >= 0 {
		waits = append(waits, fmt.Sprintf("rank %d is at its end", f.Ended))
	}
	return fmt.Errorf("deadlock: %s", strings.Join(waits, ", "))
}

// signature is what members of a group must agree on, in words.
func signature(in *Instr) string {
	c := in.Comm
	var b strings.Builder
	b.WriteString(c.Kind)
	if c.Reduce != "" {
		fmt.Fprintf(&b, " (%s)", c.Reduce)
	}
	fmt.Fprintf(&b, " of %s[%d, %d]", c.DType, c.Outer, c.Inner)
	for _, v := range c.Rest {
		fmt.Fprintf(&b, ", [%d, %d]", v.Outer, v.Inner)
	}
	switch {
	case c.Kind == AllToAll:
		fmt.Fprintf(&b, " to [%d, %d]", c.DstOuter, c.DstInner)
	case c.Kind == Permute:
		fmt.Fprintf(&b, " from %v", c.From)
	case c.Kind == Send || c.Kind == Recv:
		fmt.Fprintf(&b, " with %d, tag %d", c.Peer, c.Tag)
	}
	if in.Scope != "" {
		b.WriteString(" " + in.Scope)
	}
	fmt.Fprintf(&b, " over %s", strings.Join(c.Over, ", "))
	return b.String()
}
