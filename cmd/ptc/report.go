package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ptc/runtime/program"
	"ptc/runtime/report"
)

func newReport(a *app) *cobra.Command {
	var output, compare string
	cmd := &cobra.Command{
		Use:   "report PLAN [-o FILE] [--compare PLAN]",
		Short: "Show a plan as a page for a browser",
		Long: `Write a page that shows a plan: whether it fits, the memory of a step as a map, the
pipeline's timeline, who has which shard of what, kernels under the roofline where the
plan knows its device, communication, and the source, linked both ways.

The page is one file. It asks nothing of any network, and runs no script but its own.
--compare says what is different in another plan. The same document, for programs, is
what "ptc explain --json" prints.

Without -o the page is written to the current folder, under the plan's name with the
extension .html.`,
		Example: `  ptc report plan.bin
  ptc report plan.bin -o plan.html
  ptc report plan.bin --compare other.bin -o both.html`,
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
			page, err := report.Page(plan, other)
			if err != nil {
				return err
			}
			if output == "" {
				name := filepath.Base(args[0])
				output = strings.TrimSuffix(name, filepath.Ext(name)) + ".html"
			}
			return a.writeFile(output, page)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the page to `FILE` (default PLAN's name with .html, in the current folder)")
	cmd.Flags().StringVar(&compare, "compare", "", "say what differs in another `PLAN`")
	return cmd
}
