package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ptc/internal/regular"
	"ptc/runtime/profile"
	"ptc/runtime/report"
)

// reportFlags are those of `ptc report`.
type reportFlags struct{ output, compare, profiled, machine, search string }

func newReport(a *app) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report PLAN [-o FILE] [--compare PLAN] [--profile FILE] [--machine NAME:LEVELS] [--search FILE]",
		Short: "Show a plan as a page for a browser",
		Long: `Write a page that shows a plan: whether it fits, a map of a step's memory, the
pipeline's timeline, which device has which shard, kernels under the roofline if the
plan knows its device, communication, and the source, linked both ways.

The page is one file. It loads nothing from a network, and runs only its own script.
--compare shows the differences from another plan. --profile shows measured times from
the file that "ptc run --profile=FILE" wrote: how each rank spent its time, and each
kernel next to its roofline limit. --machine shows a forecast: the time of a step by
cause, memory and cost on a machine, and the timeline in true time; kernels of a plan that
does not know its device are then under the machine's roofline. --search compares the plan
with the best layout of a search, from the file of "ptc layout auto --result", and draws the
layouts that no other one beats in time, memory, devices and money; the forecast is on the
machine of the search, unless --machine names its file. "ptc explain --json" prints the same
document for programs.

Without -o the page is written to the current folder, under the plan's name with the
extension .html.`,
		Example: `  ptc report plan.bin
  ptc report plan.bin -o plan.html
  ptc report plan.bin --compare other.bin -o both.html
  ptc report plan.bin --profile profile.json
  ptc report plan.bin --machine h100:128x8
  ptc report plan.bin --search result.json`,
		Args:              exactly("PLAN"),
		ValidArgsFunction: completeFiles("bin"),
		RunE:              func(_ *cobra.Command, args []string) error { return a.writeReport(args[0], &f) },
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write the page to `FILE` (default PLAN's name with .html, in the current folder)")
	cmd.Flags().StringVar(&f.compare, "compare", "", "show the differences from another `PLAN`")
	cmd.Flags().StringVar(&f.profiled, "profile", "", "show measured times from the `FILE` of \"ptc run --profile=FILE\"")
	addMachine(cmd, &f.machine, "show a forecast")
	cmd.Flags().StringVar(&f.search, "search", "", "compare with the best layout, from the `FILE` of \"ptc layout auto --result FILE\"")
	return cmd
}

// writeReport writes the page of a plan.
func (a *app) writeReport(path string, f *reportFlags) error {
	plan, err := readPlan(path)
	if err != nil {
		return err
	}
	var x report.Extra
	if f.compare != "" {
		if x.Other, err = readPlan(f.compare); err != nil {
			return err
		}
	}
	if x.Measured, err = readProfile(f.profiled); err != nil {
		return err
	}
	var found *autoResult
	if f.search != "" {
		if found, err = a.readResult(f.search); err != nil {
			return err
		}
		if f.machine == "" {
			if f.machine, err = found.named(f.search); err != nil {
				return err
			}
		}
	}
	predicted, err := a.foresee(plan, f.machine)
	if err != nil {
		return err
	}
	if found != nil {
		if x.Search, err = found.searched(f.search, predicted); err != nil {
			return err
		}
	}
	if x.Forecast, err = predicted.report(); err != nil {
		return err
	}
	page, err := report.Page(plan, x)
	if err != nil {
		return fileError(err)
	}
	output := f.output
	if output == "" {
		name := filepath.Base(path)
		output = strings.TrimSuffix(name, filepath.Ext(name)) + ".html"
	}
	if err := keepsInputs(output, path, f.compare, f.profiled, f.search); err != nil {
		return err
	}
	return a.writeFile(output, page)
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
