package train

import (
	"slices"

	"ptc/runtime/checkpoint"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
)

// job is what a run is asked to do, as far as it is known before anything is opened. It does not change.
type job struct {
	procs   *processes
	plan    *program.Plan // with every run written out
	o       Options
	steps   int64 // number of the last step; 0: the data says it
	tensors []checkpoint.Tensor
	log     *log
}

// log tells the user, and the trace of the run once there is one.
type log struct{ metrics.Sink }

func (l *log) warn(message string) { l.Tell(&metrics.Warning{Message: message}) }

// newJob finds the mistakes that can be found before anything is opened.
func newJob(p *processes, plan *program.Plan, o Options) (*job, error) {
	j := &job{procs: p, o: o, log: &log{o.Log}}
	if o.Log == nil || !p.root() {
		j.log.Sink = metrics.Multi()
	}
	var err error
	if j.steps, err = o.check(plan); err != nil {
		return nil, err
	}
	if j.plan, err = plan.Expanded(); err != nil {
		return nil, &Error{Code: ExitFile, Msg: "ptc cannot run the plan", Err: err}
	}
	if j.tensors, err = planTensors(j.plan); err != nil {
		return nil, err
	}
	if o.SaveAverage != "" && !slices.ContainsFunc(j.tensors, isAverage) {
		return nil, errorf(ExitUsage, "the plan keeps no average of parameters").hint("set `average = 0.999` in the optimizer")
	}
	if p.root() {
		err = o.probeFiles()
	}
	return j, err
}

// probeFiles finds out whether all files could be written that a run writes at its end.
func (o *Options) probeFiles() error {
	for _, f := range []struct {
		path  string
		probe func(string) error
	}{{o.Save, probe}, {o.SaveAverage, probe}, {o.DumpGrads, probe}, {o.DumpBatches, probeLocal}, {o.Trace, probeLocal}, {o.ProfileFile, probeLocal}} {
		if f.path == "" {
			continue
		}
		if err := f.probe(f.path); err != nil {
			return err
		}
	}
	return nil
}
