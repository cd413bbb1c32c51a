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
		Short: "Measure the ceilings of this machine",
		Long: `Measure the ceilings of this machine, with one thread and with all: f32
multiply-adds, bf16 dot products if the processor has instructions for them, and
reading, copying and updating memory, in arrays larger than any cache; and the time
of a launch with its barrier.

The loops are generated and compiled like a plan's kernels, which takes libLLVM, and
run alternately in this process; each figure is a median. "ptc run --profile" compares
a plan's kernels with the same ceilings. Other work on the machine lowers them: stop
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
	cmd.Flags().IntVar(&threads, "threads", 0, "measure with one thread and with `N` (default one for each processor)")
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
