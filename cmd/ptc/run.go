package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ptc/compiler/ceilings"
	"ptc/internal/processors"
	"ptc/runtime/device"
	"ptc/runtime/explain"
	"ptc/runtime/metrics"
	"ptc/runtime/profile"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

const runLong = `Train a plan, and report each step's loss.

--steps counts from the first step of training: --resume --steps 20 after 10 steps
runs 10 more, and after 20 none. The plan gives every other setting that is not
specified. --set changes a config entry that "ptc compile --port" made a port of the
plan; the others are constants. The value is a number, or arithmetic of numbers such
as 3e-4/2.

A PLAN whose name ends with .ptl is a source. It is compiled first, for its first layout
and the default target of "ptc compile", and no plan is written; --set replaces any entry
of its config.

A folder of checkpoints belongs to one run at a time, and to one training. If it already
has checkpoints, --resume continues from them, and --overwrite starts from the beginning
and removes them once the first new one is saved. --resume=PLACE continues from the
checkpoint PLACE, or from the latest in it, and saves to --checkpoint; write a folder
here as ./DIR.

A resumed run may have another batch size: it reads the examples that follow, each once.
If the data differs (weights of a mixture, files, windows, a tokenizer), the run stops and
says how; --new-data continues with it, from the checkpoint's step and optimizer state.
Examples of earlier data are not repeated, and the manifest records which steps read
which data. If the last step has been reached, the run does nothing. --after N rejects
another batch size or other data anywhere except after step N. So a script with a line
for each phase can be restarted, whatever ended it.

Checkpoints, and the files of --init, --save, --save-average and --dump-grads, may be in
an object store, as s3://bucket/key; the environment has its address and credentials. A
store has no locks: if two runs save to one place, the one that began last continues, and
the other ends when it tries to save.

On SIGINT (Ctrl-C), SIGTERM and SIGUSR1 the run finishes the current step, saves a
checkpoint if --checkpoint names a folder, and ends with exit code 0. A second signal, or
one before the first step, ends the process at once, with exit code 130. Without
--checkpoint nothing of the run is kept. In an MPI job a signal to any process ends all
of them after the same step. On SIGTERM mpirun itself ends the job without waiting for
its processes: send it SIGUSR1, which it forwards.

For a scheduler that preempts machines, one command line starts a run and resumes it.
--resume=auto resumes if the folder has a checkpoint and otherwise starts. With
--requeue-exit-code N, a run that SIGTERM or SIGUSR1 (not Ctrl-C) stopped before its last
step exits with N, and the scheduler starts it again; 75, EX_TEMPFAIL, is free for that.
--grace DURATION is the time between the scheduler's signal and the kill: ptc warns if
saving may take longer, and ignores further signals of the scheduler within that time.

Checkpoints are copied to host memory and written while steps continue, one at a time;
the next one waits for the one before. If the copy would take more than half of the free
memory, or with --checkpoint-sync, steps wait until it is written. The files are the same.

A plan for several devices runs all of them in this process. If mpirun, srun or a
Kubernetes MPIJob starts as many processes as the plan has devices, each process runs
one of them; rank 0 reports the steps and writes the files. The result is bitwise the
same. If a device does not reach a communication within --comm-timeout, the run ends.

GPUs of several processes communicate over NCCL if every process finds it and has its
own GPU, and otherwise through host memory; --comm chooses. NCCL adds in its own order,
so sums may have other bits than in one process.

If the loss, or the norm of the gradients, is not finite, the run ends at that step with
exit code 3 and names the step's first tensor that is not finite, with its kernel, module
and line; parameters are then not saved. With --on-nan continue it continues and saves,
and fails at the end if the last step is not finite either. Steps that adaptive loss
scaling (f16) skips are not failures.

--profile measures the ceilings of this machine ("ptc bench"). It runs every other of the
first 42 steps, except the first two, instruction by instruction, and shows at the end
each kernel's time, its rates, and its share of the roofline
min(peak, bandwidth x intensity). --profile=FILE also writes this as JSON, with each
launch. Results are the same; profiled steps are slower, and the output says by how much.
With --trace, spans have these figures too. On GPUs the times come from events around each
launch, and the ceilings are the maker's figures in the plan.

--machine shows at the end the median time of a step beside the time that "ptc simulate"
predicts on that machine; the first two steps are left out if there are more. With
--profile it also shows each kernel's measured and predicted time. With --log json this
is an event "forecast".

A plan for GPUs has kernels for all its operations. With --blas lt, pure matrix products
are timed against NVIDIA's library cuBLASLt when the plan is loaded, and the library
computes those that it is at least 3% faster at. The last bits of results then depend on the
library and on the choices: runs with the same choices have the same bits. If the library
cannot be used, ptc warns with the reason, and the plan's kernels compute everything.
All devices must belong to this process.

A plan is a program: its native code can do anything that you may do, and a checksum
detects only damage. Run a stranger's plan with --rebuild, which uses its sources and
none of its code, or with --no-native. --trust accepts only plans that "ptc sign" or
minisign signed with one of your keys.

The choice of products for the library is kept in the folder PLAN.blas. If that cannot be
written, and with --trust, --rebuild or --no-native, it is kept in ptc/blas of the user's
cache, because a folder next to a plan may have come with it. --blas-cache names
another folder, or is off.

A plan for GPUs contains PTX text, which the driver compiles when the run starts. The
driver keeps the machine code in its own cache, ~/.nv/ComputeCache or the folder
CUDA_CACHE_PATH, and loads it from there the next time. Warnings of its compiler appear
as warnings of the run that compiles.

--log may be repeated. text and json set the format of the standard output; kind:target
adds another log: json:FILE and csv:FILE, which are appended to; tb:DIR, TensorBoard event
files; prom:ADDR, text for Prometheus at /metrics while the run lasts. --serve shows the
run in a browser. An address without a host, such as :8080, is open to this machine only.
Readers never slow the run.

If the data is a stream, --data replaces the plan's source of examples: a command line,
which /bin/sh runs here and this process ends; a socket; a descriptor; - for the standard
input. With several processes rank 0 reads and sends the examples to the others. If the
stream ends before the last step, the run saves and ends with a warning. With --rebuild and
--no-native, a command that only the plan names is not run.

Files of parameters and gradients are safetensors, keyed by the path of the
parameter (blocks.3.attn.wq). Every file appears complete or not at all. None may be the
plan, and no two may be the same file.`

func newRun(a *app) *cobra.Command {
	f := runFlags{log: newLogFlag(),
		comm:  choice{value: byBest, words: []string{byBest, byNCCL, byHost}},
		onNaN: choice{value: train.NaNStop.String(), words: []string{train.NaNStop.String(), train.NaNContinue.String()}},
		blas:  choice{value: device.BlasNone, words: []string{device.BlasNone, device.BlasLt}}}
	cmd := &cobra.Command{
		Use:   "run PLAN [--steps N] [flags]",
		Short: "Train a plan, or a source",
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
  ptc run plan.bin --steps 20 --profile=profile.json
  ptc run plan.bin --steps 20 --profile --machine h100:1x8 # beside the forecast`,
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

func (a *app) run(ctx context.Context, path string, f *runFlags) error {
	a.signals.preemptible(f.requeue, f.opts.Grace) // also while the plan is read or compiled
	plan, err := a.planToRun(path, f)
	if err != nil {
		return afterRoot(err)
	}
	foreseen, err := a.foresee(plan, f.machine)
	if err != nil {
		return afterRoot(err)
	}
	opts := f.opts
	if opts.Data, err = streamOptions(plan, f.program, f.given, &f.trust); err != nil {
		return err
	}
	opts.Cache = f.caches(path)
	if opts.Blas = f.blas.value; opts.Blas != device.BlasNone && !strings.HasPrefix(plan.Target, "cuda") {
		return usagef("--blas %s needs a plan for GPUs, but this one is for %s", opts.Blas, plan.Target)
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
	opts.Begun = func() { a.signals.finish(a.finishing(f, rank, cancel)) }
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
	var times stepTimes
	opts.Log = metrics.Multi(told, &times)
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
	if e := a.showMeasured(sum.Profile, foreseen, &times, f.log.output.value); err == nil {
		err = e
	}
	return silently(err)
}

// finishing is what a signal does once steps run: the run ends after the step under way.
func (a *app) finishing(f *runFlags, rank int, cancel context.CancelCauseFunc) func(os.Signal) {
	return func(s os.Signal) {
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
	}
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
		return nil, usagef("%s is a source, but --trust, --rebuild and --no-native are for plans: compile it with `ptc compile %s`", path, path)
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
