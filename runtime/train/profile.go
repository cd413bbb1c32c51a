package train

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/comm"
	"ptc/runtime/exec"
	"ptc/runtime/profile"
)

// profiler measures every other step after those that warm up, so that the steps
// between say what it costs.
type profiler struct {
	*profile.Recorder
	from, to int64 // [from, to)
}

// profiledSteps is the most that are profiled: medians of more say no more.
const profiledSteps = 20

func (r *run) openProfile() {
	if r.o.Profile == nil {
		return
	}
	n := r.plan.Mesh.Ranks()
	if r.end != nil {
		n = 1
	}
	from := r.first + min(traceWarmUp, max(0, r.last-r.first))
	ceilings, on := *r.o.Profile, r.dev.m.On()
	if len(on) > 0 && on[0].Roof != nil {
		ceilings = profile.Of(on[0].Roof)
	}
	r.profile = &profiler{profile.New(r.plan, n, ceilings), from, from + 2*profiledSteps}
	for _, x := range on {
		r.profile.On(x.Rank, x.Name)
	}
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

// replay runs the step that was fed: instruction by instruction where its spans
// are wanted.
func (r *run) replay(step int64) error {
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

// finishProfile makes the report, of all processes, and writes it.
func (r *run) finishProfile() error {
	if r.profile == nil {
		return nil
	}
	report := r.profile.Report()
	if report != nil && r.end != nil {
		if err := r.gatherProfile(report); err != nil {
			return err
		}
	}
	if !r.root() {
		return nil
	}
	if report == nil {
		r.warn("no step was profiled")
		return nil
	}
	r.sum.Profile = report
	if r.o.ProfileFile == "" {
		return nil
	}
	return writeJSON(r.o.ProfileFile, report)
}

// gatherProfile puts the devices of all processes into the report.
func (r *run) gatherProfile(report *profile.Report) error {
	mine, err := json.Marshal(report.Ranks)
	if err != nil {
		return &Error{Code: ExitBug, Msg: "the profile cannot be written", Err: err}
	}
	sizes, err := comm.Gather(r.end, binary.LittleEndian.AppendUint64(nil, uint64(len(mine))), "sizes of profiles")
	if err != nil {
		return &Error{Code: codeOf(err), Msg: "the profiles cannot be gathered", Err: err}
	}
	most := 0
	for b := sizes; len(b) > 0; b = b[8:] {
		most = max(most, int(binary.LittleEndian.Uint64(b)))
	}
	all, err := comm.Gather(r.end, append(mine, make([]byte, most-len(mine))...), "profiles")
	if err != nil {
		return &Error{Code: codeOf(err), Msg: "the profiles cannot be gathered", Err: err}
	}
	report.Ranks = nil
	for i := 0; i*most < len(all); i++ {
		var ranks []profile.Rank
		if err := json.Unmarshal(all[i*most:][:binary.LittleEndian.Uint64(sizes[8*i:])], &ranks); err != nil {
			return &Error{Code: ExitBug, Msg: "a profile cannot be read", Err: err}
		}
		report.Ranks = append(report.Ranks, ranks...)
	}
	return nil
}

// writeJSON writes a file, whole or not at all.
func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return &Error{Code: ExitBug, Msg: path + " cannot be written", Err: err}
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return fileError(err, "%s cannot be written", path)
	}
	defer f.Abort()
	if _, err = f.Write(append(text, '\n')); err == nil {
		err = f.Commit()
	}
	if err != nil {
		return fileError(err, "%s cannot be written", path)
	}
	return nil
}
