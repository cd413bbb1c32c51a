package propagate

import (
	"ptc/ir"
	"ptc/passes/propagate/factor"
)

// summed is the policy of microbatches of which a device holds shards of gradients and
// parameters alone, from zero 2 and zero 3 on: each reduces its gradients before they
// are added to those of the others, and gathers the parameters that it reads.
//
//	zero 1   %7 partial(dp) = accumulate %5       zero 2   %6 embed@dp = reshard %5
//	         %8 embed@dp = reshard %7, once                %7 embed@dp = accumulate %6
type summed struct {
	factor.Silent
	*trial
}

func newPerMicro(t *trial) factor.Policy { return &summed{trial: t} }

func (p *summed) Before(x *factor.Flow, o *ir.Op) {
	if p.l.perMicro < 2 || o.Accumulates() == "" {
		return
	}
	if w, ok := p.facts.wanted[o.Result()]; ok {
		o.Args[0] = x.Reshard(o, o.Args[0], w.Type, w.From, "")
	}
}

// gathersPerMicro reports whether each microbatch gathers v for itself: a parameter that zero
// shards.
func (l *layout) gathersPerMicro(v *ir.Value) bool {
	return l.perMicro >= 3 && factor.Root(v).Def == nil
}
