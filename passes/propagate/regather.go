package propagate

import (
	"slices"

	"ptc/ir"
	"ptc/passes/propagate/factor"
)

// regather is the policy of what the backward phase gathers anew rather than keep
// since the forward phase: a parameter with zero 3, and what a rule between modules
// has in shards, as sequence parallelism does (Korthikanti et al., 2022, section
// 4.2.2). Of that the shard is kept alone.
type regather struct {
	factor.Silent
	*trial
}

func newRegather(t *trial) factor.Policy { return &regather{trial: t} }

func (r *regather) Afresh(reader *ir.Op, v *ir.Value, t ir.Type) bool {
	if r.facts.phases[reader] != ir.Backward {
		return false
	}
	if factor.Root(v).Def == nil {
		return r.l.zeroLevel >= 3
	}
	return r.facts.phases[v.Def] == ir.Forward && len(v.Type.Partial) == 0 &&
		slices.ContainsFunc(v.Type.Axes, func(a ir.Axis) bool {
			return slices.ContainsFunc(a.Mesh, func(m string) bool {
				s, _ := r.l.claimOn(a.Name, m, "")
				return s == factor.Asked && !factor.Over(t, m)
			})
		})
}
