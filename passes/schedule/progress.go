package schedule

import (
	"fmt"
	"strings"
)

// proveProgress searches the graph of a program's events for a cycle. The
// program is complete and ordered.
//
// The events of an action are its begin, the completion of each transfer, and
// its end. An edge from a to b says that b waits for a:
//
//	begin ─▶ transfer ─▶ end ─▶ begin of the device's next action
//	send k ─▶ receive k              a message arrives after it left
//	receive k−c ─▶ send k            a channel with room for c messages
//	send k = receive k               a synchronous message is one event
//	send k ─▶ send k+1, receive k ─▶ receive k+1
func proveProgress(p *Program, sends Sends) error {
	g, channels := eventsOf(p)
	for k, chans := range channels {
		for b, ch := range chans {
			if err := ch.matches(p.Shape, Payload(k), b); err != nil {
				return err
			}
			g.connect(ch, sends)
		}
	}
	if cycle := g.cycle(); cycle != nil {
		return faultf(Deadlock, "with %s these devices wait for each other:\n%s", sends, g.explain(cycle))
	}
	return nil
}

// event is a node: a run, the begin or end of a group of transfers, or one
// transfer (two ends of it, where sends are synchronous).
type event struct {
	device int
	what   string // "begin", "end" or empty
	action Action
	ends   []Transfer // of a transfer
	before []int      // what it waits for
	merged int        // the event that stands for it
}

type eventGraph struct{ events []event }

func (g *eventGraph) add(e event, before ...int) int {
	e.before, e.merged = before, len(g.events)
	g.events = append(g.events, e)
	return e.merged
}

// traffic is one channel: its sends and receives as events, in program order.
type traffic struct {
	sends, receives       []int
	sent, received        []int // microbatches
	sendsFrom, receivesAt int   // devices
}

// eventsOf makes the events of every device with their order on the device.
func eventsOf(p *Program) (*eventGraph, [payloads][]*traffic) {
	g := &eventGraph{}
	var channels [payloads][]*traffic
	for k := range channels {
		for b := 0; b < p.Shape.Boundaries(); b++ {
			from, to := p.Shape.Ends(Message{Payload: Payload(k), Boundary: b})
			channels[k] = append(channels[k], &traffic{sendsFrom: from, receivesAt: to})
		}
	}
	for d, actions := range p.Devices {
		var last []int
		for _, a := range actions {
			if a.IsRun() {
				last = []int{g.add(event{device: d, action: a}, last...)}
				continue
			}
			begin := g.add(event{device: d, what: "begin", action: a}, last...)
			end := event{device: d, what: "end", action: a}
			var parts []int
			for _, t := range a.Transfers {
				id := g.add(event{device: d, ends: []Transfer{t}}, begin)
				parts = append(parts, id)
				ch := channels[t.Message.Payload][t.Message.Boundary]
				if t.Send {
					ch.sends, ch.sent = append(ch.sends, id), append(ch.sent, t.Message.Microbatch)
				} else {
					ch.receives, ch.received = append(ch.receives, id), append(ch.received, t.Message.Microbatch)
				}
			}
			last = []int{g.add(end, parts...)}
		}
	}
	return g, channels
}

// matches: a channel keeps its order, so both ends must agree on it.
func (ch *traffic) matches(s Shape, k Payload, boundary int) error {
	for i := range ch.sent {
		if ch.sent[i] != ch.received[i] {
			return faultf(Mismatch, "device %d sends the %ss across boundary %d with microbatch %d as number %d, device %d receives microbatch %d there",
				ch.sendsFrom, k, boundary, ch.sent[i], i, ch.receivesAt, ch.received[i])
		}
	}
	return nil
}

// connect adds the edges of one channel.
func (g *eventGraph) connect(ch *traffic, sends Sends) {
	wait := func(id, on int) { g.events[id].before = append(g.events[id].before, on) }
	for i, send := range ch.sends {
		receive := ch.receives[i]
		if i > 0 {
			wait(send, ch.sends[i-1])
			wait(receive, ch.receives[i-1])
		}
		if sends.Synchronous {
			s, r := &g.events[send], &g.events[receive]
			s.before, s.ends = append(s.before, r.before...), append(s.ends, r.ends...)
			r.before, r.merged = nil, send
			continue
		}
		wait(receive, send)
		if i >= sends.Capacity {
			wait(send, ch.receives[i-sends.Capacity])
		}
	}
}

// waits returns what an event waits for, with merged events replaced.
func (g *eventGraph) waits(id int) []int {
	out := make([]int, len(g.events[id].before))
	for i, b := range g.events[id].before {
		out[i] = g.events[b].merged
	}
	return out
}

// cycle returns a short cycle, each event waiting for the next and the last for
// the first, or nil.
func (g *eventGraph) cycle() []int {
	open := make([]int, len(g.events)) // events it still waits for
	after := make([][]int, len(g.events))
	var ready []int
	for id := range g.events {
		before := g.waits(id)
		open[id] = len(before)
		for _, b := range before {
			after[b] = append(after[b], id)
		}
		if len(before) == 0 {
			ready = append(ready, id)
		}
	}
	for len(ready) > 0 {
		id := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, a := range after[id] {
			if open[a]--; open[a] == 0 {
				ready = append(ready, a)
			}
		}
	}
	for id := range g.events {
		if open[id] > 0 {
			return g.shortest(g.follow(id, open), open)
		}
	}
	return nil
}

// follow goes from an event that never happens to one that it waits for and
// that never happens either, until it meets its own path: that is a cycle.
func (g *eventGraph) follow(id int, open []int) []int {
	at := map[int]int{}
	var path []int
	for {
		if k, seen := at[id]; seen {
			return path[k:]
		}
		at[id] = len(path)
		path = append(path, id)
		for _, b := range g.waits(id) {
			if open[b] > 0 {
				id = b
				break
			}
		}
	}
}

// shortest looks for a shorter cycle through one of the first events of one,
// since a short one explains more.
func (g *eventGraph) shortest(cycle, open []int) []int {
	const tries = 16
	best := cycle
	for _, start := range cycle[:min(tries, len(cycle))] {
		from := map[int]int{start: -1}
		queue := []int{start}
		for found := false; len(queue) > 0 && !found; queue = queue[1:] {
			for _, b := range g.waits(queue[0]) {
				if b == start {
					found = true
					if c := unwind(from, queue[0]); len(c) < len(best) {
						best = c
					}
					break
				}
				if _, seen := from[b]; !seen && open[b] > 0 {
					from[b] = queue[0]
					queue = append(queue, b)
				}
			}
		}
	}
	return best
}

// unwind returns the path that ends at id.
func unwind(from map[int]int, id int) []int {
	var path []int
	for ; id >= 0; id = from[id] {
		path = append([]int{id}, path...)
	}
	return path
}

// explain writes a cycle as one line for each wait between devices, with the
// program order of a device between two of them drawn together.
func (g *eventGraph) explain(cycle []int) string {
	var stops []int // the transfers: where the cycle can change the device
	for k, id := range cycle {
		if g.events[id].ends != nil {
			stops = append(stops, k)
		}
	}
	var lines []string
	for i, k := range stops {
		next := stops[(i+1)%len(stops)]
		e, f := g.events[cycle[k]], g.events[cycle[next]]
		if (k+1)%len(cycle) == next { // one wait, without program order between
			lines = append(lines, g.explainChannel(e, f))
			continue
		}
		d := g.events[cycle[(k+1)%len(cycle)]].device
		lines = append(lines, fmt.Sprintf("  device %d can %s only after it can %s", d, e.at(d), f.at(d)))
	}
	return strings.Join(lines, "\n")
}

// explainChannel says why one transfer waits directly for another.
func (g *eventGraph) explainChannel(e, f event) string {
	t, u := e.ends[0], f.ends[0]
	switch {
	case !t.Send && u.Send:
		return fmt.Sprintf("  device %d can %s only once device %d sends it", e.device, t, f.device)
	case t.Send && !u.Send:
		return fmt.Sprintf("  device %d can %s only when there is room, once device %d can %s", e.device, t, f.device, u)
	}
	return fmt.Sprintf("  device %d can %s only after it can %s", e.device, t, u)
}

// at returns what a device does in a transfer: its own end of it.
func (e event) at(device int) string {
	for _, t := range e.ends {
		if t.Peer != device {
			return t.String()
		}
	}
	return e.ends[0].String()
}
