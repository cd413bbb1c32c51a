package explain

import (
	"fmt"
	"strings"

	"ptc/internal/units"
	"ptc/runtime/program"
)

// Task is a part of the step of a pipeline that is issued for every microbatch, or once,
// on the device with the most launches.
type Task struct {
	Name     string `json:"name"`
	Once     bool   `json:"once"`
	Ticks    int    `json:"turns"`             // how often it is issued in a step
	Launches int    `json:"launches"`          // of one tick, with those of all instances of runs
	Sends    int    `json:"communications"`    // of one tick
	From     int    `json:"first_instruction"` // in the plan, where it stands once
}

// Pattern is ticks that follow one another, so many times: each time they are of
// microbatches so many further on.
type Pattern struct {
	Ticks []Tick `json:"turns"` // the first time
	Times int    `json:"times"`
	Step  int    `json:"step"` // microbatches from one time to the next
}

// Tick is one time that a task is issued.
type Tick struct {
	Task  string `json:"task"`
	Once  bool   `json:"once,omitempty"`
	Micro int    `json:"microbatch"`
}

func ticksOfTask(p *program.Program, t *program.Task) int {
	if t.Once {
		return 1
	}
	return p.Micro
}

// tasks are those of a device's step.
func tasks(d *program.Device, p *program.Program) []Task {
	o, out := d.Order(p), []Task{}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		x := Task{Name: t.Name, Once: t.Once, Ticks: ticksOfTask(p, t), From: t.From}
		for j := t.From; j < t.To; j++ {
			launches, sent := issues(p.Instrs[j : j+1])
			x.Launches += launches * o.Launches(j, o.Instances(j))
			x.Sends += sent * o.Instances(j)
		}
		out = append(out, x)
	}
	return out
}

// longestPattern is how many turns a pattern may have.
const longestPattern = 64

// ticksOf are the ticks of a device's step: at each, the pattern that covers most of
// what follows.
func ticksOf(d *program.Device) []Pattern {
	out := []Pattern{}
	p := step(d)
	if p == nil {
		return out
	}
	for i := 0; i < len(p.Ticks); {
		long, times, by := 1, 1, 0
		for n := 1; n <= longestPattern; n++ {
			if t, step := repeats(p, i, n); t > 1 && t*n > long*times {
				long, times, by = n, t, step
			}
		}
		x := Pattern{Times: times, Step: by}
		for _, t := range p.Ticks[i : i+long] {
			task := &p.Tasks[t.Task]
			x.Ticks = append(x.Ticks, Tick{task.Name, task.Once, t.Micro})
		}
		out = append(out, x)
		i += long * times
	}
	return out
}

// repeats is how often the n ticks from tick i on follow one another, each time for
// microbatches so many further on.
func repeats(p *program.Program, i, n int) (times, step int) {
	if i+n >= len(p.Ticks) {
		return 1, 0
	}
	step = p.Ticks[i+n].Micro - p.Ticks[i].Micro
	j := i + n
	for ; j < len(p.Ticks); j++ {
		a, b := p.Ticks[j-n], p.Ticks[j]
		if a.Task != b.Task || b.Micro-a.Micro != step {
			break
		}
	}
	return (j - i) / n, step
}

// text is a pattern in words: forward:0…7, or (forward:8…63 backward:0…55).
func (x *Pattern) text() string {
	var out []string
	for _, t := range x.Ticks {
		s := t.Task
		switch last := t.Micro + x.Step*(x.Times-1); {
		case t.Once:
		case x.Times == 1:
			s += fmt.Sprintf(":%d", t.Micro)
		case x.Step == 1 || x.Times == 2:
			s += fmt.Sprintf(":%d…%d", t.Micro, last)
		default:
			s += fmt.Sprintf(":%d,%d…%d", t.Micro, t.Micro+x.Step, last)
		}
		out = append(out, s)
	}
	text := strings.Join(out, " ")
	if len(out) > 1 {
		text = "(" + text + ")"
	}
	return text
}

// tasksText are the tasks of a step, in one line.
func (d *Description) tasksText() string {
	var out []string
	for i, t := range d.Tasks {
		if i == rowsOfSummary {
			return strings.Join(append(out, "…"), "; ")
		}
		times := ""
		if !t.Once {
			times = fmt.Sprintf(" ×%d", t.Ticks)
		}
		out = append(out, fmt.Sprintf("%s%s: %s", t.Name, times, units.Plural(t.Launches, "launch")))
	}
	return strings.Join(out, "; ")
}

// tickTable lists the ticks of each class of devices.
func tickTable(b *strings.Builder, d *Description, p *program.Plan) {
	if d.Microbatches == 0 {
		return
	}
	fmt.Fprintf(b, "\nTicks of tasks, for %s\n", units.Plural(d.Microbatches, "microbatch"))
	for _, c := range d.Classes {
		var at, ticks []string
		for _, axis := range p.By {
			at = append(at, fmt.Sprintf("%s=%d", axis, c.At[axis]))
		}
		for i := range c.Ticks {
			ticks = append(ticks, c.Ticks[i].text())
		}
		fmt.Fprintf(b, "  %-7s %s\n", strings.Join(at, " "), strings.Join(ticks, " "))
	}
}
