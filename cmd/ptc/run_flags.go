package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ptc/runtime/checkpoint"
	"ptc/runtime/train"
)

// runFlags are the flags of `ptc run`, and what they stand for once they are checked.
type runFlags struct {
	opts    train.Options
	seed    uint64
	set     []string // --set
	program string   // --data
	given   bool     // and that it is given
	log     logFlag
	serve   string // --serve
	onNaN   choice
	comm    choice
	blas    choice
	verbose bool
	machine string
	profile profileFlag
	trust   trustFlags
	choices string // --blas-cache
	resume  resumeFlag
	requeue int // --requeue-exit-code
	// As the user gave them: 0 is none and all, not what the plan says or the
	// default.
	evalEvery int64
	// evalWindows is --eval-windows, and patience --patience.
	evalWindows int
	patience    int64
	keep        int
}

// profileFlag is --profile, or --profile=FILE. Its type is bool for pflag, which
// then asks for no value; ./true is a file of that name.
type profileFlag struct {
	on   bool
	file string
}

func (p *profileFlag) String() string { return p.file }
func (p *profileFlag) Type() string   { return "bool" }

func (p *profileFlag) Set(s string) error {
	switch {
	case s == "":
		return errors.New("expected a file")
	case s != "true":
		p.file = s
	}
	p.on = true
	return nil
}

// resumeFlag is --resume, --resume=auto, or --resume=PLACE; as for profileFlag its type is bool.
type resumeFlag struct{ value string }

func (r *resumeFlag) String() string { return r.value }
func (r *resumeFlag) Type() string   { return "bool" }

func (r *resumeFlag) Set(s string) error {
	if !slices.Contains([]string{"true", "false", resumeAuto}, s) && !strings.ContainsAny(s, `/\`) { // a slip of a word
		return fmt.Errorf("expected nothing, =%s, or a place such as ./DIR or s3://bucket/key", resumeAuto)
	}
	r.value = s
	return nil
}

// from is the place to go on from, if one is given.
func (r *resumeFlag) from() string {
	if strings.ContainsAny(r.value, `/\`) {
		return r.value
	}
	return ""
}

// resumeAuto is to resume if there is something to resume from.
const resumeAuto = "auto"

// given is a flag's value as options of a run have it: 0 where it is not given,
// and less for 0.
func given[T int | int64](cmd *cobra.Command, name string, n T) T {
	if cmd.Flags().Changed(name) && n == 0 {
		return -1
	}
	return n
}

// arguments asks for the plan. What follows --profile is no value of it without a
// sign between.
func (f *runFlags) arguments(cmd *cobra.Command, args []string) error {
	err := exactly("PLAN")(cmd, args)
	if err != nil && len(args) > 1 && f.profile.on && f.profile.file == "" {
		return fmt.Errorf("%w; a file for the profile is given as --profile=FILE", err)
	}
	if err != nil && len(args) > 1 && f.resume.value == "true" {
		return fmt.Errorf("%w; what --resume goes on from is given as --resume=%s or --resume=PLACE", err, resumeAuto)
	}
	return err
}

// check holds the flags to their bounds, and gives a run those that have another
// form there.
func (f *runFlags) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("seed") {
		f.opts.Seed = &f.seed
	}
	for _, name := range []string{"steps", "epochs", "every", "after"} {
		if n, err := cmd.Flags().GetInt64(name); err != nil || cmd.Flags().Changed(name) && n < 1 {
			return usagef("--%s is %d, but must be at least 1", name, n)
		}
	}
	switch {
	case f.patience < 0:
		return usagef("--patience is %d, but must be at least 0", f.patience)
	case f.evalWindows < 0:
		return usagef("--eval-windows is %d, but must be at least 0", f.evalWindows)
	case f.evalEvery < 0:
		return usagef("--eval-every is %d, but must be at least 0", f.evalEvery)
	case f.keep < 0:
		return usagef("--keep is %d, but must be at least 0", f.keep)
	case f.requeue > 0 && f.opts.Checkpoint == "":
		return usagef("--requeue-exit-code needs a run that saves: add --checkpoint DIR")
	case cmd.Flags().Changed("grace") && f.opts.Grace <= 0:
		return usagef("--grace is %v, but must be more than 0", f.opts.Grace)
	case f.opts.CommTimeout <= 0:
		return usagef("--comm-timeout is %v, but must be more than 0", f.opts.CommTimeout)
	}
	f.given = cmd.Flags().Changed("data")
	f.opts.Resume, f.opts.ResumeIfAny = f.resume.value == "true", f.resume.value == resumeAuto
	f.opts.ResumeFrom = f.resume.from()
	f.opts.ValidEvery, f.opts.Keep = given(cmd, "eval-every", f.evalEvery), given(cmd, "keep", f.keep)
	f.opts.Patience = given(cmd, "patience", f.patience)
	if f.opts.Valid = f.evalWindows; f.evalWindows == 0 {
		f.opts.Valid = math.MaxInt
	}
	if err := checkThreads(cmd, f.opts.Threads); err != nil {
		return err
	}
	return checkRequeue(f.requeue)
}

// checkRequeue refuses exit codes by which no scheduler could tell a run that was
// preempted from others.
func checkRequeue(code int) error {
	switch {
	case code < 0 || code > 255:
		return usagef("--requeue-exit-code is %d, but must be from 1 to 255, or 0 for none", code)
	case slices.Contains([]int{exitInput, exitUsage, exitFile, exitBug}, code):
		return usagef("--requeue-exit-code is %d, which means that a run has failed: the scheduler would restart failing runs", code)
	}
	return nil
}

func (f *runFlags) add(cmd *cobra.Command) {
	fl, o := cmd.Flags(), &f.opts
	fl.Int64Var(&o.Steps, "steps", 0, "train to step `N` (default as the source says)")
	fl.Int64Var(&o.Epochs, "epochs", 0, "train until every example was used `N` times, instead of --steps (default as the source says)")
	fl.Int64Var(&f.patience, "patience", 0, "end after `N` validations in a row without an improvement on the best so far, 0 never (default as the source says)")
	fl.IntVar(&o.Threads, "threads", 0, "use `N` threads; the result does not depend on it (default one for each processor)")
	fl.Uint64Var(&f.seed, "seed", 0, "the seed of initialization, shuffling and dropout (default the checkpoint's, else the plan's)")
	fl.StringArrayVar(&f.set, "set", nil, "set a port of the plan: `name=value`; may be repeated")
	fl.StringVar(&f.program, "data", "", "read the examples of a data.stream from `FROM`: a command line, unix:PATH, tcp:HOST:PORT, fd:N or -")
	fl.Var(&f.log, "log", "report the steps as `text` or json, an object on each line; each further --log adds one of\n"+sinkHelp())
	fl.StringVar(&f.serve, "serve", "", "show the run at `ADDR` while it lasts, such as :8080 (on 127.0.0.1 if it names no host)")
	fl.StringVar(&o.Init, "init", "", "start from the parameters in `FILE`, a safetensors file, or the folder of one checkpoint")
	fl.BoolVar(&o.InitPartial, "init-partial", false, "with --init: parameters missing in the file start as the model says, and unknown ones are ignored")
	fl.StringVar(&o.Save, "save", "", "write the final parameters to `FILE`")
	fl.StringVar(&o.SaveAverage, "save-average", "", "write the optimizer's parameter averages to `FILE`")
	fl.StringVar(&o.DumpGrads, "dump-grads", "", "write the gradients of the first step to `FILE`")
	fl.StringVar(&o.DumpBatches, "dump-batches", "", "write the batch of each step to `FILE`")
	fl.StringVar(&o.Checkpoint, "checkpoint", "", "save checkpoints in `DIR`: every --every steps, at the end and on a signal")
	fl.Int64Var(&o.Every, "every", 0, "save a checkpoint every `N` steps")
	fl.IntVar(&f.keep, "keep", 0, fmt.Sprintf("keep the last `N` checkpoints, 0 all of them (default %d)", checkpoint.DefaultKeep))
	fl.BoolVar(&o.KeepBest, "keep-best", false, "save after each validation that is the best so far, and keep that checkpoint in addition to the last ones")
	fl.Int64Var(&f.evalEvery, "eval-every", 0, "validate every `N` steps, 0 only at the end (default as the source says)")
	fl.IntVar(&f.evalWindows, "eval-windows", train.DefaultValid, "validate over the first `N` held-out windows, 0 over all of them")
	fl.Var(&f.resume, "resume", "continue from the latest checkpoint in --checkpoint; with `[=auto]` start if there is none;\nwith =PLACE continue from the checkpoint PLACE, or from the latest in that folder")
	fl.Lookup("resume").NoOptDefVal = "true"
	fl.BoolVar(&o.NewData, "new-data", false, "with --resume: continue with the plan's data if it differs from the checkpoint's, from the checkpoint's\nstep and optimizer state")
	fl.Int64Var(&o.After, "after", 0, "with --resume: this plan's phase begins after step `N`; refuse to begin it anywhere else")
	fl.BoolVar(&o.CheckpointSync, "checkpoint-sync", false, "let steps wait until a checkpoint is written; by default they continue once it is copied to host memory")
	fl.DurationVar(&o.Grace, "grace", 0, "the scheduler waits `DURATION` between its signal and the kill: warn if a save may take longer, and ignore repeated signals")
	fl.IntVar(&f.requeue, "requeue-exit-code", 0, "exit with `N` if SIGTERM or SIGUSR1 ended the run early, so that the scheduler restarts it")
	fl.BoolVar(&o.Overwrite, "overwrite", false, "start from the beginning in a --checkpoint that has checkpoints, and replace them")
	fl.StringVar(&o.OffloadDir, "offload-dir", "", "keep tensors that the layout offloads to disk in `DIR` (default the system's for temporary files)")
	fl.StringVar(&f.choices, "blas-cache", "", "keep in `DIR` which products cuBLASLt computes, or off (default PLAN.blas)")
	fl.StringVar(&f.choices, "cubin-cache", "", "")
	_ = fl.MarkDeprecated("cubin-cache", "the driver keeps machine code in its own cache; --blas-cache names the folder for choices")
	fl.StringVar(&o.Trace, "trace", "", "write a trace for Perfetto to `FILE`")
	fl.Var(&f.profile, "profile", "show each kernel's time, and with `[=FILE]` write it as JSON")
	fl.Lookup("profile").NoOptDefVal = "true"
	addMachine(cmd, &f.machine, "show the measured step beside a forecast")
	fl.Var(&f.comm, "comm", "how GPUs of several processes communicate: `nccl`, host, or auto: NCCL if all can")
	fl.DurationVar(&o.CommTimeout, "comm-timeout", time.Minute, "how long a device waits for another")
	fl.Var(&f.onNaN, "on-nan", "`stop` at the first step whose loss or gradients are not finite, or continue")
	fl.Var(&f.blas, "blas", "let cuBLASLt (`lt`) compute products of a plan for GPUs where it is faster, or none")
	f.trust.add(cmd)
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "first say what the plan is")
	if err := cmd.MarkFlagDirname("offload-dir"); err != nil {
		panic(err)
	}
	complete(cmd, "set", portsOf)
	complete(cmd, "log", func([]string) []string { return f.log.completions() })
	complete(cmd, "comm", func([]string) []string { return f.comm.words })
	complete(cmd, "on-nan", func([]string) []string { return f.onNaN.words })
	complete(cmd, "blas", func([]string) []string { return f.blas.words })
}
