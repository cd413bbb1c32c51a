package program

import (
	"fmt"
	"strings"

	"ptc/internal/progress"
	"ptc/internal/rolled"
)

// signature is [Device.signature], made once for all ranks that run the instruction.
func (r *rehearsal) signature(d *Device, in *Instr, k int) string {
	text, known := r.words[word{in, k}]
	if !known {
		text = d.signature(in, k)
		r.words[word{in, k}] = text
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
	case progress.Order:
		return fmt.Errorf("rank %d begins to receive a message of rank %d with tag %d, and receives a later one first", at.Process, x.Channel.From, x.Channel.Tag)
	case progress.Crowded:
		return fmt.Errorf("rank %d begins to receive more than %d messages of rank %d with tag %d", at.Process, MaxOpen, x.Channel.From, x.Channel.Tag)
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
		own, turn, x, in := r.event(at.Process, at.Step)
		if in.Comm.Kind == Done {
			_, _, x, in = r.event(at.Process, own.at(turn, x.of))
		}
		by := rolled.Issue{Op: x.instr, Instance: x.instance, Micro: once}
		if own.order.PerMicro(x.instr) {
			by.Micro = own.order.Turns[turn].Micro
		}
		waits = append(waits, fmt.Sprintf("rank %d waits in %s (%s)", at.Process, r.device[at.Process].signature(in, x.instance), by))
	}
	if f.Ended >= 0 {
		waits = append(waits, fmt.Sprintf("rank %d is at its end", f.Ended))
	}
	return fmt.Errorf("deadlock: %s", strings.Join(waits, ", "))
}

// signature is what members of a group must agree on, in words, for an instance.
func (d *Device) signature(in *Instr, k int) string {
	c := in.Comm
	views := c.Views()
	var b strings.Builder
	b.WriteString(c.Kind)
	if c.Reduce != "" {
		fmt.Fprintf(&b, " (%s)", c.Reduce)
	}
	fmt.Fprintf(&b, " of %s[%d, %d]", c.DType, views[0].Outer, views[0].Inner)
	for _, v := range views[1:] {
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
		b.WriteString(" " + of(in.Scope, k))
	}
	fmt.Fprintf(&b, " over %s", strings.Join(c.Over, ", "))
	return b.String()
}
