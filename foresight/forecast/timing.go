package forecast

import (
	"fmt"
	"strings"

	"ptc/foresight/machine"
	"ptc/foresight/sim"
	"ptc/runtime/program"
	"ptc/runtime/report"
	"ptc/runtime/timeline"
)

// mostTurns is how many turns of tasks a timeline draws, of all classes of devices.
const mostTurns = 4096

// visible is the part of a step that can be seen in a picture: 1/visible.
const visible = 4000

// timing is the timeline of a pipeline's step in true time; nil if there is no pipeline, or more turns than a picture shows.
func (f *Forecast) timing(p *program.Plan, job *sim.Job, how sim.How) (*report.Timing, error) {
	turns, several := 0, false
	for i := range job.Classes {
		n := job.Classes[i].Turns()
		turns, several = turns+n, several || n > 1
	}
	if !several || turns > mostTurns {
		return nil, nil
	}
	t := &timer{out: &report.Timing{Tasks: []string{}, End: f.StepPS / nano}, plan: p, job: job, number: map[string]int64{},
		least: machine.PS(f.StepPS / visible), rows: make([]timed, len(job.Classes))}
	how.Trace = t.add
	if _, err := sim.Run(job, how); err != nil {
		return nil, err
	}
	return t.timing(machine.PS(f.StepPS)), nil
}

// nano is a nanosecond.
const nano = 1000

// timer collects the spans of a simulation.
type timer struct {
	out    *report.Timing
	plan   *program.Plan
	job    *sim.Job
	number map[string]int64 // of tasks, by name
	least  machine.PS       // waits below it cannot be seen
	rows   []timed          // by class
}

// timed is a class. Begin is when the turn under way began to work: a device that waits first has not begun.
type timed struct {
	report.TimingRow
	begin, end     machine.PS // end is that of the last turn
	exposed        machine.PS // of the turn
	idles, exposes machine.PS // of the step
}

// add takes a span. The waits of a turn end before it does.
func (t *timer) add(s sim.Span) {
	r := &t.rows[s.Class]
	switch {
	case s.Task >= 0:
		name := t.taskName(s)
		n, ok := t.number[name]
		if !ok {
			n = int64(len(t.out.Tasks))
			t.number[name], t.out.Tasks = n, append(t.out.Tasks, name)
		}
		r.Slots = append(r.Slots, report.TimingSlot{n, int64(s.Micro), int64(r.begin / nano), int64(s.End / nano), int64(r.exposed / nano)})
		r.begin, r.end = s.End, s.End
		r.exposes, r.exposed = r.exposes+r.exposed, 0
	case !s.Waits:
	case strings.HasPrefix(s.Cause, "comm."):
		r.exposed += s.End - s.Begin
	case s.Cause == "bubble" || s.Cause == "wait":
		if r.idles += s.End - s.Begin; s.Begin == r.begin {
			r.begin = s.End
		} else if s.End-s.Begin >= t.least {
			r.Idle = append(r.Idle, [2]int64{int64(s.Begin / nano), int64(s.End / nano)})
		}
	}
}

// taskName is the name of a turn's task.
func (t *timer) taskName(s sim.Span) string {
	if tasks := tasksOf(t.plan, t.job, s); s.Task < len(tasks) {
		return tasks[s.Task].Name
	}
	return "step"
}

// timing is the timeline of a step of this length.
func (t *timer) timing(step machine.PS) *report.Timing {
	count := map[int]int{}
	for i := range t.job.Classes {
		count[t.job.Classes[i].Device]++
	}
	for i := range t.rows {
		r, c := &t.rows[i], &t.job.Classes[i]
		if r.Idle == nil {
			r.Idle = [][2]int64{}
		}
		r.Device = timeline.At(t.plan, c.Device)
		if count[c.Device] > 1 || r.Device == "" {
			r.Device = strings.TrimSpace(fmt.Sprintf("%s rank %d", r.Device, c.Rank))
		}
		r.Idles, r.Exposed = share((r.idles+step-r.end).Seconds(), step.Seconds()), share(r.exposes.Seconds(), step.Seconds())
		t.out.Rows = append(t.out.Rows, r.TimingRow)
	}
	return t.out
}
