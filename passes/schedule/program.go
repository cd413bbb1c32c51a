package schedule

import (
	"fmt"
	"strings"
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
func (p Payload) String() string {
	switch p {
	case Activation:
		return "activation"
	case Gradient:
		return "gradient"
	}
	return fmt.Sprintf("payload %d", uint8(p))
}

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

// Ends returns the devices that send and receive the message.
func (s Shape) Ends(m Message) (from, to int) {
	from, to = s.Device(m.Boundary), s.Device(m.Boundary+1)
	if m.Payload == Gradient {
		from, to = to, from
	}
	return from, to
}

// Input returns the message that a slot reads, if it reads one: stages on the
// same device (only when there is a single device) hand over in memory.
func (s Shape) Input(slot Slot) (Message, bool) {
	switch slot.Kind {
	case Forward:
		return Message{Activation, slot.Stage - 1, slot.Microbatch}, s.Devices > 1 && slot.Stage > 0
	case Backward, BackwardInput:
		return Message{Gradient, slot.Stage, slot.Microbatch}, s.Devices > 1 && slot.Stage < s.Stages()-1
	}
	return Message{}, false
}

// Output returns the message that a slot makes, if it makes one.
func (s Shape) Output(slot Slot) (Message, bool) {
	switch slot.Kind {
	case Forward:
		return Message{Activation, slot.Stage, slot.Microbatch}, s.Devices > 1 && slot.Stage < s.Stages()-1
	case Backward, BackwardInput:
		return Message{Gradient, slot.Stage - 1, slot.Microbatch}, s.Devices > 1 && slot.Stage > 0
	}
	return Message{}, false
}

// Transfer is one end of a message.
type Transfer struct {
	// Send is true at the sender, false at the receiver.
	Send    bool
	Message Message
	// Peer is the device at the other end.
	Peer int
}

// String says what the device does: sends or receives what.
func (t Transfer) String() string {
	verb := "receive"
	if t.Send {
		verb = "send"
	}
	return verb + " " + t.Message.String()
}

// Action is one step of a device: either it runs a slot (Transfers is empty),
// or it begins all Transfers together and goes on when all are complete, as
// MPI_Isend and MPI_Irecv with MPI_Waitall do, or a group of NCCL.
type Action struct {
	Slot      Slot
	Transfers []Transfer
}

// IsRun tells whether the action runs a slot.
func (a Action) IsRun() bool { return len(a.Transfers) == 0 }

// Program is what the devices do in order: slots and the transfers between
// them. A pass expands it action by action.
type Program struct {
	Shape   Shape
	Devices [][]Action
}

// String writes the program with one line for each action.
func (p *Program) String() string {
	var b strings.Builder
	for d, actions := range p.Devices {
		fmt.Fprintf(&b, "device %d\n", d)
		for _, a := range actions {
			if a.IsRun() {
				fmt.Fprintf(&b, "  %s\n", p.Shape.Label(a.Slot))
				continue
			}
			for i, t := range a.Transfers {
				sep, verb, to := "  { ", "receive", "from"
				if i > 0 {
					sep = ", "
				}
				if t.Send {
					verb, to = "send", "to"
				}
				fmt.Fprintf(&b, "%s%s %s %d over boundary %d %s device %d", sep, verb, t.Message.Payload, t.Message.Microbatch, t.Message.Boundary, to, t.Peer)
			}
			b.WriteString(" }\n")
		}
	}
	return b.String()
}

// Schedule returns the slots of the program without its transfers.
func (p *Program) Schedule() *Schedule {
	s := &Schedule{Shape: p.Shape, Devices: make([][]Slot, len(p.Devices))}
	for d, actions := range p.Devices {
		for _, a := range actions {
			if a.IsRun() {
				s.Devices[d] = append(s.Devices[d], a.Slot)
			}
		}
	}
	return s
}

// Plain returns the program in which each slot receives its input right before
// it runs and sends its output right after. It needs sends that do not wait for
// the receiver; [Communicate] makes one that does not.
func Plain(s *Schedule) *Program {
	p := &Program{Shape: s.Shape, Devices: make([][]Action, len(s.Devices))}
	for d, slots := range s.Devices {
		actions := make([]Action, 0, 3*len(slots))
		for _, slot := range slots {
			if m, ok := s.Shape.Input(slot); ok {
				actions = append(actions, Action{Transfers: []Transfer{s.Shape.transfer(m, false)}})
			}
			actions = append(actions, Action{Slot: slot})
			if m, ok := s.Shape.Output(slot); ok {
				actions = append(actions, Action{Transfers: []Transfer{s.Shape.transfer(m, true)}})
			}
		}
		p.Devices[d] = actions
	}
	return p
}

func (s Shape) transfer(m Message, send bool) Transfer {
	from, to := s.Ends(m)
	if send {
		return Transfer{Send: true, Message: m, Peer: to}
	}
	return Transfer{Message: m, Peer: from}
}

// Sends says how messages travel.
type Sends struct {
	// Synchronous sends complete only when the receiver takes the message
	// (rendezvous). Capacity is then not used.
	Synchronous bool
	// Capacity is the number of messages that one channel (one payload across
	// one boundary) holds between the send and the receive; a send into a full
	// channel waits. At least 1.
	Capacity int
}

// Unbounded is the capacity of channels that are never full.
const Unbounded = maxSlots

// Validate returns an error if the capacity of asynchronous sends is below 1.
func (s Sends) Validate() error {
	if !s.Synchronous && s.Capacity < 1 {
		return faultf(BadShape, "asynchronous sends need a capacity of at least 1 message, found %d", s.Capacity)
	}
	return nil
}

func (s Sends) String() string {
	switch {
	case s.Synchronous:
		return "sends that wait for the receiver"
	case s.Capacity == 1:
		return "1 message in flight per channel"
	case s.Capacity >= Unbounded:
		return "any number of messages in flight"
	}
	return fmt.Sprintf("%d messages in flight per channel", s.Capacity)
}
