package main

import (
	"math"

	"ptc/foresight/machine"
	"ptc/foresight/stack"
)

// weakScaling is how predictions of table 1 of Narayanan et al. (2021) fare.
type weakScaling struct {
	Rows    int     `json:"rows"`
	Scalars int     `json:"scalars"` // fitted to other rows of the table
	LOOMean float64 `json:"loo_mean"`
	LOOMax  float64 `json:"loo_max"`
	Mean    float64 `json:"nofit_mean"`
	Max     float64 `json:"nofit_max"`
	Runs    []pair  `json:"runs"`
}

// pair is a run with its prediction in seconds, and the errors without and with the scalar.
type pair struct {
	Name      string  `json:"name"`
	Measured  float64 `json:"measured_s"`
	Predicted float64 `json:"predicted_s"`
	Error     float64 `json:"error"`
	LOO       float64 `json:"loo_error"`
}

// validateSC21 predicts the runs under a stack that knows nothing of them, and then with one scalar: the geometric mean of measured
// over predicted of the other rows.
func validateSC21(folder string, m *machine.Machine, s *stack.Stack) (*weakScaling, error) {
	runs, err := readSC21(folder)
	if err != nil {
		return nil, err
	}
	all, err := subjects(runs, m, s)
	if err != nil {
		return nil, err
	}
	return weakOf(all, m, s)
}

// weakOf compares predictions of runs with what was measured.
func weakOf(all []subject, m *machine.Machine, s *stack.Stack) (*weakScaling, error) {
	predicted, err := simulateAll(all, m, s)
	if err != nil {
		return nil, err
	}
	errs := errorsOf(predicted, measured(all))
	w := &weakScaling{Rows: len(all), Scalars: 1}
	sum := 0.0
	for _, e := range errs {
		sum += math.Log1p(e)
	}
	loo := make([]float64, len(all))
	for i, e := range errs {
		scalar := math.Exp(-(sum - math.Log1p(e)) / float64(len(errs)-1))
		loo[i] = (1+e)*scalar - 1
		w.Runs = append(w.Runs, pair{all[i].name, all[i].seconds, predicted[i], e, loo[i]})
	}
	w.Mean, _, w.Max = summary(errs)
	w.LOOMean, _, w.LOOMax = summary(loo)
	return w, nil
}
