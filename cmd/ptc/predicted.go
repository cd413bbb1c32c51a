package main

import (
	"encoding/json"
	"math"
	"sync"

	"ptc/foresight/forecast"
	"ptc/runtime/metrics"
	"ptc/runtime/profile"
)

// stepTimes is a sink that keeps how long the last steps of a run took, and separately the first ones, which warm up.
type stepTimes struct {
	mu    sync.Mutex
	seen  int
	first []float64
	ms    []float64
}

const (
	warmUpSteps = 2
	keptSteps   = 4096
)

func (s *stepTimes) Tell(e metrics.Event) {
	x, ok := e.(*metrics.Step)
	if !ok || math.IsNaN(x.Ms) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.seen - warmUpSteps
	s.seen++
	switch {
	case n < 0:
		s.first = append(s.first, x.Ms)
	case n < keptSteps:
		s.ms = append(s.ms, x.Ms)
	default:
		s.ms[n%keptSteps] = x.Ms
	}
}

// measured are the steps that count: the first ones only if there are no others.
func (s *stepTimes) measured() []float64 {
	if len(s.ms) == 0 {
		return s.first
	}
	return s.ms
}

func (s *stepTimes) Close() error { return nil }

// showMeasured prints the profile of a run, and compares its times with a forecast, if there are such. With JSON lines each
// is a line.
func (a *app) showMeasured(r *profile.Report, f *foreseen, steps *stepTimes, log string) error {
	if r != nil {
		if err := a.showEvent(log, r.Text(), struct {
			Event string `json:"event"`
			*profile.Report
		}{"profile", r}); err != nil {
			return err
		}
	}
	if f == nil {
		return nil
	}
	c := f.Compare(f.plan, f.job, steps.measured(), r)
	if c == nil {
		return nil
	}
	return a.showEvent(log, c.Text(), struct {
		Event string `json:"event"`
		*forecast.Comparison
	}{"forecast", c})
}

// showEvent prints a text, or among JSON lines the event on a line.
func (a *app) showEvent(log, text string, event any) error {
	if log != "json" {
		return a.print(text)
	}
	line, err := json.Marshal(event)
	if err != nil {
		return err
	}
	return a.print(string(line) + "\n")
}
