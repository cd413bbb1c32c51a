package train

import (
	"cmp"
	"errors"
	"fmt"
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

// Options configure a run. The zero Options train as long as the plan says, and report
// nothing.
type Options struct {
	// Steps is the number of the last step. It counts from the first step of training, so
	// it means the same for a run that resumes. 0: the plan's number.
	Steps int64
	// Epochs is how often to go through the data, instead of Steps. 0: the plan's number.
	Epochs int64
	// Patience ends the run after so many validations in a row without improvement.
	// 0: the plan's number; negative: never.
	Patience int64

	Threads int     // 0: one for each processor
	Seed    *uint64 // nil: of the checkpoint, else of the plan, else DefaultSeed

	Log metrics.Sink // nil: none. The caller closes it.

	// Comm is this process's end of the communication, if each device of the
	// plan has a process of its own: every process calls Run with the same options.
	// Rank 0 alone reports the steps and writes files; of a checkpoint each process
	// writes a part. Run closes it. Nil: this process has all devices.
	Comm []comm.Device
	// CommTimeout is how long a device waits for another, if Comm is nil. 0: package
	// comm's default.
	CommTimeout time.Duration

	// OffloadDir is the folder for tensors that the plan offloads to disk.
	// Empty: the system's folder for temporary files.
	OffloadDir string

	// Blas names a library that replaces the plan's kernels for matrix products where it is
	// faster: "lt" is cuBLASLt. The choices are kept for the next run, in the first folder of
	// Cache that can be written. The last bits of losses then depend on the library.
	// Empty, or "none": the plan's kernels compute everything.
	Blas  string
	Cache []string

	// Init is a safetensors file, or the folder of one checkpoint, with all parameters to
	// start from, by path. Save is the file for the final parameters, as f32, or as f64 if
	// they are f64. Neither has optimizer states.
	Init, Save string

	// SaveAverage is like Save, for the averages that optimizers keep. A parameter without an
	// average is saved itself.
	SaveAverage string

	// InitPartial lets Init differ from the model: parameters that it lacks start as the model
	// says, and others that it has are not read; a warning names both. Adapters may always be
	// missing.
	InitPartial bool

	// DumpGrads is the file for the gradients of the first executed step, before clipping,
	// by the path of their parameter; DumpBatches the file for every batch, as step.N.field.
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

	// CheckpointSync has steps wait until a checkpoint is written. Otherwise it is copied into
	// host memory, if there is room, and written while steps go on.
	CheckpointSync bool
	// Grace is the scheduler's grace period between its signal and the end of the process.
	// A run warns if it needs longer. 0: unknown.
	Grace time.Duration

	// Trace is the file for a trace, and TraceSteps how many steps have spans
	// for their kernels in it; 0 means DefaultTraceSteps.
	Trace      string
	TraceSteps int

	// Profile are the ceilings of this process, against which the kernels of some steps are
	// measured, unless the plan knows the ceilings of what they run on. The Summary has the
	// result, and ProfileFile gets it as JSON. Nil: nothing is profiled.
	Profile     *profile.Ceilings
	ProfileFile string

	// Valid is the number of held-out windows that validation averages over, so that the
	// loss does not depend on the batch. 0: DefaultValid; negative: no validation. It runs at
	// the end and every ValidEvery steps. 0: the plan's number; negative: only at the end.
	Valid      int
	ValidEvery int64

	// OnNaN says what follows a step whose loss or gradients are not finite.
	OnNaN OnNaN

	// Begun is called when everything is ready for the first step. Until then the run
	// has made no file, and may be ended at any time.
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

// ErrPreempted is the cause of a context that ends a run because its machine is needed for
// other work; the run resumes later from its checkpoint.
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
var errNoStep = errorf(ExitFile, "the plan has no program `step`, so it cannot train")

// trains reports whether a plan has the program of a step.
func trains(plan *program.Plan) bool {
	return slices.ContainsFunc(plan.Devices, func(d program.Device) bool {
		return d.Program("step") != nil
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
	folder := "pass --checkpoint DIR"
	none, resumes, named := o.Checkpoint == "", o.Resume || o.ResumeIfAny, o.ResumeFrom != ""
	for _, c := range []struct {
		wrong     bool
		msg, hint string
	}{
		{o.Steps < 0, fmt.Sprintf("--steps is %d, and must not be negative", o.Steps), ""},
		{o.Epochs < 0, fmt.Sprintf("--epochs is %d, and must not be negative", o.Epochs), ""},
		{o.Epochs > 0 && o.Steps > 0, "--steps and --epochs both set the length of the run", "drop --steps or --epochs"},
		{o.Every < 0, fmt.Sprintf("--every is %d, and must not be negative", o.Every), ""},
		{o.Threads < 0, fmt.Sprintf("--threads is %d, and must not be negative", o.Threads), ""},
		{(o.Resume || named) && none, "--resume needs the folder of the checkpoints", folder},
		{o.After < 0, fmt.Sprintf("--after is %d, and must not be negative", o.After), ""},
		{o.After > 0 && !resumes && !named, "--after applies only to a run that resumes", "pass --resume, or drop --after"},
		{o.NewData && !resumes && !named, "--new-data applies only to a run that resumes", "pass --resume, or drop --new-data"},
		{o.Overwrite && none, "--overwrite needs the folder of the checkpoints", folder},
		{o.ResumeIfAny && none, "--resume=auto needs the folder of the checkpoints", folder},
		{o.Grace < 0, fmt.Sprintf("--grace is %v, and must not be negative", o.Grace), ""},
		{o.Grace > 0 && none, "--grace needs a folder for the final checkpoint", folder},
		{named && resumes, fmt.Sprintf("a run resumes from %s or from the latest checkpoint in its own folder, not from both", o.ResumeFrom), ""},
		{resumes && o.Overwrite, "a run either resumes from the checkpoints in a folder or replaces them", "drop --resume or --overwrite"},
		{o.InitPartial && o.Init == "", "--init-partial needs a file of parameters", "pass --init FILE, or drop --init-partial"},
		{(o.Resume || named) && o.Init != "", "a run starts from a checkpoint or from given parameters, not from both", "drop --resume or --init"},
		{o.Keep != 0 && none, "--keep needs the folder of the checkpoints", folder},
		{o.KeepBest && none, "--keep-best needs the folder of the checkpoints", folder},
		{o.KeepBest && cmp.Or(o.ValidEvery, plan.Data.EvalEvery) <= 0, "--keep-best needs validations during training", "pass --eval-every N"},
		{o.Every > 0 && none, "--every needs the folder of the checkpoints", folder},
	} {
		if c.wrong {
			return 0, &Error{Code: ExitUsage, Msg: c.msg, Hint: c.hint}
		}
	}
	last = o.steps(plan)
	switch {
	case o.epochs(plan) > 0 && trains(plan): // as long as the data says
		return 0, nil
	case last < 1 && !trains(plan):
		return 0, errNoStep
	case last < 1:
		return 0, errorf(ExitUsage, "the plan does not set the number of steps").hint("pass --steps N or --epochs N")
	case last > math.MaxInt32:
		return 0, errorf(ExitUsage, "the run has %d steps, and the number of a step has only 31 bits", last)
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
