package train

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"ptc/runtime/comm"
	"ptc/runtime/data"
	"ptc/runtime/metrics"
	"ptc/runtime/profile"
	"ptc/runtime/program"
)

// Options of a run. The zero Options trains as long as the plan says and tells
// nobody.
type Options struct {
	// Steps is the number of the last step, counted from the first of training,
	// so that it means the same for a run that resumes. 0: what the plan says.
	Steps int64
	// Epochs is how often to go through the data, in place of Steps. 0: what the plan says.
	Epochs int64
	// Patience is how many validations in a row may be no better than the best so far before
	// the run ends. 0: what the plan says; less: any number.
	Patience int64

	Threads int     // 0: one for each processor
	Seed    *uint64 // nil: of the checkpoint, else of the plan, else DefaultSeed

	Log metrics.Sink // nil: none. The caller closes it.

	// Comm is this process's end of the communication, where each device of the
	// plan has a process of its own: every one calls Run with the same options.
	// The one with rank 0 alone tells the steps and writes files; of checkpoints each writes a part. Run closes
	// it. Nil: this process has all devices.
	Comm []comm.Device
	// CommTimeout is how long a device waits for another, where Comm is nil; 0:
	// as package comm has it.
	CommTimeout time.Duration

	// OffloadDir is the folder for the files of what the plan offloads to disk;
	// empty: the system's for temporary files.
	OffloadDir string

	// Blas names a library of matrix products that takes the place of the plan's kernels where it is
	// faster, as "lt", cuBLASLt; which ones these are is kept in the
	// first folder of Cache that can be written, for the next run. The losses then depend on
	// the library in their last bits. Empty, or "none": the plan's kernels compute all.
	Blas  string
	Cache []string

	// Init is a safetensors file, or the folder of one checkpoint, with the parameters to
	// start from, all of them, by path. Save is where those of the end go, as f32, or f64 where
	// they are of that. Neither has
	// states of the optimizer.
	Init, Save string

	// SaveAverage is as Save, of the averages that optimizers keep; of a parameter without
	// one, itself.
	SaveAverage string

	// InitPartial: parameters that Init lacks start as the model says, and what Init has
	// beside them is not read; both are told. The parts of adapters may be missing in any
	// case.
	InitPartial bool

	// DumpGrads is where the gradients of the first step that is executed go,
	// before clipping, by the path of their parameter; DumpBatches where every
	// batch goes, as step.N.field.
	DumpGrads, DumpBatches string

	Checkpoint  string // folder of checkpoints, "": none are saved
	Every       int64  // steps between them; 0: only at the end and when interrupted
	Keep        int    // as checkpoint.Store has it
	KeepBest    bool   // save after each validation that is the best so far, and keep that checkpoint
	Resume      bool   // go on from the latest in Checkpoint
	ResumeIfAny bool   // go on from the latest in Checkpoint if there is one, else start
	ResumeFrom  string // go on from a checkpoint, or the latest in a folder, which need not be Checkpoint
	NewData     bool   // go on with other data than that of the checkpoint, with its step and optimizer state
	After       int64  // the phase of the run begins behind this step; 0: wherever the checkpoint is
	Overwrite   bool   // start anew, and replace what Checkpoint has once the first new one is saved

	// CheckpointSync lets steps wait until a checkpoint is written. Else it is copied into memory
	// of the host, where there is room for that, and written while steps go on.
	CheckpointSync bool
	// Grace is how long a scheduler waits between telling a run to end and ending it: what takes
	// longer is warned of. 0: nobody knows.
	Grace time.Duration

	// Trace is the file for a trace, and TraceSteps how many steps have spans
	// for their kernels in it; 0 means DefaultTraceSteps.
	Trace      string
	TraceSteps int

	// Profile are the ceilings of this process, to which some steps' kernels are
	// held, unless they run on what the plan knows the ceilings of; the Summary has the result. Nil: nothing is profiled. ProfileFile is
	// where the result goes as JSON.
	Profile     *profile.Ceilings
	ProfileFile string

	// Valid is over how many windows of what is held out validation averages, so that the
	// loss does not depend on the batch: 0 means DefaultValid, less none at all. It is at
	// the end and every ValidEvery steps: 0 means as the plan says, less only at the end.
	Valid      int
	ValidEvery int64

	// OnNaN says what follows a step whose loss or gradients are not finite.
	OnNaN OnNaN

	// Begun is called when all is ready for the first step; until then the run
	// has made no file, and may be ended at any instant. Nil: nobody asks.
	Begun func()

	// OnFault is called, on a goroutine of its own, where native code makes the
	// process fault, and ends the process; nil: it ends with exit code 4.
	OnFault func(error)

	// Data replaces options of the plan's data source, by key, and Vars gives
	// values for ${NAME} in its paths.
	Data []data.Option
	Vars []data.Option

	// Folder is where the plan is; files that the data names by a relative path,
	// such as a tokenizer, may be there.
	Folder string

	// For tests: held is called before a checkpoint is begun and before it is committed, and
	// may wait or fail.
	held func(step int64, when string) error
	free func() (int64, bool) // memory that the host has left; nil: what it says
}

// ErrPreempted is the cause of a context that ends a run so that the machine can do other work,
// and the run go on later from its checkpoint.
var ErrPreempted = errors.New("preempted")

// What holds where options say nothing.
const (
	DefaultSeed       = 0
	DefaultTraceSteps = 5
	DefaultValid      = 256
)

// OnNaN is what a run does when a step's loss, or the norm of its gradients, is
// not finite. Steps that adaptive loss scaling skips are none of these.
type OnNaN int

const (
	// NaNStop ends the run with an error that names the first tensor of the step
	// that is not finite. Parameters that are not finite are not saved.
	NaNStop OnNaN = iota
	// NaNContinue goes on to the last step, and saves what there is. If the last
	// step's loss is not finite either, the run fails then.
	NaNContinue
)

func (n OnNaN) String() string {
	if n == NaNContinue {
		return "continue"
	}
	return "stop"
}

// maxUnscaled is how many steps in a row may have gradients that are not finite
// while adaptive loss scaling has gone below 1 and still looks for a scale.
const maxUnscaled = 10

// Summary says how a run ended.
type Summary struct {
	Steps       int64   // that are done, with those before a resume
	Ran         int64   // that this run did
	Loss        float64 // of the last of Steps, NaN if that is not known
	ValLoss     float64 // NaN if it was not measured
	ValMetrics  []metrics.Figure
	Stopped     string // why the run ended before its last step, as validation got no better; empty where it did not
	Checkpoint  string // folder of the checkpoint saved last, if any
	Interrupted bool   // before the last step
	Preempted   bool   // and that by a context whose cause is ErrPreempted: it is to be started again

	// Profile is that of all devices, of the process with rank 0; nil where none
	// was asked for, or no step was profiled.
	Profile *profile.Report
}

// errNoStep is of a plan that "ptc compile --sample" made.
var errNoStep = errorf(ExitFile, "the plan has no program step: it does not train")

// trains reports whether a plan has the program of a step.
func trains(plan *program.Plan) bool {
	return slices.ContainsFunc(plan.Devices, func(d program.Device) bool {
		return slices.ContainsFunc(d.Progs, func(p program.Program) bool { return p.Name == "step" })
	})
}

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

// check finds contradictions, and the number of the last step.
func (o *Options) check(plan *program.Plan) (last int64, err error) {
	switch {
	case o.Steps < 0:
		return 0, errorf(ExitUsage, "%d steps cannot be run", o.Steps)
	case o.Epochs < 0:
		return 0, errorf(ExitUsage, "%d epochs cannot be run", o.Epochs)
	case o.Epochs > 0 && o.Steps > 0:
		return 0, errorf(ExitUsage, "a run is as long as either its steps or its epochs say").hint("drop --steps or --epochs")
	case o.Every < 0:
		return 0, errorf(ExitUsage, "a negative number of steps between checkpoints")
	case o.Threads < 0:
		return 0, errorf(ExitUsage, "%d threads cannot run", o.Threads)
	case (o.Resume || o.ResumeFrom != "") && o.Checkpoint == "":
		return 0, errorf(ExitUsage, "to resume, the folder of the checkpoints is needed").hint("pass --checkpoint DIR")
	case o.After < 0:
		return 0, errorf(ExitUsage, "a phase cannot begin behind step %d", o.After)
	case o.After > 0 && !o.Resume && !o.ResumeIfAny && o.ResumeFrom == "":
		return 0, errorf(ExitUsage, "--after is for a run that goes on from a checkpoint").hint("pass --resume, or drop --after")
	case o.NewData && !o.Resume && !o.ResumeIfAny && o.ResumeFrom == "":
		return 0, errorf(ExitUsage, "--new-data is for a run that goes on with other data than its checkpoint's").hint("pass --resume, or drop --new-data")
	case o.Overwrite && o.Checkpoint == "":
		return 0, errorf(ExitUsage, "there is no folder whose checkpoints could be replaced").hint("pass --checkpoint DIR")
	case o.ResumeIfAny && o.Checkpoint == "":
		return 0, errorf(ExitUsage, "to resume if there is a checkpoint, the folder of the checkpoints is needed").hint("pass --checkpoint DIR")
	case o.Grace < 0:
		return 0, errorf(ExitUsage, "%v is no time in which a run could end", o.Grace)
	case o.Grace > 0 && o.Checkpoint == "":
		return 0, errorf(ExitUsage, "there is no folder for a checkpoint to be saved within %v", o.Grace).hint("pass --checkpoint DIR")
	case o.ResumeFrom != "" && (o.Resume || o.ResumeIfAny):
		return 0, errorf(ExitUsage, "a run goes on from one checkpoint: that of %s or the latest of its own", o.ResumeFrom)
	case (o.Resume || o.ResumeIfAny) && o.Overwrite:
		return 0, errorf(ExitUsage, "a run either goes on from the checkpoints of a folder or replaces them").
			hint("drop --resume or --overwrite")
	case o.InitPartial && o.Init == "":
		return 0, errorf(ExitUsage, "--init-partial is about the file of --init, and there is none")
	case (o.Resume || o.ResumeFrom != "") && o.Init != "":
		return 0, errorf(ExitUsage, "a run starts either from a checkpoint or from given parameters, not from both").
			hint("drop --resume or --init")
	case o.Keep != 0 && o.Checkpoint == "":
		return 0, errorf(ExitUsage, "there is no folder in which to keep checkpoints").hint("pass --checkpoint DIR")
	case o.KeepBest && o.Checkpoint == "":
		return 0, errorf(ExitUsage, "there is no folder in which to keep the best checkpoint").hint("pass --checkpoint DIR")
	case o.KeepBest && cmp.Or(o.ValidEvery, plan.Data.EvalEvery) <= 0:
		return 0, errorf(ExitUsage, "which checkpoint is the best is not known without validation while training").hint("pass --eval-every N")
	case o.Every > 0 && o.Checkpoint == "":
		return 0, errorf(ExitUsage, "there is no folder for a checkpoint every %d steps", o.Every).hint("pass --checkpoint DIR")
	}
	last = o.steps(plan)
	switch {
	case o.epochs(plan) > 0 && trains(plan): // as long as the data says
		return 0, nil
	case last < 1 && !trains(plan):
		return 0, errNoStep
	case last < 1:
		return 0, errorf(ExitUsage, "the plan does not say how many steps to train").hint("pass --steps N or --epochs N")
	case last > math.MaxInt32:
		return 0, errorf(ExitUsage, "%d steps are more than the 31 bits of a step's number", last)
	}
	return last, nil
}

// planSeed is the seed that the plan's configuration gives.
func planSeed(plan *program.Plan) uint64 {
	for _, kv := range plan.Config {
		if kv.Key == "seed" {
			if n, err := strconv.ParseUint(kv.Value, 10, 64); err == nil {
				return n
			}
		}
	}
	return DefaultSeed
}
