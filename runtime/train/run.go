package train

import (
	"context"
	"math"

	"ptc/runtime/program"
)

// Run trains from step 1, or from the step after the checkpoint's, through the last step. When ctx is cancelled,
// Run finishes the current step, saves what it would save at the end, skips validation, and returns normally. The
// plan has to be a decoded or validated one.
//
// Every error says by a method ExitCode() int what the process should exit
// with; the Summary says how far the run came.
func Run(ctx context.Context, plan *program.Plan, o Options) (Summary, error) {
	sum := Summary{Loss: math.NaN(), ValLoss: math.NaN()}
	procs, err := connect(plan, o.Comm)
	if err == nil {
		err = run(ctx, procs, plan, o, &sum)
	}
	return sum, procs.disconnect(err)
}

// run sets the run up, goes through its steps and finishes it. Until begin it leaves nothing behind, however it
// ends.
func run(ctx context.Context, procs *processes, plan *program.Plan, o Options, sum *Summary) error {
	if err := sameOptions(procs, &o, plan); err != nil {
		return err
	}
	j, err := newJob(procs, plan, o)
	if err = procs.agree(err); err != nil {
		return err
	}
	st, err := openStart(j)
	if err != nil {
		return err
	}
	defer st.close()
	sum.Steps, sum.Loss = st.first-1, st.loss()
	s, err := openSession(j, st)
	defer s.close()
	if err = procs.agree(err); err != nil {
		return err
	}
	if err := sameStart(s); err != nil {
		return err
	}
	l := newLoop(s, sum)
	defer l.close()
	if err = procs.agree(l.begin()); err == nil {
		l.tellStart()
		err = l.train(ctx)
	}
	if err == nil {
		err = l.finish(ctx)
	}
	if e := l.replay.trace.close(o.Trace); err == nil {
		err = e
	}
	return err
}
