package program

import (
	"fmt"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/progress"
)

// rehearsal is a run of one program on all devices.
type rehearsal struct {
	*quotient
	parts   map[int]*part // by rank
	words   map[word]string
	streams int // of messages from one device to another; 0: one of each tag
	ends    map[end]progress.Step
}

// newRehearsal is that of a program of p, with messages of a tag as a stream, or with so many streams of
// all tags.
func newRehearsal(p *Plan, prog, streams int) (*rehearsal, error) {
	s, err := quotientOf(p, prog)
	if err != nil {
		return nil, err
	}
	number := func(at func(j int) int) (n int) { // of coordinates on the axes By
		for j, name := range p.By {
			n = n*p.Mesh[p.Mesh.index(name)].Size + at(j)
		}
		return n
	}
	class := make([]*part, len(p.Devices))
	for i := range p.Devices {
		d := &p.Devices[i]
		if class[number(func(j int) int { return d.At[j] })], err = newPart(d.Order(&d.Progs[prog]), s.matters); err != nil {
			return nil, err
		}
	}
	r := &rehearsal{quotient: s, parts: make(map[int]*part, len(s.ranks)), words: map[word]string{}, streams: streams, ends: map[end]progress.Step{}}
	for _, rank := range s.ranks {
		at := p.Mesh.Coordinates(rank)
		r.parts[rank] = class[number(func(j int) int { return at[p.Mesh.index(p.By[j])] })]
	}
	return r, nil
}

// word is an instruction for an instance, to be put into words.
type word struct {
	in       *Instr
	instance int
}

// end is a communication as a rank issues it.
type end struct {
	rank int
	c    *Comm
}

// step is what event i of a rank does among devices.
func (r *rehearsal) step(rank, i int) (progress.Step, bool) {
	own := r.parts[rank]
	tick, at, in := own.event(i)
	if in == nil {
		return progress.Step{}, false
	}
	c, of := in.Comm, 0
	if c.Kind == collective.Done {
		of = own.at(tick, at.of)
		if c = own.order.prog.Instrs[c.Of].Comm; c.Kind != collective.Recv {
			return progress.Step{Kind: progress.Wait, Of: of}, true
		}
	}
	x := r.end(rank, c)
	if x.Of = of; in.Comm.Kind == collective.Done {
		x.Kind = progress.Take
	}
	if c.message() {
		tag := c.Tag + c.Each*own.order.Ticks[tick].Micro
		if x.Channel.Tag = tag; r.streams > 0 {
			x.Channel.Tag, x.What = tag%r.streams, fmt.Sprintf("%s, tag %d", content(c), tag)
		}
	} else {
		x.What = r.signature(in, at.instance)
	}
	return x, true
}

// end is what a rank does in a communication, for whatever instance and microbatch.
func (r *rehearsal) end(rank int, c *Comm) progress.Step {
	x, known := r.ends[end{rank, c}]
	if known {
		return x
	}
	switch c.Kind {
	case collective.Send:
		x = progress.Step{Kind: progress.Send, Channel: progress.Channel{From: rank, To: r.mesh.PeerOf(rank, c)}, What: content(c)}
	case collective.Recv:
		x = progress.Step{Kind: progress.Receive, Channel: progress.Channel{From: r.mesh.PeerOf(rank, c), To: rank}, What: content(c)}
		if c.Start {
			x.Kind = progress.Post
		}
	default:
		x = progress.Step{Kind: progress.Meet, Group: r.groupOf(rank, c), Members: r.size(c.Over)}
		if c.Start {
			x.Kind = progress.Start
		}
	}
	r.ends[end{rank, c}] = x
	return x
}

// signature is that of an instruction, made once for all ranks that run it.
func (r *rehearsal) signature(in *Instr, k int) string {
	text, known := r.words[word{in, k}]
	if !known {
		text = signature(in, k)
		r.words[word{in, k}] = text
	}
	return text
}

// content is what a message holds.
func content(c *Comm) string { return fmt.Sprintf("%d of %s", c.Outer*c.Inner, c.DType) }

// signature is what members of a group must agree on, in words, for an instance.
func signature(in *Instr, k int) string {
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
	case c.Kind == collective.AllToAll:
		fmt.Fprintf(&b, " to [%d, %d]", c.DstOuter, c.DstInner)
	case c.Kind == collective.Permute:
		fmt.Fprintf(&b, " from %v", c.From)
	case c.message():
		fmt.Fprintf(&b, " with %d, tag %d", c.Peer, c.Tag)
	}
	if in.Scope != "" {
		b.WriteString(" " + of(in.Scope, k))
	}
	fmt.Fprintf(&b, " over %s", strings.Join(c.Over, ", "))
	return b.String()
}
