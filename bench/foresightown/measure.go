package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"

	"ptc/runtime/metrics"
	"ptc/runtime/train"
)

// warmUp are steps of a round that do not count: the runtime tries numbers of threads meanwhile.
const warmUp = 24

// measure runs each plan in turns with the others. A plan's step is the lower quartile of all its steps, as for calibrated kernels:
// other work on the host only adds to it.
func measure(ctx context.Context, all []*subject) error {
	times := make([][]float64, len(all))
	for round := range *rounds {
		for i, s := range all {
			var t timer
			_, err := train.Run(ctx, s.plan, train.Options{Steps: warmUp + *steps, Valid: -1, Log: &t, Folder: s.folder})
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if len(t.seconds) <= warmUp {
				return fmt.Errorf("%s ran %d steps; expected more than %d", s.name, len(t.seconds), warmUp)
			}
			times[i] = append(times[i], t.seconds[warmUp:]...)
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, *rounds)
	}
	for i, s := range all {
		slices.Sort(times[i])
		s.measured = times[i][(len(times[i])-1)/4]
	}
	return nil
}

// timer is a sink for the times of steps.
type timer struct{ seconds []float64 }

func (t *timer) Tell(e metrics.Event) {
	if x, ok := e.(*metrics.Step); ok && !math.IsNaN(x.Ms) {
		t.seconds = append(t.seconds, x.Ms/1e3)
	}
}

func (t *timer) Close() error { return nil }
