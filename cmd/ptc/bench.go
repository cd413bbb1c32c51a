package main

import (
	"context"

	"github.com/spf13/cobra"

	"ptc/compiler/ceilings"
	"ptc/internal/processors"
)

// arrayBytes is the size of the arrays of a measurement; 0: what is beyond the
// caches. Tests take less.
var arrayBytes int64

func newBench(a *app) *cobra.Command {
	var asJSON bool
	var threads int
	cmd := &cobra.Command{
		Use:   "bench [--threads N] [--json]",
		Short: "Measure what this machine can do at best",
		Long: `Measure the ceilings of this machine, with one thread and with all: multiply-adds
of f32, dot products of bf16 where the processor has instructions for them, and
reading, copying and updating memory, in arrays that no cache holds; and how long a
launch takes, with its barrier.

The loops are generated and compiled as a plan's kernels are, which takes libLLVM,
and run in turns in this process; each figure is a median. "ptc run --profile" holds
a plan's kernels to the same ceilings. Other work on the machine lowers them: stop
it, or repeat.`,
		Example: `  ptc bench
  ptc bench --threads 1
  ptc bench --json | jq '.figures[] | select(.name == "read")'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkThreads(cmd, threads); err != nil {
				return err
			}
			return a.bench(cmd.Context(), threads, asJSON)
		},
	}
	cmd.Flags().IntVar(&threads, "threads", 0, "the larger number of threads is `N` (default one for each processor)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) bench(ctx context.Context, threads int, asJSON bool) error {
	if threads == 0 {
		threads = processors.Count()
	}
	r, err := ceilings.Measure(ceilings.Options{Threads: threads, Alone: true, Bytes: arrayBytes})
	if err != nil {
		return fileError(err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(r)
	}
	return a.print(r.Text())
}
