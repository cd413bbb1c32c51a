package forecast

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"ptc/foresight/sim"
	"ptc/runtime/program"
)

// MostSpans is how many spans a trace has at most: what a browser still shows.
const MostSpans = 200_000

// Trace writes the turns and exchanges of a step as trace events, for Perfetto: a process for each class of devices, with
// a row each for its turns, its exchanges and its waits. Times are in microseconds. Spans above MostSpans are left out, and
// counted in the result.
func Trace(w io.Writer, p *program.Plan, job *sim.Job, how sim.How) (left int, err error) {
	out := bufio.NewWriter(w)
	out.WriteString(`{"displayTimeUnit":"ms","traceEvents":[`)
	for i := range job.Classes {
		c := &job.Classes[i]
		fmt.Fprintf(out, "%s\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":%s}}", comma(i), i, strconv.Quote(fmt.Sprintf("device %d, one of %d", c.Rank, c.Ranks)))
	}
	spans := 0
	how.Trace = func(s sim.Span) {
		if spans++; spans > MostSpans {
			left++
			return
		}
		name, row := s.Cause, 1
		switch {
		case s.Task >= 0:
			name, row = taskName(p, job, s), 0
		case s.Waits:
			row = 2
		}
		fmt.Fprintf(out, ",\n{\"name\":%s,\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f}", strconv.Quote(name), s.Class, row, s.Begin.Seconds()*1e6, (s.End-s.Begin).Seconds()*1e6)
	}
	if _, err := sim.Run(job, how); err != nil {
		return left, err
	}
	out.WriteString("\n]}\n")
	return left, out.Flush()
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// taskName is a turn in words: forward 3.
func taskName(p *program.Plan, job *sim.Job, s sim.Span) string {
	tasks := tasksOf(p, job, s)
	switch {
	case s.Task >= len(tasks):
		return "step"
	case tasks[s.Task].Once:
		return tasks[s.Task].Name
	}
	return fmt.Sprintf("%s %d", tasks[s.Task].Name, s.Micro)
}

// tasksOf are the tasks of the step of the class that a span is of.
func tasksOf(p *program.Plan, job *sim.Job, s sim.Span) []program.Task {
	for _, g := range p.Devices[job.Classes[s.Class].Device].Progs {
		if g.Name == "step" {
			return g.Tasks
		}
	}
	return nil
}
