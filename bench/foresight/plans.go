package main

import (
	"runtime"
	"sync"

	"ptc/foresight/cost"
	"ptc/foresight/forecast"
	"ptc/foresight/machine"
	"ptc/foresight/sim"
	"ptc/foresight/stack"
	"ptc/ir"
	"ptc/runtime/program"
)

// subject is a run with its plan, which can be simulated under stacks that differ in numbers.
type subject struct {
	*run
	plan *program.Plan
	work sim.Work
}

// rules says which operations share a kernel, for a compilation at a time.
type rules = func(producer, consumer *ir.Op) bool

// subjects compiles runs.
func subjects(runs []run, m *machine.Machine, s *stack.Stack) ([]subject, error) {
	out := make([]subject, len(runs))
	err := parallel(len(runs), s.Join, func(i int, join rules) error {
		r := &runs[i]
		p, err := r.compile(s, join)
		if err != nil {
			return err
		}
		c, err := clusterOf(m, r)
		if err != nil {
			return err
		}
		work, err := sim.WorkOf(p, cost.New(c, cost.Software{}))
		if err != nil {
			return err
		}
		for k := range p.Kernels {
			p.Kernels[k].IR = "" // work has all that a simulation needs of it
		}
		p.Remarks, p.Sources = nil, nil
		out[i] = subject{r, p, work}
		return nil
	})
	return out, err
}

// clusterOf is the machine with as many nodes of eight as a run has devices for.
func clusterOf(m *machine.Machine, r *run) (*machine.Cluster, error) {
	if r.devices() <= 8 {
		return m.Sized(8)
	}
	return m.Sized(r.devices()/8, 8)
}

// profiledMessages is the bytes/s at which a table of profiled rows has messages go: twice their bytes, at a quarter of 100 GiB/s
// (vTrain, src/predictor.py, _compute_p2p_latency, with 800 Gb/s as the rows' files in config/validation/single say).
const profiledMessages = 12.5 * (1 << 30)

// simulate is the seconds of a step on a machine, under the numbers of a stack.
func (x *subject) simulate(m *machine.Machine, s *stack.Stack) (float64, error) {
	c, err := clusterOf(m, x.run)
	if err != nil {
		return 0, err
	}
	o := forecast.Simulated(s)
	if o.Profiled = x.profiled; o.Profiled {
		o.MessageRate = profiledMessages
	}
	job, err := sim.New(x.plan, x.work, cost.New(c, forecast.Software(s)), o)
	if err != nil {
		return 0, err
	}
	r, err := sim.Run(job, sim.How{})
	if err != nil {
		return 0, err
	}
	return r.Step.Seconds(), nil
}

// simulateAll is the seconds of each of some subjects.
func simulateAll(all []subject, m *machine.Machine, s *stack.Stack) ([]float64, error) {
	out := make([]float64, len(all))
	err := parallel(len(all), func() struct{} { return struct{}{} }, func(i int, _ struct{}) (err error) {
		out[i], err = all[i].simulate(m, s)
		return err
	})
	return out, err
}

// parallel does n pieces of work on all processors. Each worker has a value of its own, from own. The error is that of the
// first piece that failed.
func parallel[T any](n int, own func() T, do func(i int, own T) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			mine := own()
			for i := range next {
				errs[i] = do(i, mine)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
