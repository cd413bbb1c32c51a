package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ptc/compiler/ceilings"
	"ptc/internal/processors"
	"ptc/runtime/checkpoint"
	"ptc/runtime/device"
	"ptc/runtime/explain"
	"ptc/runtime/profile"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

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
		return fmt.Errorf("expected nothing, =%s, or a place as ./DIR and s3://bucket/key", resumeAuto)
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

const runLong = `Train by a plan, and tell each step's loss.

--steps counts from the first step of training, so that --resume --steps 20
after 10 steps runs 10 more, and after 20 none. Whatever is not said is as the
plan has it. --set gives another value to a config entry that "ptc compile --port"
has made a port of the plan; others are constants of it. The value is a number, or
arithmetic of numbers such as 3e-4/2.

A PLAN whose name ends with .ptl is a source. It is compiled first, for its first layout and
the target that "ptc compile" takes, and no plan is written; --set replaces any entry of its config.

A folder of checkpoints is of one run at a time, and of one training: where it has
checkpoints already, --resume goes on from them, and --overwrite starts anew and
removes them once the first new one is saved. --resume=PLACE goes on from the checkpoint
PLACE, or from the latest in it, and saves to --checkpoint; a folder here is ./DIR.

A run that goes on may have another batch: it is fed the examples that follow, each once.
Other data (weights of a mixture, files, windows, a tokenizer) is refused with what differs;
--new-data goes on with it, from the step and the optimizer's state of the checkpoint. What
was fed before is not fed again, and the manifest says which steps were fed what. Where the
last step has been reached nothing is done, and --after N refuses to begin another batch or
other data anywhere but behind step N. So a script with a line for each phase can be started
again, whatever has ended it.

Checkpoints, and the files of --init, --save, --save-average and --dump-grads, may be in
an object store, as s3://bucket/key; the environment has its address and credentials. A
store has no locks: of two runs that save to one place, the one that began last goes on,
and the other ends when it would save.

SIGINT (Ctrl-C), SIGTERM and SIGUSR1 let the step that is under way finish, save
a checkpoint where --checkpoint names a folder, and end with exit code 0; a second
one ends the process at once, with exit code 130, and so does one before the first
step. Without --checkpoint nothing of the run is kept. In a job of MPI a signal to
any process ends all of them after the same step. mpirun itself ends a job that it
is told to end by SIGTERM without waiting for its processes: send it SIGUSR1, which
it passes on.

For a scheduler that takes machines back, one command line starts a run and goes on
with it: --resume=auto goes on where the folder has a checkpoint and starts where it
has none, and --requeue-exit-code N ends a run that SIGTERM or SIGUSR1 (not Ctrl-C)
has stopped before its last step with N, by which the scheduler starts it again; 75,
EX_TEMPFAIL, is free for that. --grace DURATION says how long the scheduler waits
between its signal and the end: if saving may take longer a warning says so, and
further signals of the scheduler within that time are not heeded.

Checkpoints are copied into memory of the host and written while steps go on, one
at a time; the next one waits for the one before. Where the copy takes more than
half of the memory that is free, or with --checkpoint-sync, steps wait until it is
written. The files are the same.

A plan for several devices runs all of them in this process. Started by mpirun,
by srun or as a Kubernetes MPIJob, with as many processes as the plan has
devices, each process is one of them; the one with rank 0 tells the steps and
writes the files. The result is the same to the bit. A device that does not
reach a communication within --comm-timeout ends the run.

GPUs of several processes exchange by NCCL where all processes find it and have a
GPU each, else through memory of the host; --comm says which. NCCL adds in an order
of its own, so that sums may have other bits than in one process.

A run whose loss, or norm of the gradients, is not finite ends at that step with
exit code 3 and names the first tensor of the step that is not finite, with its
kernel, its module and its line; parameters are then not saved. With --on-nan
continue it goes on and saves, and fails at the end if the last step is no
better. Steps that adaptive loss scaling (f16) skips are no failures.

--profile measures the ceilings of this machine ("ptc bench"), runs every other of
the first 42 steps instruction by instruction, but not the first two, and shows at
the end what each kernel took, its rates, and its share of the roofline
min(peak, bandwidth x intensity). --profile=FILE writes it as JSON as well, with
each launch. Results are the same; a step that is profiled takes longer, and by how
much is said. With --trace, spans have these figures too. On GPUs the times are those of
events around each launch, and the ceilings the maker's figures, which the plan holds.

A plan for GPUs has kernels for all that it computes. With --blas lt those that are
matrix products and no more are timed when the plan is loaded, beside NVIDIA's library
cuBLASLt, and the library computes what it is 3% faster at. Results then depend on the
library in their last bits, and on which of the two was faster: runs that choose alike
have the same bits. Where the library cannot be used, a warning says why, and the plan's
kernels compute all. All devices have to be of this process.

A plan is a program: its native code does whatever it was made to do, with all that
you may do, and a checksum only tells damage from no damage. Run a stranger's plan
with --rebuild, which uses its sources and none of its code, or with --no-native.
--trust takes only plans that "ptc sign" or minisign has signed with one of your keys.

Which products the library computes is kept in the folder PLAN.blas; in the folder
ptc/blas of the user's cache if PLAN.blas cannot be written, and with --trust, --rebuild
or --no-native, since what lies next to a plan may have come with it. --blas-cache names
another folder, or is off.

A plan for GPUs holds text, PTX, which the driver compiles when the run starts. The driver
keeps the machine code in a cache of its own, ~/.nv/ComputeCache or the folder
CUDA_CACHE_PATH, and loads it from there the next time. What its compiler warns of is a
warning of the run that compiles.

--log may be given again. text and json say how the standard output is told; kind:target
is told besides: json:FILE and csv:FILE, to which is added; tb:DIR, event files of
TensorBoard; prom:ADDR, text for Prometheus at /metrics while the run lasts. --serve shows the
run in a browser. An address without a host, such as :8080, is of this machine alone.
Who reads along never slows the run.

Where the data is a stream, --data says which program gives the examples, in place of the plan's:
a command line, which /bin/sh runs here and this process ends; a socket; a descriptor; - for the
standard input. Of several processes the one with rank 0 reads, and tells the others. Where
the stream ends before the last step, the run ends, saved, with a warning. With --rebuild and
--no-native a command that only the plan names is not run.

Files of parameters and gradients are safetensors, keyed by the path of the
parameter (blocks.3.attn.wq). Every file appears whole or not at all. None may be the
plan, and no two may be one file.`

func newRun(a *app) *cobra.Command {
	f := runFlags{log: newLogFlag(),
		comm:  choice{value: byBest, words: []string{byBest, byNCCL, byHost}},
		onNaN: choice{value: train.NaNStop.String(), words: []string{train.NaNStop.String(), train.NaNContinue.String()}},
		blas:  choice{value: device.BlasNone, words: []string{device.BlasNone, device.BlasLt}}}
	cmd := &cobra.Command{
		Use:   "run PLAN [--steps N] [flags]",
		Short: "Train by a plan, or by a source",
		Long:  runLong,
		Example: `  ptc run plan.bin --steps 200
  ptc run model.ptl --set batch=8 --save w.safetensors # compiles it first
  ptc run plan.bin --checkpoint ckpt/ --every 100 --keep 5
  ptc run plan.bin --eval-every 100                # validation besides that of the end
  ptc run plan.bin --checkpoint ckpt/ --resume --steps 2000
  ptc run more.bin --checkpoint ckpt/ --resume --new-data --steps 3000
  ptc run plan.bin --checkpoint s3://bucket/run/ckpt --every 100 --resume=auto
  ptc run plan.bin --log json > run.jsonl
  ptc run plan.bin --log csv:run.csv --log tb:runs/a   # besides what it prints
  ptc run plan.bin --serve :8080                   # a page that follows the run
  ptc run plan.bin --rebuild                       # none of the code in the plan
  ptc run plan.bin --data "python3 gen.py"         # examples of a program, for data.stream
  mpirun -n 8 ptc run plan.bin                     # a process for each device
  ptc run plan.bin --steps 20 --trace trace.json   # open it at ui.perfetto.dev
  ptc run plan.bin --steps 20 --profile=profile.json`,
		Args:              f.arguments,
		ValidArgsFunction: completeFiles("bin", "ptl"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		if err := f.keepsFiles(args[0]); err != nil {
			return err
		}
		return a.run(cmd.Context(), args[0], &f)
	}
	f.add(cmd)
	return cmd
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
			return usagef("--%s is %d, and must be at least 1", name, n)
		}
	}
	switch {
	case f.patience < 0:
		return usagef("--patience is %d, and must be at least 0", f.patience)
	case f.evalWindows < 0:
		return usagef("--eval-windows is %d, and must be at least 0", f.evalWindows)
	case f.evalEvery < 0:
		return usagef("--eval-every is %d, and must be at least 0", f.evalEvery)
	case f.keep < 0:
		return usagef("--keep is %d, and must be at least 0", f.keep)
	case f.requeue > 0 && f.opts.Checkpoint == "":
		return usagef("--requeue-exit-code is for runs that save what they did; pass --checkpoint DIR")
	case cmd.Flags().Changed("grace") && f.opts.Grace <= 0:
		return usagef("--grace is %v, and must be more than 0", f.opts.Grace)
	case f.opts.CommTimeout <= 0:
		return usagef("--comm-timeout is %v, and must be more than 0", f.opts.CommTimeout)
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
		return usagef("--requeue-exit-code is %d, and must be from 1 to 255, or 0 for none", code)
	case slices.Contains([]int{exitInput, exitUsage, exitFile, exitBug}, code):
		return usagef("--requeue-exit-code is %d, which says that a run has failed: starting it again would fail again", code)
	}
	return nil
}

func (f *runFlags) add(cmd *cobra.Command) {
	fl, o := cmd.Flags(), &f.opts
	fl.Int64Var(&o.Steps, "steps", 0, "train to step `N` (default as the source says)")
	fl.Int64Var(&o.Epochs, "epochs", 0, "train until every example was fed `N` times, in place of --steps (default as the source says)")
	fl.Int64Var(&f.patience, "patience", 0, "end after `N` validations in a row that are no better than the best so far, 0 never (default as the source says)")
	fl.IntVar(&o.Threads, "threads", 0, "use `N` threads; the result does not depend on it (default one for each processor)")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of initialization, shuffle and dropout (default the checkpoint's, else the plan's)")
	fl.StringArrayVar(&f.set, "set", nil, "give a port of the plan another value: `name=value`; may be given again")
	fl.StringVar(&f.program, "data", "", "read the examples of a data.stream from `FROM`: a command line, unix:PATH, tcp:HOST:PORT, fd:N or -")
	fl.Var(&f.log, "log", "tell the steps as `text` or json, an object on each line; besides, as often as it is given,\nto "+sinkHelp())
	fl.StringVar(&f.serve, "serve", "", "show the run at `ADDR` while it lasts, as :8080 (of 127.0.0.1, unless it names a host)")
	fl.StringVar(&o.Init, "init", "", "start from the parameters in `FILE`, a safetensors file, or the folder of one checkpoint")
	fl.BoolVar(&o.InitPartial, "init-partial", false, "with --init: parameters that the file lacks start as the model says, and others that it has are left")
	fl.StringVar(&o.Save, "save", "", "write the parameters of the end to `FILE`")
	fl.StringVar(&o.SaveAverage, "save-average", "", "write the averages of the parameters, which the optimizer keeps, to `FILE`")
	fl.StringVar(&o.DumpGrads, "dump-grads", "", "write the gradients of the first step to `FILE`")
	fl.StringVar(&o.DumpBatches, "dump-batches", "", "write what each step was fed to `FILE`")
	fl.StringVar(&o.Checkpoint, "checkpoint", "", "save checkpoints in `DIR`: every --every steps, at the end and on a signal")
	fl.Int64Var(&o.Every, "every", 0, "save a checkpoint every `N` steps")
	fl.IntVar(&f.keep, "keep", 0, fmt.Sprintf("keep the last `N` checkpoints, 0 all of them (default %d)", checkpoint.DefaultKeep))
	fl.BoolVar(&o.KeepBest, "keep-best", false, "save after each validation that is the best so far, and keep that checkpoint besides the last ones")
	fl.Int64Var(&f.evalEvery, "eval-every", 0, "validate every `N` steps, 0 only at the end (default as the source says)")
	fl.IntVar(&f.evalWindows, "eval-windows", train.DefaultValid, "validate over the first `N` windows of what is held out, 0 over all of them")
	fl.Var(&f.resume, "resume", "go on from the latest checkpoint in --checkpoint; with `[=auto]` start where there is none;\nwith =PLACE from the checkpoint, or the latest in the folder, that is there")
	fl.Lookup("resume").NoOptDefVal = "true"
	fl.BoolVar(&o.NewData, "new-data", false, "with --resume: go on with the plan's data where it is not that of the checkpoint, from the step and the\noptimizer's state that are there")
	fl.Int64Var(&o.After, "after", 0, "with --resume: this plan's phase begins behind step `N`; refuse to begin it anywhere else")
	fl.BoolVar(&o.CheckpointSync, "checkpoint-sync", false, "let steps wait until a checkpoint is written; else it is copied to memory of the host, and they go on")
	fl.DurationVar(&o.Grace, "grace", 0, "the scheduler waits `DURATION` between its signal and the end: warn if a save may take longer, and heed one signal in it")
	fl.IntVar(&f.requeue, "requeue-exit-code", 0, "exit with `N` when SIGTERM or SIGUSR1 has ended the run early, so that the scheduler starts it again")
	fl.BoolVar(&o.Overwrite, "overwrite", false, "start anew in a --checkpoint that has checkpoints, and replace them")
	fl.StringVar(&o.OffloadDir, "offload-dir", "", "keep what the layout offloads to disk in `DIR` (default the system's for temporary files)")
	fl.StringVar(&f.choices, "blas-cache", "", "keep in `DIR` which products cuBLASLt computes, or off (default PLAN.blas)")
	fl.StringVar(&f.choices, "cubin-cache", "", "")
	_ = fl.MarkDeprecated("cubin-cache", "the driver keeps machine code in its own cache; --blas-cache names the folder for choices")
	fl.StringVar(&o.Trace, "trace", "", "write a trace for Perfetto to `FILE`")
	fl.Var(&f.profile, "profile", "show what each kernel took, and write it as JSON where `[=FILE]` is given")
	fl.Lookup("profile").NoOptDefVal = "true"
	fl.Var(&f.comm, "comm", "how GPUs of several processes exchange: by `nccl`, through the host, or auto: by NCCL where all can")
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

func (a *app) run(ctx context.Context, path string, f *runFlags) error {
	a.signals.preemptible(f.requeue, f.opts.Grace) // also while the plan is read or compiled
	plan, err := a.planToRun(path, f)
	if err != nil {
		return afterRoot(err)
	}
	opts := f.opts
	if opts.Data, err = streamOptions(plan, f.program, f.given, &f.trust); err != nil {
		return err
	}
	opts.Cache = f.caches(path)
	if opts.Blas = f.blas.value; opts.Blas != device.BlasNone && !strings.HasPrefix(plan.Target, "cuda") {
		return usagef("--blas %s is for plans for GPUs, and this one is for %s", opts.Blas, plan.Target)
	}
	if f.onNaN.value == train.NaNContinue.String() {
		opts.OnNaN = train.NaNContinue
	}
	if opts.Comm, err = connect(plan, f.comm.value, opts.CommTimeout, a.err); err != nil {
		return afterRoot(err)
	}
	rank, _ := launched()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	opts.Begun = func() {
		a.signals.finish(func(s os.Signal) {
			if rank == 0 {
				kept := ""
				if !f.keeps() {
					kept = "nothing is kept of it; "
				}
				fmt.Fprintf(a.err, "\n%s: finishing the step; %s%s\n", s, kept, a.signals.again(s))
			}
			if bySchedulers(s) {
				cancel(train.ErrPreempted)
			} else {
				cancel(nil)
			}
		})
	}
	if !f.keeps() && rank == 0 {
		fmt.Fprintln(a.err, "note: nothing is kept of what this run trains: --checkpoint DIR keeps its state, --save FILE its parameters")
	}
	if f.verbose && rank == 0 {
		var b strings.Builder
		fmt.Fprintln(&b, path)
		b.WriteString(explain.Overview(plan))
		fmt.Fprint(a.err, b.String())
	}
	opts.OnFault = func(err error) { os.Exit(a.reportBug(err.Error(), nil, os.Args[1:])) }
	if opts.Threads == 0 {
		opts.Threads = localThreads()
	}
	if f.profile.on {
		opts.Profile, opts.ProfileFile = ceilingsOf(plan, opts.Threads), f.profile.file
	}
	told, err := a.openLogs(&f.log, f.serve, plan, rank)
	if err != nil {
		return err
	}
	opts.Log = told
	opts.Folder = filepath.Dir(path)
	sum, err := train.Run(ctx, plan, opts)
	switch {
	case err != nil || !sum.Interrupted:
	case sum.Preempted && f.requeue > 0:
		err = &fault{code: f.requeue, err: train.ErrPreempted, silent: true}
	case sum.Ran == 0:
		err = &fault{code: exitInterrupt, err: context.Canceled, silent: true}
	}
	if e := told.Close(); err == nil && e != nil {
		err = fileError(e)
	}
	if err != nil && sum.Ran == 0 {
		told.forget()
	}
	if e := a.showProfile(sum.Profile, f.log.output.value); err == nil {
		err = e
	}
	return silently(err)
}

// keeps says whether parameters remain when the run has ended.
func (f *runFlags) keeps() bool {
	return f.opts.Checkpoint != "" || f.opts.Save != "" || f.opts.SaveAverage != ""
}

// planToRun reads a plan, or compiles a source for the defaults of "ptc compile". --set gives ports of a plan
// other values, and any entry of a source's config.
func (a *app) planToRun(path string, f *runFlags) (*program.Plan, error) {
	if filepath.Ext(path) != ".ptl" {
		plan, err := openPlan(path, &f.trust)
		if err != nil {
			return nil, err
		}
		return withSettings(plan, f.set)
	}
	if f.trust.careful() {
		return nil, usagef("%s is a source, and --trust, --rebuild and --no-native are for plans: compile it with `ptc compile %s`", path, path)
	}
	return a.compiled(path, sourceFlags{set: f.set})
}

// caches are the folders for choices of products. What lies next to a plan may have come with it, and no signature
// covers it: a run that does not trust all of the plan does not look there.
func (f *runFlags) caches(path string) (dirs []string) {
	switch f.choices {
	case "off":
		return nil
	case "":
	default:
		return []string{f.choices}
	}
	if !f.trust.careful() {
		dirs = append(dirs, path+".blas")
	}
	if dir, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(dir, "ptc", "blas"))
	}
	return dirs
}

// ceilingsOf are what a profile holds kernels to, where the devices of the plan have no figures of
// their own.
func ceilingsOf(plan *program.Plan, threads int) *profile.Ceilings {
	if plan.Roof != nil {
		return &profile.Ceilings{Why: "the plan does not say what the device does at most"}
	}
	return measured(threads)
}

// measured are the ceilings of this process, as far as they can be measured: a
// profile without them is of use too.
func measured(threads int) *profile.Ceilings {
	if threads == 0 {
		threads = processors.Count()
	}
	r, err := ceilings.Measure(ceilings.Options{Threads: threads, Rounds: 5, Bytes: arrayBytes})
	if err != nil {
		return &profile.Ceilings{Threads: threads, Why: err.Error()}
	}
	return &profile.Ceilings{Threads: threads, Flops: r.Best(ceilings.MultiplyAdd), Dot: r.Best(ceilings.Dot),
		Read: r.Best(ceilings.Read), Copy: r.Best(ceilings.Copy), Update: r.Best(ceilings.Update)}
}

// showProfile shows a profile where there is one: among JSON lines as one of them.
func (a *app) showProfile(r *profile.Report, log string) error {
	if r == nil {
		return nil
	}
	if log != "json" {
		return a.print(r.Text())
	}
	text, err := json.Marshal(struct {
		Event string `json:"event"`
		*profile.Report
	}{"profile", r})
	if err != nil {
		return err
	}
	return a.print(string(text) + "\n")
}
