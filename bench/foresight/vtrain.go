package main

import (
	"math"
	"slices"

	"ptc/foresight/machine"
	"ptc/foresight/stack"
)

// knob is a number of a stack or of a machine that is fitted: where the fit starts, and its bounds.
type knob struct {
	name          string
	start, lo, hi float64
	set           func(s *stack.Stack, m *machine.Machine, v float64)
}

// of is a knob that is a number of the stack.
func of(name string, start, lo, hi float64, field func(s *stack.Stack) **stack.Number) knob {
	return knob{name, start, lo, hi, func(s *stack.Stack, _ *machine.Machine, v float64) {
		*field(s) = &stack.Number{Value: v, Source: "fitted by make foresight"}
	}}
}

// folds is among how many parts the rows of a table are divided: each is predicted with parameters fitted to the others.
const folds = 5

// knobs are the fitted numbers of Megatron-LM on one node.
var knobs = []knob{
	of("sweeps", 0.6, 0.3, 1, func(s *stack.Stack) **stack.Number { return &s.Sweeps }),
	of("unaligned_products", 0.4, 0.1, 1, func(s *stack.Stack) **stack.Number { return &s.Unaligned }),
	of("host_kernel", 130e-6, 5e-6, 500e-6, func(s *stack.Stack) **stack.Number { return &s.HostKernel }),
	of("host_backward", 20e-6, 5e-6, 500e-6, func(s *stack.Stack) **stack.Number { return &s.HostBackward }),
}

// turned are a stack and a machine with other values of the knobs.
func turned(s *stack.Stack, m *machine.Machine, values []float64) (*stack.Stack, *machine.Machine) {
	t, n := *s, *m
	for i, k := range knobs {
		k.set(&t, &n, values[i])
	}
	return &t, &n
}

// fitKnobs fits the knobs to runs.
func fitKnobs(all []subject, s *stack.Stack, m *machine.Machine) ([]float64, error) {
	f := fitting{deviations: func(values []float64) ([]float64, error) {
		t, n := turned(s, m, values)
		got, err := simulateAll(all, n, t)
		for i := range got {
			got[i] = math.Log(got[i] / all[i].seconds)
		}
		return got, err
	}}
	for _, k := range knobs {
		f.start, f.lo, f.hi = append(f.start, k.start), append(f.lo, k.lo), append(f.hi, k.hi)
	}
	return f.solve()
}

// foldOf is the part of the table that a row is in. Rows follow no order, so that neighbours are no more alike than others.
func foldOf(row int) int { return row % folds }

// sample are some of the runs that are not in a fold, evenly spread over the table.
func sample(all []subject, fold, most int) []subject {
	var out []subject
	for i := range all {
		if foldOf(i) != fold {
			out = append(out, all[i])
		}
	}
	n := len(out)
	var few []subject
	for i := range min(most, n) {
		few = append(few, out[i*n/min(most, n)])
	}
	return few
}

// sampled is to how many runs of the others a fold's parameters are fitted.
const sampled = 160

// crossValidate predicts each run with parameters fitted to runs of other folds.
func crossValidate(all []subject, s *stack.Stack, m *machine.Machine) ([]float64, error) {
	predicted := make([]float64, len(all))
	for fold := range folds {
		values, err := fitKnobs(sample(all, fold, sampled), s, m)
		if err != nil {
			return nil, err
		}
		t, n := turned(s, m, values)
		var rows []int
		var held []subject
		for i := range all {
			if foldOf(i) == fold {
				rows, held = append(rows, i), append(held, all[i])
			}
		}
		got, err := simulateAll(held, n, t)
		if err != nil {
			return nil, err
		}
		for i, row := range rows {
			predicted[row] = got[i]
		}
	}
	return predicted, nil
}

// measured are the seconds of runs.
func measured(all []subject) []float64 {
	return slices.Collect(func(yield func(float64) bool) {
		for i := range all {
			if !yield(all[i].seconds) {
				return
			}
		}
	})
}

// single is how predictions of vTrain's runs on one node fare.
type single struct {
	Rows   int     `json:"rows"`
	Mean   float64 `json:"kfold_mean"`
	Median float64 `json:"kfold_median"`
	Max    float64 `json:"kfold_max"`
	// Fitted are the numbers fitted to all folds.
	Fitted map[string]float64 `json:"fitted"`

	stack *stack.Stack // with these numbers
	marks []mark
}

// validateSingle predicts the runs by folds, and fits the knobs to all of them.
func validateSingle(folder string, m *machine.Machine, s *stack.Stack) (*single, error) {
	runs, err := readSingle(folder)
	if err != nil {
		return nil, err
	}
	all, err := subjects(runs, m, s)
	if err != nil {
		return nil, err
	}
	predicted, err := crossValidate(all, s, m)
	if err != nil {
		return nil, err
	}
	out := &single{Rows: len(all), Fitted: map[string]float64{}}
	out.marks = marks(measured(all), predicted)
	out.Mean, out.Median, out.Max = summary(errorsOf(predicted, measured(all)))
	values, err := fitKnobs(sample(all, folds, sampled), s, m)
	if err != nil {
		return nil, err
	}
	for i, k := range knobs {
		out.Fitted[k.name] = values[i]
	}
	out.stack, _ = turned(s, m, values)
	return out, nil
}
