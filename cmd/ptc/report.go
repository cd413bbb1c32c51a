package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ptc/internal/regular"
	"ptc/runtime/profile"
	"ptc/runtime/program"
	"ptc/runtime/report"
)

func newReport(a *app) *cobra.Command {
	var output, compare, profiled string
	cmd := &cobra.Command{
		Use:   "report PLAN [-o FILE] [--compare PLAN] [--profile FILE]",
		Short: "Show a plan as a page for a browser",
		Long: `Write a page that shows a plan: whether it fits, a map of a step's memory, the
pipeline's timeline, which device has which shard, kernels under the roofline if the
plan knows its device, communication, and the source, linked both ways.

The page is one file. It loads nothing from a network, and runs only its own script.
--compare shows the differences from another plan. --profile shows measured times from
the file that "ptc run --profile=FILE" wrote: how each rank spent its time, and each
kernel next to its roofline limit. "ptc explain --json" prints the same document for
programs.

Without -o the page is written to the current folder, under the plan's name with the
extension .html.`,
		Example: `  ptc report plan.bin
  ptc report plan.bin -o plan.html
  ptc report plan.bin --compare other.bin -o both.html
  ptc report plan.bin --profile profile.json`,
		Args:              exactly("PLAN"),
		ValidArgsFunction: completeFiles("bin"),
		RunE: func(_ *cobra.Command, args []string) error {
			plan, err := readPlan(args[0])
			if err != nil {
				return err
			}
			var other *program.Plan
			if compare != "" {
				if other, err = readPlan(compare); err != nil {
					return err
				}
			}
			measured, err := readProfile(profiled)
			if err != nil {
				return err
			}
			page, err := report.Page(plan, other, measured)
			if err != nil {
				return fileError(err)
			}
			if output == "" {
				name := filepath.Base(args[0])
				output = strings.TrimSuffix(name, filepath.Ext(name)) + ".html"
			}
			if err := keepsInputs(output, args[0], compare, profiled); err != nil {
				return err
			}
			return a.writeFile(output, page)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the page to `FILE` (default PLAN's name with .html, in the current folder)")
	cmd.Flags().StringVar(&compare, "compare", "", "show the differences from another `PLAN`")
	cmd.Flags().StringVar(&profiled, "profile", "", "show measured times from the `FILE` of \"ptc run --profile=FILE\"")
	return cmd
}

// readProfile reads what a run measured; nil without a file.
func readProfile(path string) (*profile.Report, error) {
	if path == "" {
		return nil, nil
	}
	f, err := regular.Open(path)
	if err != nil {
		return nil, fileError(err)
	}
	defer f.Close()
	p, err := profile.Read(f)
	if err != nil {
		return nil, fileError(fmt.Errorf("%s is no profile of a run: %w", path, err))
	}
	return p, nil
}
