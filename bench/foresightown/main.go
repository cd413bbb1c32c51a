package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"ptc/foresight/calibrate"
	"ptc/internal/processors"
	"ptc/runtime/program"
)

var (
	rounds      = flag.Int("rounds", 5, "how often the steps of each plan are measured, in turns")
	steps       = flag.Int64("steps", 30, "steps of a round")
	seconds     = flag.Float64("seconds", 3, "how long each program is calibrated on")
	onProcessor = flag.Bool("processor", false, "measure the time that steps take on one processor, without that of other work there; run this under taskset -c N")
	keep        = flag.Bool("write", true, "write the report and the document's tables")
)

func main() {
	flag.Parse()
	if *onProcessor && processors.Count() != 1 {
		fmt.Fprintln(os.Stderr, "foresightown: -processor measures one processor, and this process has several: run it under taskset -c N")
		os.Exit(2)
	}
	if err := compare(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "foresightown:", err)
		os.Exit(1)
	}
}

// compare measures, calibrates and predicts.
func compare(ctx context.Context) error {
	all, err := subjects()
	if err != nil {
		return err
	}
	var plans []*program.Plan
	of := map[string]int{} // by model: its plan among those to calibrate on
	for _, s := range all {
		if s.calibrates {
			of[s.model] = len(plans)
			plans = append(plans, s.plan)
		}
	}
	m, err := calibrate.Measure(ctx, calibrate.Options{Name: "here", Threads: processors.Count(), Seconds: *seconds, Plans: plans,
		Done: func(name string, n int) { fmt.Fprintf(os.Stderr, "calibrated on %s: %d launches\n", name, n) }})
	if err != nil {
		return err
	}
	if err := measure(ctx, all); err != nil {
		return err
	}
	machines := map[string]*calibrate.Result{}
	for _, s := range all {
		if machines[s.model] == nil {
			own, known := of[s.model]
			r, err := m.Machine(func(i int) bool { return !(known && i == own) && !s.layouts })
			if err != nil {
				return err
			}
			machines[s.model] = r
		}
		if err := s.predict(machines[s.model].Machine); err != nil {
			return err
		}
	}
	r, err := reportOf(all)
	if err != nil {
		return err
	}
	fmt.Print(r.text())
	if !*keep {
		return nil
	}
	return r.write("bench/foresightown.json", "docs/foresight.md")
}
