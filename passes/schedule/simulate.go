package schedule

import (
	"fmt"
	"math"
	"strings"
)

// Run is a slot with its times.
type Run struct {
	Slot       Slot
	Start, End float64
}

// Result is what a simulation measured. Times are in the unit of the costs.
type Result struct {
	Shape Shape
	// Devices holds the runs of each device in order.
	Devices [][]Run
	// Makespan is the time from the start of the step to the end of the last
	// slot or transfer.
	Makespan float64
	// Idle is, for each device, the part of the makespan without a slot running.
	Idle []float64
	// Bubble is the idle share of all devices' time: ΣIdle / (p · Makespan).
	Bubble float64
	// Peak is, for each device, the greatest number of activations held at
	// once. One is held for each virtual stage and microbatch from the start of
	// its forward pass to the end of its backward pass or weight backward.
	Peak []int
	// StagePeak is the same for each virtual stage.
	StagePeak []int
}

// Simulate runs a schedule in time: each slot receives its input before it runs
// and sends its output after (see [Plain]). It returns an error if the schedule
// cannot be run to its end; it does not check that all work is there, which is
// for [Prove].
func Simulate(s *Schedule, c Costs, sends Sends) (*Result, error) {
	if err := checkSlots(s); err != nil {
		return nil, err
	}
	return SimulateProgram(Plain(s), c, sends)
}

// SimulateProgram runs a program in time. An asynchronous message leaves when
// its channel has room, arrives after the latency and leaves room again when it
// is received. A synchronous one begins when both ends have come to it, and
// keeps both for the latency.
func SimulateProgram(p *Program, c Costs, sends Sends) (*Result, error) {
	if err := sends.Validate(); err != nil {
		return nil, err
	}
	if err := checkProgram(p); err != nil {
		return nil, err
	}
	var used [kinds]bool
	for _, actions := range p.Devices {
		for _, a := range actions {
			if a.IsRun() {
				used[a.Slot.Kind] = true
			}
		}
	}
	if err := c.check(p.Shape, used); err != nil {
		return nil, err
	}
	sim := newSimulation(p, c, sends)
	if err := sim.run(); err != nil {
		return nil, err
	}
	return sim.result(), nil
}

// simulation interprets a program. Which device is advanced first does not
// matter: each waits for particular messages only, never for any of several, so
// all orders give the same times.
type simulation struct {
	program  *Program
	costs    Costs
	sends    Sends
	devices  []*deviceState
	channels [payloads][]*channel
}

type deviceState struct {
	next int     // the action under way
	time float64 // when it began or could have begun
	// ends holds the completion of each transfer of the action under way, NaN
	// while it is open; offered holds its position in its channel, or -1.
	ends    []float64
	offered []int
	done    map[Slot]bool
	arrived map[Message]bool
	runs    []Run
}

// channel is a queue of messages; those before len(taken) have been received.
type channel struct {
	sent  []flight
	taken []float64
}

// flight is a message on its way: when it arrives, or for a synchronous send
// when the sender offered it.
type flight struct {
	microbatch int
	time       float64
}

func newSimulation(p *Program, c Costs, sends Sends) *simulation {
	sim := &simulation{program: p, costs: c, sends: sends}
	for range p.Devices {
		sim.devices = append(sim.devices, &deviceState{done: map[Slot]bool{}, arrived: map[Message]bool{}})
	}
	for k := range sim.channels {
		for i := 0; i < p.Shape.Boundaries(); i++ {
			sim.channels[k] = append(sim.channels[k], &channel{})
		}
	}
	return sim
}

func (sim *simulation) run() error {
	for progress := true; progress; {
		progress = false
		for d := range sim.devices {
			for sim.step(d) {
				progress = true
			}
		}
	}
	var stuck []string
	for d, dev := range sim.devices {
		if actions := sim.program.Devices[d]; dev.next < len(actions) {
			stuck = append(stuck, fmt.Sprintf("  device %d waits to %s", d, sim.pending(dev, actions[dev.next])))
		}
	}
	if stuck != nil {
		return faultf(Deadlock, "the pipeline stops with %s:\n%s", sim.sends, strings.Join(stuck, "\n"))
	}
	for k, chans := range sim.channels {
		for b, ch := range chans {
			if n := len(ch.sent) - len(ch.taken); n > 0 {
				return faultf(Missing, "%s is sent but never received",
					Message{Payload(k), b, ch.sent[len(ch.taken)].microbatch})
			}
		}
	}
	return nil
}

// pending says what an action waits for.
func (sim *simulation) pending(dev *deviceState, a Action) string {
	if a.IsRun() {
		return "run the " + a.Slot.String()
	}
	var open []string
	for i, t := range a.Transfers {
		if dev.ends == nil || math.IsNaN(dev.ends[i]) {
			open = append(open, t.String())
		}
	}
	return strings.Join(open, " and ")
}

// step advances a device by one action or by a transfer of one, and tells
// whether it could.
func (sim *simulation) step(d int) bool {
	dev, actions := sim.devices[d], sim.program.Devices[d]
	if dev.next == len(actions) {
		return false
	}
	if a := actions[dev.next]; !a.IsRun() {
		return sim.stepTransfers(dev, a)
	}
	slot := actions[dev.next].Slot
	if !sim.ready(dev, slot) {
		return false // and never will be: what it needs comes later on this device
	}
	end := dev.time + sim.costs.slot(slot)
	dev.runs = append(dev.runs, Run{slot, dev.time, end})
	dev.done[slot] = true
	dev.time = end
	dev.next++
	return true
}

func (sim *simulation) ready(dev *deviceState, slot Slot) bool {
	if m, ok := sim.program.Shape.Input(slot); ok && !dev.arrived[m] {
		return false
	}
	for _, need := range localNeeds(sim.program.Shape, slot) {
		found := false
		for _, alternative := range need {
			found = found || dev.done[alternative]
		}
		if !found {
			return false
		}
	}
	return true
}

func (sim *simulation) stepTransfers(dev *deviceState, a Action) bool {
	if dev.ends == nil {
		for range a.Transfers {
			dev.ends = append(dev.ends, math.NaN())
			dev.offered = append(dev.offered, -1)
		}
	}
	progress, open := false, false
	for i, t := range a.Transfers {
		if !math.IsNaN(dev.ends[i]) {
			continue
		}
		moved := false
		if t.Send {
			moved = sim.send(dev, i, t.Message)
		} else {
			moved = sim.receive(dev, i, t.Message)
		}
		progress = progress || moved
		open = open || math.IsNaN(dev.ends[i])
	}
	if open {
		return progress
	}
	for _, end := range dev.ends {
		dev.time = max(dev.time, end)
	}
	dev.ends, dev.offered = nil, nil
	dev.next++
	return true
}

func (sim *simulation) send(dev *deviceState, i int, m Message) bool {
	ch := sim.channels[m.Payload][m.Boundary]
	if sim.sends.Synchronous {
		if dev.offered[i] < 0 {
			dev.offered[i] = len(ch.sent)
			ch.sent = append(ch.sent, flight{m.Microbatch, dev.time})
			return true
		}
		if dev.offered[i] >= len(ch.taken) {
			return false
		}
		dev.ends[i] = ch.taken[dev.offered[i]]
		return true
	}
	n := len(ch.sent)
	if n-len(ch.taken) >= sim.sends.Capacity {
		return false
	}
	at := dev.time
	if n >= sim.sends.Capacity {
		at = max(at, ch.taken[n-sim.sends.Capacity])
	}
	dev.ends[i] = at
	ch.sent = append(ch.sent, flight{m.Microbatch, at + sim.costs.latency(m.Boundary)})
	return true
}

func (sim *simulation) receive(dev *deviceState, i int, m Message) bool {
	ch := sim.channels[m.Payload][m.Boundary]
	n := len(ch.taken)
	if n == len(ch.sent) || ch.sent[n].microbatch != m.Microbatch {
		return false
	}
	end := max(dev.time, ch.sent[n].time)
	if sim.sends.Synchronous {
		end += sim.costs.latency(m.Boundary)
	}
	dev.ends[i] = end
	ch.taken = append(ch.taken, end)
	dev.arrived[m] = true
	return true
}

func (sim *simulation) result() *Result {
	shape := sim.program.Shape
	r := &Result{Shape: shape, StagePeak: make([]int, shape.Stages())}
	for _, dev := range sim.devices {
		r.Devices = append(r.Devices, dev.runs)
		r.Makespan = max(r.Makespan, dev.time)
	}
	idle := 0.0
	for _, runs := range r.Devices {
		busy := 0.0
		for _, run := range runs {
			busy += run.End - run.Start
		}
		r.Idle = append(r.Idle, r.Makespan-busy)
		idle += r.Makespan - busy
		r.Peak = append(r.Peak, peaks(runs, r.StagePeak))
	}
	if r.Makespan > 0 {
		r.Bubble = idle / (float64(len(r.Devices)) * r.Makespan)
	}
	return r
}

// peaks counts activations held along the runs of one device, which are in
// order of time. It sets the peaks of the device's stages and returns the
// device's own.
func peaks(runs []Run, stagePeak []int) int {
	held, peak, byStage := 0, 0, map[int]int{}
	for _, run := range runs {
		s := run.Slot.Stage
		switch run.Slot.Kind {
		case Forward:
			held++
			byStage[s]++
		case Backward, BackwardWeight:
			held--
			byStage[s]--
		}
		peak = max(peak, held)
		stagePeak[s] = max(stagePeak[s], byStage[s])
	}
	return peak
}
