package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ptc/runtime/checkpoint"
	"ptc/runtime/train"
)

// paramFlags say where parameters come from.
type paramFlags struct {
	init, checkpoint string
	best             bool
}

func (f *paramFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.init, "init", "", "read the parameters from `FILE`, a safetensors file such as --save writes, or the folder of one checkpoint")
	fl.StringVar(&f.checkpoint, "checkpoint", "", "read the parameters of the latest checkpoint in `DIR`, or of the checkpoint `DIR`; it may be s3://bucket/key")
	fl.BoolVar(&f.best, "best", false, "use the checkpoint in --checkpoint with the lowest validation loss, see --keep-best of \"ptc run\"")
	if err := cmd.MarkFlagDirname("checkpoint"); err != nil {
		panic(err) // the flag does not exist
	}
	cmd.MarkFlagsMutuallyExclusive("init", "checkpoint")
	cmd.MarkFlagsMutuallyExclusive("init", "best")
	cmd.MarkFlagsOneRequired("init", "checkpoint")
}

// file is the file of parameters.
func (f *paramFlags) file(a *app) (string, error) {
	if f.checkpoint == "" {
		return f.init, nil
	}
	path, err := checkpoint.Params(f.checkpoint, f.best, func(s string) { a.message("warning", s) })
	return path, fileError(err)
}

type evalFlags struct {
	paramFlags
	trust trustFlags
	opts  train.EvalOptions
	json  bool
	set   []string // --set
}

func newEval(a *app) *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval PLAN --init FILE|--checkpoint DIR [--data FILES] [flags]",
		Short: "Compute the loss over data",
		Long: `Compute the plan's validation loss and its metrics over all windows of the data, in
the order of the files, with the perplexity exp(loss). Without --data it evaluates
the plan's held-out data.

If a loss divides a sum by a sum, such as a mean over unmasked targets, both are
summed over all windows, so the number does not depend on the batch. For any other
loss a note says that its number is a mean of batch means, and that windows that fill
no batch are left out.`,
		Example: `  ptc eval plan.bin --init trained.safetensors --data 'test/**/*.txt'
  ptc eval plan.bin --checkpoint ckpt/ --json`,
		Args:              exactly("PLAN"),
		ValidArgsFunction: completeFiles("bin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkThreads(cmd, f.opts.Threads); err != nil {
				return err
			}
			if slices.Contains(f.opts.Data, "") { // else it would be every file of the current folder
				return usagef("--data is empty, and must be a pattern of files")
			}
			return a.eval(cmd.Context(), args[0], &f)
		},
	}
	fl := cmd.Flags()
	f.paramFlags.add(cmd)
	fl.StringArrayVar(&f.opts.Data, "data", nil, "evaluate on the files that the pattern `FILES` matches; may be repeated. For a data.stream, the program\nwhose held-out part is evaluated, as for \"ptc run\"")
	fl.BoolVar(&f.opts.PerFile, "per-file", false, "also report the loss of each file")
	fl.StringArrayVar(&f.set, "set", nil, "set a port of the plan: `name=value`; may be repeated")
	fl.BoolVar(&f.json, "json", false, "write an object of JSON")
	fl.IntVar(&f.opts.Threads, "threads", 0, "use `N` threads; the result does not depend on it (default one for each processor)")
	complete(cmd, "set", portsOf)
	f.trust.add(cmd)
	return cmd
}

func (a *app) eval(ctx context.Context, path string, f *evalFlags) error {
	if f.opts.PerFile && len(f.opts.Data) == 0 {
		return usagef("--per-file is for the files of --data")
	}
	plan, err := openPlan(path, &f.trust)
	if err != nil {
		return err
	}
	if plan, err = withSettings(plan, f.set); err != nil {
		return err
	}
	o := f.opts
	if plan.Data.Kind == streamKind {
		if len(o.Data) > 1 || o.PerFile {
			return usagef("the plan's data is a stream: --data names one program, and no files")
		}
		if o.Options.Data, err = streamOptions(plan, strings.Join(o.Data, ""), len(o.Data) > 0, &f.trust); err != nil {
			return err
		}
		o.Data = nil
	}
	o.Folder = filepath.Dir(path)
	if o.Init, err = f.file(a); err != nil {
		return err
	}
	run := runFlags{trust: f.trust}
	o.Cache = run.caches(path)
	o.Warn = func(s string) { a.message("warning", s) }
	o.OnFault = func(err error) { os.Exit(a.reportBug(err.Error(), nil, os.Args[1:])) }
	e, err := train.Evaluate(ctx, plan, o)
	if err != nil {
		return err
	}
	if math.IsNaN(e.Loss) || math.IsInf(e.Perplexity, 0) {
		return fileError(fmt.Errorf("the loss is %v, which no perplexity is of", e.Loss))
	}
	if f.json {
		return a.printJSON(e)
	}
	return a.print(evalText(e))
}

func evalText(e *train.Evaluation) string {
	var b strings.Builder
	for _, x := range e.Files {
		fmt.Fprintf(&b, "%10.6f  %12.4f  %12d  %s\n", x.Loss, x.Perplexity, x.Tokens, x.File)
	}
	fmt.Fprintf(&b, "loss %.6f  perplexity %.4f  tokens %d\n", e.Loss, e.Perplexity, e.Tokens)
	for _, name := range slices.Sorted(maps.Keys(e.Metrics)) {
		fmt.Fprintf(&b, "%s %.6f\n", name, e.Metrics[name])
	}
	if e.Note != "" {
		fmt.Fprintf(&b, "note: %s\n", e.Note)
	}
	return b.String()
}
