package compiler

import (
	"fmt"
	"slices"

	"ptc/backend"
	"ptc/backend/tile/schedule"
	"ptc/internal/diag"
	"ptc/runtime/program"
)

// scheduled says whether schedules, if there are any, are for t.
func scheduled(s *schedule.Table, t backend.Target) error {
	if s == nil || s.Target == t.Info().Name {
		return nil
	}
	return &diag.Error{Code: "E0702", Msg: fmt.Sprintf("schedules for the target `%s`", s.Target), Want: "schedules for `" + t.Info().Name + "`",
		Hint: "`ptc tune` makes them from a plan for that target"}
}

// schedulesOf are the schedules that the kernels of p were cut by; nil where there are none.
func schedulesOf(p *program.Plan) (*schedule.Table, error) {
	if len(p.Schedules) == 0 {
		return nil, nil
	}
	t := schedule.NewTable(p.Target)
	for _, x := range p.Schedules {
		s, err := schedule.Parse(x.Value)
		if err != nil {
			return nil, &diag.Error{Code: "E0703", Msg: fmt.Sprintf("the schedule of kernel %.40s in the plan: %v", x.Key, err), Want: "a plan that `ptc compile` made"}
		}
		t.Set(x.Key, s, "")
	}
	return t, nil
}

// noteParts adds the schedules of kernels that p has in parts, and which so are none of its
// own, in the order of keys.
func noteParts(p *program.Plan, given *schedule.Table, kernels []string) {
	if given == nil {
		return
	}
	used := p.Schedules
	p.Schedules = nil
	for _, key := range given.Keys() {
		s, _ := given.Of(key)
		at := slices.IndexFunc(used, func(x program.KV) bool { return x.Key == key })
		if at >= 0 || s.Split > 1 && slices.Contains(kernels, key) {
			p.Schedules = append(p.Schedules, program.KV{Key: key, Value: s.String()})
		}
	}
}
