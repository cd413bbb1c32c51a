package timeline

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/collective"
	"ptc/runtime/program"
)

// Timeline is what the devices of a pipeline do in a step, if all stages take the same
// time, a backward pass twice that of a forward pass, and messages none: the times of
// the usual figures (Narayanan et al., "Efficient Large-Scale Language Model Training on
// GPU Clusters Using Megatron-LM", 2021, figures 3 and 4). The unit is a forward pass.
type Timeline struct {
	Microbatches int      `json:"microbatches"`
	Tasks        []string `json:"tasks"` // names that slots refer to
	Rows         []Row    `json:"rows"`
	End          int      `json:"end"`
	Idle         float64  `json:"idle_share"` // of all rows' time
}

// Row is the work of a class of devices.
type Row struct {
	Device string `json:"device"`       // coordinates: "pp=0"
	Class  int    `json:"device_class"` //
	Slots  []Slot `json:"slots"`
}

// Slot is one tick of a task: the number of its name, its microbatch, and when it begins
// and ends.
type Slot [4]int

const (
	// maxSlots bounds the ticks that are drawn, maxTicks those that are simulated.
	maxSlots = 1 << 15
	maxTicks = 1 << 20
)

// Of is nil if there is no pipeline, or more ticks than a picture shows.
func Of(p *program.Plan) *Timeline {
	s := simulate(p, maxSlots)
	if s == nil {
		return nil
	}
	return s.timeline()
}

// Idle is the share of the devices' time in which they wait for one another, and how many microbatches a step has; 0 and
// 0 if there is no pipeline.
func Idle(p *program.Plan) (share float64, microbatches int) {
	s := simulate(p, maxTicks)
	if s == nil {
		return 0, 0
	}
	return s.idle(), s.devices[0].prog.Micro
}

// simulate runs the ticks of a plan's step, if there are any and no more than most.
func simulate(p *program.Plan, most int) *simulation {
	s := &simulation{plan: p, sent: map[channel][]int{}, task: map[string]int{}}
	ticks := 0
	for i := range p.Devices {
		prog := p.Devices[i].Program("step")
		if prog == nil || len(prog.Tasks) == 0 {
			return nil
		}
		ticks += len(prog.Ticks)
		s.devices = append(s.devices, stage{prog: prog})
	}
	if ticks == 0 || ticks > most {
		return nil
	}
	for i := range s.devices {
		s.devices[i].messages = s.messages(i)
	}
	if !s.run() {
		return nil
	}
	return s
}

// simulation runs the ticks of all classes of devices, of each its first rank.
type simulation struct {
	plan    *program.Plan
	devices []stage
	task    map[string]int // numbers of names
	names   []string
	sent    map[channel][]int // when messages arrive, of those not yet received
}

// stage is a device, the tick that is next, and when it is free.
type stage struct {
	prog       *program.Program
	messages   [][]message // of each task
	next, free int
	busy       int
	slots      []Slot
}

// message is what a task sends to another class of devices, or receives from it.
type message struct {
	sends           bool
	peer, tag, each int
}

// channel is what messages of one kind go through, in order.
type channel struct{ from, to, tag int }

// run goes on with every device as far as it can, until none can any more: it reports
// whether all ticks are done.
func (s *simulation) run() bool {
	for moved := true; moved; {
		moved = false
		for i := range s.devices {
			for s.tick(i) {
				moved = true
			}
		}
	}
	for i := range s.devices {
		if s.devices[i].next < len(s.devices[i].prog.Ticks) {
			return false
		}
	}
	return true
}

// tick does the next tick of a device, if what it receives is there.
func (s *simulation) tick(i int) bool {
	d := &s.devices[i]
	if d.next == len(d.prog.Ticks) {
		return false
	}
	tick := d.prog.Ticks[d.next]
	t := &d.prog.Tasks[tick.Task]
	start, taken := d.free, map[channel]int{}
	for _, m := range d.messages[tick.Task] {
		if m.sends || t.Once { // what is before and after all microbatches takes no time, and is not drawn
			continue
		}
		c := channel{m.peer, i, m.tag + m.each*tick.Micro}
		n := taken[c]
		if n >= len(s.sent[c]) {
			return false
		}
		start, taken[c] = max(start, s.sent[c][n]), n+1
	}
	for c, n := range taken {
		s.sent[c] = s.sent[c][n:]
	}
	end := start + cost(t, d.prog.Tasks)
	for _, m := range d.messages[tick.Task] {
		if m.sends {
			c := channel{i, m.peer, m.tag + m.each*tick.Micro}
			s.sent[c] = append(s.sent[c], end)
		}
	}
	if !t.Once {
		d.busy += end - start
		d.slots = append(d.slots, Slot{s.number(t.Name), tick.Micro, start, end})
	}
	d.free = end
	d.next++
	return true
}

// messages are those of the tasks of a device. Devices of one class exchange with devices
// of one class: the one that the first rank meets stands for all of them.
func (s *simulation) messages(i int) [][]message {
	prog, rank := s.devices[i].prog, s.plan.RanksOf(&s.plan.Devices[i])[0]
	out := make([][]message, len(prog.Tasks))
	for n, t := range prog.Tasks {
		for j := t.From; j < t.To; j++ {
			if c := prog.Instrs[j].Comm; c != nil && (c.Kind == collective.Send || c.Kind == collective.Recv) {
				out[n] = append(out[n], message{c.Kind == collective.Send, s.class(s.plan.Mesh.PeerOf(rank, c)), c.Tag, c.Each})
			}
		}
	}
	return out
}

// class is the number of the class that a rank is of.
func (s *simulation) class(rank int) int {
	for i := range s.plan.Devices {
		if s.plan.HasRank(&s.plan.Devices[i], rank) {
			return i
		}
	}
	return -1
}

// number is that of a task's name.
func (s *simulation) number(name string) int {
	n, ok := s.task[name]
	if !ok {
		n = len(s.names)
		s.task[name], s.names = n, append(s.names, name)
	}
	return n
}

// Names of tasks; those of a device with several stages end with the stage's number.
const (
	backward = "backward"
	input    = "backward_input"
	weight   = "backward_weight"
)

// cost is the time of a task of a device. A backward pass is one task, or two of which each
// takes half of it; the first stage, whose input has no gradient, has all of it in one.
func cost(t *program.Task, of []program.Task) int {
	if t.Once {
		return 0
	}
	if rest, ok := strings.CutPrefix(t.Name, weight); ok {
		if slices.ContainsFunc(of, func(x program.Task) bool { return x.Name == input+rest }) {
			return 1
		}
		return 2
	}
	if strings.HasPrefix(t.Name, backward) && !strings.HasPrefix(t.Name, input) {
		return 2
	}
	return 1
}

func (s *simulation) timeline() *Timeline {
	out := &Timeline{Tasks: s.names, Rows: []Row{}}
	for i := range s.devices {
		d := &s.devices[i]
		out.Microbatches = max(out.Microbatches, d.prog.Micro)
		row := Row{Device: At(s.plan, i), Class: i, Slots: d.slots}
		for _, x := range d.slots {
			out.End = max(out.End, x[3])
		}
		out.Rows = append(out.Rows, row)
	}
	out.Idle = s.idle()
	return out
}

func (s *simulation) idle() float64 {
	end, busy := 0, 0
	for i := range s.devices {
		d := &s.devices[i]
		busy += d.busy
		if n := len(d.slots); n > 0 {
			end = max(end, d.slots[n-1][3])
		}
	}
	whole := end * len(s.devices)
	if whole == 0 {
		return 0
	}
	return float64(whole-busy) / float64(whole)
}

// At is the coordinates of a class of devices: "pp=0".
func At(p *program.Plan, class int) string {
	var out []string
	for j, axis := range p.By {
		out = append(out, fmt.Sprintf("%s=%d", axis, p.Devices[class].At[j]))
	}
	return strings.Join(out, " ")
}
