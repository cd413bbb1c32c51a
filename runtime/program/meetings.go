package program

import (
	"errors"
	"fmt"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/progress"
	"ptc/internal/rolled"
)

// validateMeetings proves that the communications of every program meet: members
// of a group issue the same ones in the same order, every message that is sent
// is received, and no device waits for ever.
//
// Where one program runs on all devices and sends no message, there is nothing
// to prove. Otherwise the programs are run, without their kernels: a device
// stops where it waits for a collective until all members have issued it, at a
// receive until there is a message, and at a send until there is room. A message whose
// receive was started is taken where that is done, whatever room its sender has before.
// One run proves it for all (package progress). Nor do devices differ that run the same
// and stand alike to all others: one of them goes for all, see [quotient].
// What is then left to wait for in a run is nothing, as a rule; else the run is gone
// through instance by instance.
func validateMeetings(p *Plan) error {
	if len(p.Devices) == 0 {
		return nil
	}
	for i := range p.Devices[0].Progs {
		if len(p.Devices) == 1 && !messages(&p.Devices[0].Progs[i]) {
			continue
		}
		if err := rehearse(p, i, 0); err != nil {
			return invalid("program %s: %v", p.Devices[0].Progs[i].Name, err)
		}
	}
	return nil
}

// messages says whether a program sends or receives any.
func messages(prog *Program) bool {
	for i := range prog.Instrs {
		if c := prog.Instrs[i].Comm; c != nil && c.message() {
			return true
		}
	}
	return false
}

// Streams is into how few streams of messages from one device to another a transport may put those
// of a valid plan that has no tags for them: message by message to stream number tag mod Streams. In each they
// are received in the order in which they are sent, and no device waits for ever where
// [InFlight] of a stream may be under way. 0: there is no such number.
func (p *Plan) Streams() int {
	classes := 1
	for i := range p.Devices {
		for j := range p.Devices[i].Progs {
			for _, in := range p.Devices[i].Progs[j].Instrs {
				if c := in.Comm; c != nil && c.message() {
					classes = max(classes, c.Each, c.Tag+1-c.Each)
				}
			}
		}
	}
	for _, n := range []int{1, classes} {
		if inOrder(p, n) == nil {
			return n
		}
	}
	return 0
}

// inOrder says why so many streams are not enough.
func inOrder(p *Plan, streams int) error {
	if len(p.Devices) == 0 {
		return nil
	}
	for i := range p.Devices[0].Progs {
		sends := false
		for j := range p.Devices {
			sends = sends || messages(&p.Devices[j].Progs[i])
		}
		if !sends {
			continue
		}
		if err := rehearse(p, i, streams); err != nil {
			return err
		}
	}
	return nil
}

// rehearse runs a program on all devices, see [newRehearsal].
func rehearse(p *Plan, prog, streams int) error {
	r, err := newRehearsal(p, prog, streams)
	if err != nil {
		return err
	}
	_, err = progress.System{Processes: r.ranks, Step: r.step, Room: InFlight, Posts: MaxOpen, Members: r.members}.Run()
	var f *progress.Fault
	if errors.As(err, &f) {
		return explain(r, f)
	}
	return err
}

// explain says who waits for ever, or what does not meet.
func explain(r *rehearsal, f *progress.Fault) error {
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
		own := r.parts[at.Process]
		tick, x, in := own.event(at.Step)
		if in.Comm.Kind == collective.Done {
			_, x, in = own.event(own.at(tick, x.of))
		}
		by := rolled.Issue{Op: x.instr, Instance: x.instance, Micro: once}
		if own.order.PerMicro(x.instr) {
			by.Micro = own.order.Ticks[tick].Micro
		}
		waits = append(waits, fmt.Sprintf("rank %d waits in %s (%s)", at.Process, r.signature(in, x.instance), by))
	}
	if f.Ended >= 0 {
		waits = append(waits, fmt.Sprintf("rank %d is at its end", f.Ended))
	}
	return fmt.Errorf("deadlock: %s", strings.Join(waits, ", "))
}
