package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ptc/runtime/explain"
	"ptc/runtime/metrics"
	"ptc/runtime/train"
)

type runFlags struct {
	opts    train.Options
	seed    uint64
	log     choice
	verbose bool
	trust   trustFlags
}

func newRun(a *app) *cobra.Command {
	f := runFlags{log: choice{value: "text", words: []string{"text", "json"}}}
	cmd := &cobra.Command{
		Use:   "run PLAN [--steps N] [flags]",
		Short: "Train by a plan",
		Long: `Train by a plan, and tell each step's loss.

--steps counts from the first step of training, so that --resume --steps 20
after 10 steps runs 10 more. Whatever is not said is as the plan has it.

SIGINT (Ctrl-C) and SIGTERM let the step that is under way finish, save a
checkpoint where --checkpoint names a folder, and end with exit code 0; a second
one ends the process at once. Without --checkpoint nothing of the run is kept.

A plan for several devices runs all of them in this process. Started by mpirun,
by srun or as a Kubernetes MPIJob, with as many processes as the plan has
devices, each process is one of them; the one with rank 0 tells the steps and
writes the files. The result is the same to the bit. A device that does not
reach a communication within --comm-timeout ends the run.

A plan is a program: its native code does whatever it was made to do, with all that
you may do, and a checksum only tells damage from no damage. Run a stranger's plan
with --rebuild, which uses its sources and none of its code, or with --no-native.
--trust takes only plans that "ptc sign" or minisign has signed with one of your keys.

Files of parameters and gradients are safetensors, keyed by the path of the
parameter (blocks.3.attn.wq). Every file appears whole or not at all.`,
		Example: `  ptc run plan.bin --steps 200
  ptc run plan.bin --checkpoint ckpt/ --every 100
  ptc run plan.bin --checkpoint ckpt/ --resume --steps 2000
  ptc run plan.bin --log json > run.jsonl
  ptc run plan.bin --rebuild                       # none of the code in the plan
  mpirun -n 8 ptc run plan.bin                     # a process for each device
  ptc run plan.bin --steps 20 --trace trace.json   # open it at ui.perfetto.dev`,
		Args:              exactly("PLAN"),
		ValidArgsFunction: completeFiles("bin"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("seed") {
			f.opts.Seed = &f.seed
		}
		for _, name := range []string{"steps", "every"} {
			if n, err := cmd.Flags().GetInt64(name); err != nil || cmd.Flags().Changed(name) && n < 1 {
				return usagef("--%s is %d, and must be at least 1", name, n)
			}
		}
		if cmd.Flags().Changed("threads") && f.opts.Threads < 1 {
			return usagef("--threads is %d, and must be at least 1", f.opts.Threads)
		}
		if f.opts.CommTimeout <= 0 {
			return usagef("--comm-timeout is %v, and must be more than 0", f.opts.CommTimeout)
		}
		return a.run(cmd.Context(), args[0], &f)
	}
	fl, o := cmd.Flags(), &f.opts
	fl.Int64Var(&o.Steps, "steps", 0, "train to step `N` (default as the source says)")
	fl.IntVar(&o.Threads, "threads", 0, "use `N` threads; the result does not depend on it (default one for each processor)")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of initialization, shuffle and dropout (default the checkpoint's, else the plan's)")
	fl.Var(&f.log, "log", "tell the steps as `text` or json, an object on each line")
	fl.StringVar(&o.Init, "init", "", "start from the parameters in `FILE`, a safetensors file")
	fl.StringVar(&o.Save, "save", "", "write the parameters of the end to `FILE`")
	fl.StringVar(&o.DumpGrads, "dump-grads", "", "write the gradients of the first step to `FILE`")
	fl.StringVar(&o.DumpBatches, "dump-batches", "", "write what each step was fed to `FILE`")
	fl.StringVar(&o.Checkpoint, "checkpoint", "", "save checkpoints in `DIR`: every --every steps, at the end and on a signal")
	fl.Int64Var(&o.Every, "every", 0, "save a checkpoint every `N` steps")
	fl.BoolVar(&o.Resume, "resume", false, "go on from the latest checkpoint in --checkpoint")
	fl.StringVar(&o.OffloadDir, "offload-dir", "", "keep what the layout offloads to disk in `DIR` (default the system's for temporary files)")
	fl.StringVar(&o.Trace, "trace", "", "write a trace for Perfetto to `FILE`")
	fl.DurationVar(&o.CommTimeout, "comm-timeout", time.Minute, "how long a device waits for another")
	f.trust.add(cmd)
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "first say what the plan is")
	if err := cmd.MarkFlagDirname("offload-dir"); err != nil {
		panic(err)
	}
	complete(cmd, "log", func([]string) []string { return f.log.words })
	return cmd
}

func (a *app) run(ctx context.Context, path string, f *runFlags) error {
	plan, err := openPlan(path, &f.trust)
	if err != nil {
		return afterRoot(err)
	}
	opts := f.opts
	if opts.Comm, err = connect(plan, opts.CommTimeout); err != nil {
		return afterRoot(err)
	}
	rank, _ := launched()
	ctx, stop := a.untilSignal(ctx, rank == 0)
	defer stop()
	if f.verbose && rank == 0 {
		var b strings.Builder
		fmt.Fprintln(&b, path)
		b.WriteString(explain.Overview(plan))
		fmt.Fprint(a.err, b.String())
	}
	if opts.Threads == 0 {
		opts.Threads = localThreads()
	}
	opts.Log = a.sink(f.log.value)
	_, err = train.Run(ctx, plan, opts)
	if e := opts.Log.Close(); err == nil && e != nil {
		err = fileError(wrapWrite("the standard output", e))
	}
	return silently(err)
}

// sink tells a run on the standard output.
func (a *app) sink(log string) metrics.Sink {
	if log == "json" {
		return metrics.NewJSON(struct{ io.Writer }{a.out}) // not ours to close
	}
	if f, ok := a.out.(*os.File); ok {
		return metrics.NewTerminal(f)
	}
	return metrics.NewLines(a.out)
}

// untilSignal ends the context at the first SIGINT or SIGTERM, and the process
// at the second. One of several processes says so.
func (a *app) untilSignal(ctx context.Context, says bool) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case s := <-signals:
				if n > 0 {
					os.Exit(exitInterrupt)
				}
				if says {
					fmt.Fprintf(a.err, "\n%s: finishing the step; once more ends at once\n", s)
				}
				cancel()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
