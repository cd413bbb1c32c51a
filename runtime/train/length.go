package train

import (
	"math"

	"ptc/runtime/checkpoint"
	"ptc/runtime/data"
	"ptc/runtime/program"
)

// epochs is how often the run goes through its data; 0 where it ends after a number of steps.
func (o *Options) epochs(plan *program.Plan) int64 {
	switch {
	case o.Epochs > 0:
		return o.Epochs
	case o.Steps > 0 || plan.Data.Steps > 0:
		return 0
	}
	return plan.Data.Epochs
}

// steps is the number of the last step, 0 where the data has to say it.
func (o *Options) steps(plan *program.Plan) int64 {
	switch {
	case o.Epochs > 0:
		return 0
	case o.Steps > 0:
		return o.Steps
	}
	return plan.Data.Steps
}

// endOfEpochs finds the last step of a run that goes through its data a number of times:
// the one with which every example was fed that often, before the checkpoint c or after it.
// Of the examples in the last batch some may be of the next epoch.
func (r *run) endOfEpochs(c *checkpoint.Checkpoint) error {
	n := r.o.epochs(r.plan)
	if n == 0 {
		return nil
	}
	examples := r.feed.examples()
	if examples == 0 {
		return errorf(ExitUsage, "the data has no end, and so no epochs: %s", r.feed.describe()).hint("pass --steps N")
	}
	if examples > math.MaxInt64/2/n {
		return tooManySteps
	}
	size := r.feed.size()
	left := max(0, n*examples-r.feed.counted(c))
	if r.last = r.first - 1 + (left+size-1)/size; r.last > math.MaxInt32 {
		return tooManySteps
	}
	return nil
}

// counted is how many examples of the data in hand a run was fed before a checkpoint, since
// it is fed of that data.
func (f *feed) counted(c *checkpoint.Checkpoint) int64 {
	if c == nil {
		return 0
	}
	phases := phasesOf(c, int(f.size()))
	if len(phases) == 0 {
		return 0
	}
	if before := phases[len(phases)-1]; len(before.Sources) == 0 { // of a program that did not say more
		if before.Data != f.fingerprint() {
			return 0
		}
		return before.Examples
	}
	recipe := f.src.Recipe()
	return data.Counted(fedIn(phases), &recipe)
}

var tooManySteps = errorf(ExitUsage, "the epochs are of more steps than the 31 bits of a step's number can count")
