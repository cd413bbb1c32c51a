package search

import "ptc/runtime/program"

// remembering is a prober that keeps what it compiled.
type remembering struct {
	Prober
	plans map[string]*remembered
}

type remembered struct {
	plan *program.Plan
	code string
	err  error
}

// Remembering is a prober that compiles each layout once: for searches of one space on several machines with the same kind of
// device.
func Remembering(p Prober) Prober { return &remembering{p, map[string]*remembered{}} }

// Plan is the plan of a layout.
func (r *remembering) Plan(layout string) (plan *program.Plan, code string, err error) {
	x := r.plans[layout]
	if x == nil {
		x = &remembered{}
		x.plan, x.code, x.err = r.Prober.Plan(layout)
		r.plans[layout] = x
	}
	return x.plan, x.code, x.err
}
