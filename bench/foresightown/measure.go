package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"syscall"

	"ptc/internal/processors"
	"ptc/runtime/metrics"
	"ptc/runtime/train"
)

// Steps of a round that do not count. Where a device has several threads, the runtime tries numbers of them meanwhile.
const (
	warmUp       = 4
	warmUpShared = 24
)

// measure runs each plan in turns with the others. A plan's step is the lower quartile of all its steps, as for calibrated kernels:
// other work on the host only adds to it.
func measure(ctx context.Context, all []*subject) error {
	times := make([][]float64, len(all))
	for round := range *rounds {
		for i, s := range all {
			list, err := s.run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			times[i] = append(times[i], list...)
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, *rounds)
	}
	for i, s := range all {
		slices.Sort(times[i])
		s.measured = times[i][(len(times[i])-1)/4]
	}
	return nil
}

// run is the seconds of the plan's steps in a round, without those that warm up.
func (s *subject) run(ctx context.Context) ([]float64, error) {
	warm := warmUp
	if processors.Count() > s.plan.Mesh.Ranks() {
		warm = warmUpShared
	}
	var t timer
	o := train.Options{Steps: int64(warm) + *steps, Valid: -1, Log: &t, Folder: s.folder, Begun: t.begin}
	if _, err := train.Run(ctx, s.plan, o); err != nil {
		return nil, err
	}
	if len(t.seconds) <= warm {
		return nil, fmt.Errorf("%d steps ran; expected more than %d", len(t.seconds), warm)
	}
	return t.seconds[warm:], nil
}

// timer is a sink for the times of steps: of the clock, or of this process on the processor.
type timer struct {
	seconds []float64
	before  float64 // processor time when the last step ended
}

func (t *timer) begin() { t.before = processorTime() }

func (t *timer) Tell(e metrics.Event) {
	x, ok := e.(*metrics.Step)
	switch {
	case !ok || math.IsNaN(x.Ms):
	case *onProcessor:
		now := processorTime()
		t.seconds = append(t.seconds, now-t.before)
		t.before = now
	default:
		t.seconds = append(t.seconds, x.Ms/1e3)
	}
}

func (t *timer) Close() error { return nil }

// processorTime is the seconds that all threads of this process have run.
func processorTime() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return math.NaN() // and no step is written
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}
