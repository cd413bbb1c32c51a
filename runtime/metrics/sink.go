package metrics

import (
	"errors"
	"math"
)

// Sink is told the events of a run: a Start, then Steps with whatever else
// happens between them, then an End, then Close. A run that fails or is
// interrupted may leave out the End, but not Close. Sinks may be called
// concurrently.
type Sink interface {
	// Tell takes what is told before it returns: the caller may use it again.
	Tell(Event)

	// Close finishes what was told and gives the first error that was met.
	Close() error
}

// Event is what happens in a run: a *Start, *Step, *Validation, *Checkpoint,
// *Warning or *End.
type Event interface{ event() }

func (*Start) event()      {}
func (*Step) event()       {}
func (*Validation) event() {}
func (*Checkpoint) event() {}
func (*Warning) event()    {}
func (*End) event()        {}

// Start says what is about to run. Whatever is zero is unknown.
type Start struct {
	Name          string  // of the model
	Layout        string  // its layout
	Target        string  // what the plan was compiled for
	Data          string  // what it is fed, in a line
	Resumed       string  // the checkpoint that it goes on from
	Changed       string  // what is other than it was before that checkpoint
	GoesOn        string  // and what is not
	First, Last   int64   // numbers of the first and the last step
	Seed          uint64  //
	Devices       int     //
	On            string  // what they run on
	Params        int64   // elements of all parameters
	TokensPerStep int64   // of the global batch
	FlopsPerStep  float64 // of the model's mathematics, all devices
	PeakFlops     float64 // per second, all devices
	Settings      []Setting
}

// Setting is the value of a port of the plan.
type Setting struct {
	Name  string
	Value float64
}

// Step is a step that is done. What was not measured is NaN.
type Step struct {
	Step       int64
	Loss       float64
	GradNorm   float64 // before clipping
	LR         float64 // learning rate
	LossScale  float64 // of the next step; 0 where the loss is not scaled
	Ms         float64 // milliseconds of the whole step
	TokensPerS float64

	// WaitMs is how long each device, by rank, was blocked in communication: mostly
	// waiting for others, so that the one which has waited least is the slowest. Nil: not measured.
	WaitMs []float64
}

// Slowest is the rank that waited least, and so had the others wait, with its time and the most that
// one waited. It is -1 where that is not measured, or of one device alone.
func (s *Step) Slowest() (rank int, least, most float64) {
	if len(s.WaitMs) < 2 {
		return -1, math.NaN(), math.NaN()
	}
	least, most = s.WaitMs[0], s.WaitMs[0]
	for i, v := range s.WaitMs {
		if v < least {
			rank, least = i, v
		}
		most = max(most, v)
	}
	return rank, least, most
}

// Validation is a measurement on the text that is held out.
type Validation struct {
	Step int64
	Loss float64
}

// Checkpoint is one that was saved.
type Checkpoint struct {
	Step int64
	Dir  string

	WaitMs  float64 // milliseconds that steps waited for it; 0: not measured
	WriteMs float64 // milliseconds of writing while steps went on; 0: none
}

// Warning is something that the user should know and that does not end the run.
type Warning struct{ Message string }

// End says how a run ended. What was not measured is NaN.
type End struct {
	Steps         int64 // that are done, with those before a resume
	Loss, ValLoss float64
}

// validation is the measurement of an event: of an End that at its last step, unless
// that was told already, which was so at the step before.
func validation(e Event, before *int64) *Validation {
	switch e := e.(type) {
	case *Validation:
		*before = e.Step
		return e
	case *End:
		if !math.IsNaN(e.ValLoss) && *before != e.Steps {
			return &Validation{e.Steps, e.ValLoss}
		}
	}
	return nil
}

// Multi tells several sinks, in order.
func Multi(sinks ...Sink) Sink { return multi(sinks) }

type multi []Sink

func (m multi) Tell(e Event) {
	for _, s := range m {
		s.Tell(e)
	}
}

func (m multi) Close() error {
	var errs []error
	for _, s := range m {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
