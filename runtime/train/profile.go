package train

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/comm"
	"ptc/runtime/exec"
	"ptc/runtime/profile"
	"ptc/runtime/program"
)

// profiler measures every other step after those that warm up, so that the steps
// between say what it costs.
type profiler struct {
	*profile.Recorder
	from, to int64 // [from, to)
}

// profiledSteps is the most that are profiled: medians of more say no more.
const profiledSteps = 20

// openProfile readies the profile of the steps from first to last; nil where none was asked for.
func openProfile(j *job, dev *devices, first, last int64) *profiler {
	if j.o.Profile == nil {
		return nil
	}
	n := j.plan.Mesh.Ranks()
	if j.procs.end != nil {
		n = 1
	}
	from := first + min(traceWarmUp, max(0, last-first))
	ceilings, on := *j.o.Profile, dev.m.On()
	if len(on) > 0 && on[0].Roof != nil {
		ceilings = profile.Of(on[0].Roof)
	}
	p := &profiler{profile.New(j.plan, n, ceilings), from, from + 2*profiledSteps}
	for _, x := range on {
		p.On(x.Rank, x.Name)
	}
	return p
}

func (p *profiler) wants(step int64) bool {
	return p != nil && p.from <= step && step < p.to && (step-p.from)%2 == 0
}

// plain takes the time of a step that ran as always.
func (p *profiler) plain(step int64, d time.Duration) {
	switch {
	case p == nil || step >= p.to:
	case step < p.from:
		p.WarmUp()
	default:
		p.Plain(d)
	}
}

// finish makes the report, of all processes, and writes it: the root alone has it.
func (p *profiler) finish(j *job) (*profile.Report, error) {
	if p == nil {
		return nil, nil
	}
	report := p.Report()
	if report != nil && j.procs.end != nil {
		if err := gatherProfile(j.procs.end, report); err != nil {
			return nil, err
		}
	}
	switch {
	case !j.procs.root():
		return nil, nil
	case report == nil:
		j.log.warn("ptc profiled no step, because the run was too short")
		return nil, nil
	case j.o.ProfileFile == "":
		return report, nil
	}
	if err := atomicfile.WriteJSON(j.o.ProfileFile, report); err != nil {
		return report, fileError(err, "ptc cannot write %s", j.o.ProfileFile)
	}
	return report, nil
}

// gatherProfile puts the devices of all processes into the report.
func gatherProfile(end comm.Device, report *profile.Report) error {
	mine, err := json.Marshal(report.Ranks)
	if err != nil {
		return &Error{Code: ExitBug, Msg: "ptc cannot encode the profile", Err: err}
	}
	sizes, err := comm.Gather(end, binary.LittleEndian.AppendUint64(nil, uint64(len(mine))), "sizes of profiles")
	if err != nil {
		return &Error{Code: codeOf(err), Msg: "ptc cannot gather the profiles of all processes", Err: err}
	}
	most := 0
	for b := sizes; len(b) > 0; b = b[8:] {
		most = max(most, int(binary.LittleEndian.Uint64(b)))
	}
	all, err := comm.Gather(end, append(mine, make([]byte, most-len(mine))...), "profiles")
	if err != nil {
		return &Error{Code: codeOf(err), Msg: "ptc cannot gather the profiles of all processes", Err: err}
	}
	report.Ranks = nil
	for i := 0; i*most < len(all); i++ {
		var ranks []profile.Rank
		if err := json.Unmarshal(all[i*most:][:binary.LittleEndian.Uint64(sizes[8*i:])], &ranks); err != nil {
			return &Error{Code: ExitBug, Msg: "ptc cannot decode the profile of another process", Err: err}
		}
		report.Ranks = append(report.Ranks, ranks...)
	}
	return nil
}

// replayer runs steps: instruction by instruction where their spans are wanted.
type replayer struct {
	plan    *program.Plan
	dev     *devices
	trace   *tracer   // nil: no trace
	profile *profiler // nil: no profile
}

// step runs the step that was fed.
func (r *replayer) step(step int64) error {
	profiled, traced := r.profile.wants(step), r.trace.wants(step)
	if r.profile != nil && r.trace != nil { // the steps between stay as they are
		traced = profiled && (step-r.profile.from)/2 < r.trace.to-r.trace.from
	}
	start := time.Now()
	if !profiled && !traced {
		err := r.dev.step()
		r.profile.plain(step, time.Since(start))
		return err
	}
	var spans []exec.Span
	err := r.dev.training.Trace(func(s exec.Span) { spans = append(spans, s) })
	took := time.Since(start)
	if profiled && err == nil {
		r.profile.Step(spans, took)
	}
	if traced {
		rates := func(s *exec.Span) profile.Rates {
			var none profile.Ceilings
			return none.Rates(profile.Work{Flops: s.Flops, Bytes: s.Bytes}, float64(s.End.Sub(s.Start)))
		}
		if r.profile != nil {
			rates = r.profile.Rates
		}
		r.trace.add(r.plan, spans, rates)
	}
	return err
}
