package ptc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ptc/runtime/device"
	"ptc/runtime/metrics"
	"ptc/runtime/train"
)

// What a run tells. What was not measured is NaN, and what is unknown zero.
type (
	Start      = metrics.Start      // what is about to run
	Step       = metrics.Step       // a step that is done
	Validation = metrics.Validation // a loss on what is held out
	Checkpoint = metrics.Checkpoint // one that was saved
	Summary    = train.Summary      // how a run ended
)

// RunOptions of a run. The zero value trains as long as the plan says and tells
// nobody.
type RunOptions struct {
	Steps   int64   // number of the last step, from the first of training; 0: as the plan says
	Threads int     // 0: one for each processor; the result does not depend on it
	Seed    *uint64 // nil: of the checkpoint, else of the plan

	Init, Save string // safetensors files of parameters, to start from and to write at the end

	InitPartial bool // what Init lacks starts as the model says, and what it has besides is left

	Checkpoint string // folder of checkpoints; empty: none are saved
	Every      int64  // steps between them; 0: only at the end
	Resume     bool   // go on from the latest
	NewData    bool   // with Resume: go on with other data than that of the checkpoint

	OffloadDir  string        // for what the layout offloads to disk; empty: the system's for temporary files
	Trace       string        // file for a trace for Perfetto
	CommTimeout time.Duration // how long a device waits for another; 0: a minute

	// Of a plan for GPUs. BLAS lets a library compute its products where it is faster: "lt" is cuBLASLt,
	// and the last bits of the losses then depend on it. BLASCache is a folder in which
	// the choices are kept, so that the next run makes the same ones without measuring.
	BLAS      string // empty or "none": the plan's kernels compute all
	BLASCache string // empty: nothing is kept

	// The run calls these as things happen, one at a time, and goes on when they
	// return; each may be nil.
	OnStart      func(Start)
	OnStep       func(Step)
	OnValidation func(Validation)
	OnCheckpoint func(Checkpoint)
	OnWarning    func(message string)
}

// Run trains by a plan, all of its devices in this process. It executes the native
// code in the plan, with all that this process may do: for a plan of someone else,
// see [Rebuild].
//
// When ctx is done, Run finishes the step that is under way, saves what it would
// save at the end, and returns without an error; the summary says that it was
// interrupted.
func Run(ctx context.Context, p *Plan, o RunOptions) (Summary, error) {
	if err := checkBLAS(p, o.BLAS); err != nil {
		return Summary{}, err
	}
	return train.Run(ctx, p.p, train.Options{
		Steps: o.Steps, Threads: o.Threads, Seed: o.Seed,
		Init: o.Init, InitPartial: o.InitPartial, Save: o.Save,
		Checkpoint: o.Checkpoint, Every: o.Every, Resume: o.Resume, NewData: o.NewData,
		OffloadDir: o.OffloadDir, Trace: o.Trace, CommTimeout: o.CommTimeout,
		Blas: o.BLAS, Cache: folders(o.BLASCache),
		Log: newListener(&o),
	})
}

// checkBLAS refuses a library that the engine of a plan would not look at.
func checkBLAS(p *Plan, name string) error {
	switch {
	case name == "" || name == device.BlasNone:
		return nil
	case name != device.BlasLt:
		return &train.Error{Code: train.ExitUsage, Msg: fmt.Sprintf("no library of products is %q; there is %q", name, device.BlasLt)}
	case !strings.HasPrefix(p.p.Target, "cuda"):
		return &train.Error{Code: train.ExitUsage, Msg: fmt.Sprintf("the library of products %q is for plans for GPUs, and this one is for %s", name, p.p.Target)}
	}
	return nil
}

// folders are the caches of a run.
func folders(dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{dir}
}
