package pipeline

import (
	"fmt"

	"ptc/internal/progress"
)

// Payload is what a message carries.
type Payload uint8

// The payloads.
const (
	// Activation is the output of a stage, sent to the next one.
	Activation Payload = iota
	// Gradient is the gradient of a stage's input, sent to the previous one.
	Gradient

	payloads = 2
)

// String returns "activation" or "gradient".
func (p Payload) String() string { return [payloads]string{"activation", "gradient"}[p] }

// Message is one microbatch's activation or gradient crossing one boundary.
type Message struct {
	Payload Payload
	// Boundary b lies between stage b and stage b+1.
	Boundary   int
	Microbatch int
}

// String names the message in words.
func (m Message) String() string {
	return fmt.Sprintf("the %s of microbatch %d across boundary %d", m.Payload, m.Microbatch, m.Boundary)
}

// crosses is m, and whether it is a message at all: stages on one device hand over
// in memory, and there is nothing before the first stage and behind the last.
func (p *Placement) crosses(m Message) (Message, bool) {
	ok := m.Boundary >= 0 && m.Boundary+1 < len(p.device) && p.device[m.Boundary] != p.device[m.Boundary+1]
	return m, ok
}

// Input returns the message that a slot reads, if it reads one.
func (p *Placement) Input(slot Slot) (Message, bool) {
	switch slot.Kind {
	case Forward:
		return p.crosses(Message{Activation, slot.Stage - 1, slot.Microbatch})
	case Backward, BackwardInput:
		return p.crosses(Message{Gradient, slot.Stage, slot.Microbatch})
	}
	return Message{}, false
}

// Output returns the message that a slot makes, if it makes one.
func (p *Placement) Output(slot Slot) (Message, bool) {
	switch slot.Kind {
	case Forward:
		return p.crosses(Message{Activation, slot.Stage, slot.Microbatch})
	case Backward, BackwardInput:
		return p.crosses(Message{Gradient, slot.Stage - 1, slot.Microbatch})
	}
	return Message{}, false
}

// channel is where a message goes: each payload has one across each boundary.
func (p *Placement) channel(m Message) progress.Channel {
	from, to := p.device[m.Boundary], p.device[m.Boundary+1]
	if m.Payload == Gradient {
		from, to = to, from
	}
	return progress.Channel{From: from, To: to, Tag: payloads*m.Boundary + int(m.Payload)}
}

// Unbounded is the room of channels that are never full.
const Unbounded = maxSlots

// system is the devices with their slots, each of which receives its input right
// before it runs and sends its output right after: three steps for each slot.
func (s *Schedule) system(c Costs, room int) progress.System {
	sys := progress.System{Room: room, Step: func(d, i int) (progress.Step, bool) {
		if i >= 3*len(s.Devices[d]) {
			return progress.Step{}, false
		}
		slot := s.Devices[d][i/3]
		switch i % 3 {
		case 0:
			if m, ok := s.Place.Input(slot); ok {
				return progress.Step{Kind: progress.Receive, Channel: s.Place.channel(m), What: m}, true
			}
		case 1:
			return progress.Step{Time: c.slot(slot)}, true
		case 2:
			if m, ok := s.Place.Output(slot); ok {
				return progress.Step{Kind: progress.Send, Channel: s.Place.channel(m), What: m, Time: c.message(m.Boundary)}, true
			}
		}
		return progress.Step{}, true
	}}
	for d := range s.Devices {
		sys.Processes = append(sys.Processes, d)
	}
	return sys
}
