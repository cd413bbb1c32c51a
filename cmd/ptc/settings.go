package main

import (
	"errors"
	"strings"

	"ptc/internal/formula"
	"ptc/runtime/program"
)

// withSettings is the plan with the values of --set, each name=value.
func withSettings(plan *program.Plan, set []string) (*program.Plan, error) {
	values := map[string]float64{}
	for _, s := range set {
		name, text, ok := strings.Cut(s, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, usagef("--set: `%s` is not name=value", s)
		}
		x, err := formula.Parse(text)
		if err == nil && len(x.Names()) > 0 {
			err = errors.New("the value of a port must be a number")
		}
		if err != nil {
			return nil, usagef("--set %s: %w", s, err)
		}
		values[name] = x.Eval(nil)
	}
	plan, err := plan.Set(values)
	if err != nil {
		return nil, usagef("--set: %w", err)
	}
	return plan, nil
}
