package main

import (
	"time"

	"github.com/spf13/cobra"

	"ptc/foresight/forecast"
	"ptc/foresight/machine"
	"ptc/foresight/sim"
	"ptc/runtime/program"
	"ptc/runtime/report"
)

// restart is how long training is assumed to stand still after a failure.
const restart = 5 * time.Minute

// addMachine adds --machine to a command that does something else without it.
func addMachine(cmd *cobra.Command, to *string, what string) {
	cmd.Flags().StringVar(to, "machine", "", what+" on `NAME:LEVELS`, as ptc simulate does")
}

// foreseen is a plan's forecast on a machine.
type foreseen struct {
	*forecast.Forecast
	plan    *program.Plan
	cluster *machine.Cluster
	job     *sim.Job
}

// foresee simulates a plan on the machine NAME:LEVELS; nil without one.
func (a *app) foresee(p *program.Plan, spec string) (*foreseen, error) {
	if spec == "" {
		return nil, nil
	}
	c, err := a.cluster(spec)
	if err != nil {
		return nil, err
	}
	f, job, err := forecast.Of(p, c, forecast.Options{Restart: restart.Seconds()})
	if err != nil {
		return nil, inputf("%w", err)
	}
	return &foreseen{f, p, c, job}, nil
}

// report is the forecast as a page shows it; nil without one.
func (f *foreseen) report() (*report.Forecast, error) {
	if f == nil {
		return nil, nil
	}
	return f.Report(f.plan, f.cluster, f.job, sim.How{})
}
