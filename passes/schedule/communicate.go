package schedule

import (
	"container/heap"
	"math"
)

// Communicate places the transfers of a schedule so that they cannot deadlock,
// even with sends that wait for the receiver, and whatever the true costs are.
//
// It puts all slots and messages of all devices in one total order: the order
// of time under the given costs with channels that never fill, a message right
// when its slot ends and before any slot that starts then. Each device's program
// is that order restricted to what concerns the device. So the first event in
// the order that has not happened is the next one for every device it concerns,
// and can happen: there is no deadlock. Transfers of a device without a slot in
// between become one action, which begins them together; that only takes waits
// away. In the steady state of 1f1b it pairs the activation sent to a neighbor
// with the gradient received from it:
//
//	device 0  F2 { send activation 2, receive gradient 1 } B1
//	device 1  B1 { receive activation 2, send gradient 1 } F2
//
// An executor may begin the transfers of an action and wait for a received
// message only before the slot that reads it, and for a sent one only before
// its buffer is written again; this too only takes waits away.
//
// The costs decide how early a receive stands, never whether the program is
// right: a receive before a slot that could have run first costs idle time where
// the true costs differ. It is an error if the schedule cannot be run at all,
// which includes that the two stages at a boundary take the microbatches in
// different orders.
func Communicate(s *Schedule, c Costs) (*Program, error) {
	timed, err := Simulate(s, c, Sends{Capacity: Unbounded})
	if err != nil {
		return nil, err
	}
	order := newTotalOrder(timed)
	p := &Program{Shape: s.Shape, Devices: make([][]Action, len(s.Devices))}
	for d := range p.Devices {
		p.Devices[d] = make([]Action, 0, 2*len(s.Devices[d]))
	}
	transfer := func(device int, t Transfer) {
		actions := p.Devices[device]
		if n := len(actions); n > 0 && !actions[n-1].IsRun() {
			actions[n-1].Transfers = append(actions[n-1].Transfers, t)
			return
		}
		p.Devices[device] = append(actions, Action{Transfers: []Transfer{t}})
	}
	for {
		e, ok := order.pop()
		if !ok {
			return p, nil
		}
		if !e.isMessage {
			p.Devices[e.device] = append(p.Devices[e.device], Action{Slot: e.slot})
			continue
		}
		from, to := s.Shape.Ends(e.message)
		transfer(from, s.Shape.transfer(e.message, true))
		transfer(to, s.Shape.transfer(e.message, false))
	}
}

// moment is a slot's start or a message, with the time at which it wants to
// stand in the total order.
type moment struct {
	time      float64
	device    int
	isMessage bool
	message   Message
	slot      Slot
	open      int   // moments that must come before and have not
	after     []int // moments that must come after
}

// totalOrder yields moments by time, and at the same time messages before slots;
// but never before what they depend on, which settles times that tie.
type totalOrder struct {
	moments []moment
	ready   []int
}

func newTotalOrder(r *Result) *totalOrder {
	o := &totalOrder{}
	// Times that differ by the rounding of their sums only are the same.
	grain := r.Makespan * 1e-9
	round := func(t float64) float64 {
		if grain == 0 {
			return 0
		}
		return math.Round(t / grain)
	}
	made := map[Message]int{}
	for d, runs := range r.Devices {
		last := -1
		for _, run := range runs {
			id := o.add(moment{time: round(run.Start), device: d, slot: run.Slot})
			o.edge(last, id)
			last = id
			if m, ok := r.Shape.Output(run.Slot); ok {
				made[m] = o.add(moment{time: round(run.End), device: d, isMessage: true, message: m})
				o.edge(id, made[m])
			}
		}
	}
	for id := range o.moments {
		if e := &o.moments[id]; !e.isMessage {
			if m, ok := r.Shape.Input(e.slot); ok {
				o.edge(made[m], id)
			}
		}
	}
	for id := range o.moments {
		if o.moments[id].open == 0 {
			o.ready = append(o.ready, id)
		}
	}
	heap.Init(o)
	return o
}

func (o *totalOrder) add(m moment) int {
	o.moments = append(o.moments, m)
	return len(o.moments) - 1
}

func (o *totalOrder) edge(before, after int) {
	if before >= 0 {
		o.moments[before].after = append(o.moments[before].after, after)
		o.moments[after].open++
	}
}

func (o *totalOrder) pop() (moment, bool) {
	if len(o.ready) == 0 {
		return moment{}, false
	}
	m := o.moments[heap.Pop(o).(int)]
	for _, id := range m.after {
		if o.moments[id].open--; o.moments[id].open == 0 {
			heap.Push(o, id)
		}
	}
	return m, true
}

// Len, Less, Swap, Push and Pop are heap.Interface over the ready moments.

func (o *totalOrder) Len() int { return len(o.ready) }

func (o *totalOrder) Less(i, j int) bool {
	a, b := &o.moments[o.ready[i]], &o.moments[o.ready[j]]
	switch {
	case a.time != b.time:
		return a.time < b.time
	case a.isMessage != b.isMessage:
		return a.isMessage
	}
	return o.ready[i] < o.ready[j]
}

func (o *totalOrder) Swap(i, j int) { o.ready[i], o.ready[j] = o.ready[j], o.ready[i] }

func (o *totalOrder) Push(x any) { o.ready = append(o.ready, x.(int)) }

func (o *totalOrder) Pop() any {
	n := len(o.ready) - 1
	x := o.ready[n]
	o.ready = o.ready[:n]
	return x
}
