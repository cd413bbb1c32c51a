package gpu

import (
	"errors"
	"fmt"
	"slices"

	"ptc/backend/gpu/choose"
	"ptc/backend/gpu/target"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
)

// tooLarge is the error of a kernel that takes more shared memory than a block may have.
type tooLarge struct {
	takes int
	of    target.Target
}

func (e *tooLarge) Error() string {
	return fmt.Sprintf("it takes %d bytes of shared memory, and a block of %s has %d", e.takes, e.of.Arch, e.of.Shared)
}

// Of kernels that take too much memory there is less by this for operands, once and again, to a limit.
const (
	spareStep = 8 << 10
	spareMost = 80 << 10
)

// fitting is the kernel of f. How much memory exchanges between threads take is known only when it is generated,
// so a kernel that takes too much is cut anew, into smaller blocks.
func fitting(f *ir.Func, t target.Target, given *schedule.Table) (lowered, error) {
	out, err := generate(f, t, given, 0)
	for spare := spareStep; err == nil && out.Shared > t.Shared && spare <= spareMost; spare += spareStep {
		out, err = generate(f, t, given, spare)
	}
	if err == nil && out.Shared > t.Shared {
		err = &tooLarge{out.Shared, t}
	}
	return out, err
}

// Unfit is what a block of the target, or of one for which the plan has code as well, lacks for an attention
// whose columns are many: shared memory, however few queries and keys there are at a time.
func (g *gpu) Unfit(k *fusion.Kernel) string {
	for _, name := range append([]string{g.Target.Name}, alsoFor[g.Target.Name]...) {
		t, err := target.Resolve(name)
		if err != nil || 2*choose.LeastShared(k) <= int64(t.Shared) { // exchanges take less than operands
			continue
		}
		var large *tooLarge
		if _, err := fitting(k.F, t, nil); errors.As(err, &large) {
			return large.Error()
		}
	}
	return ""
}

// scheduled reports whether given has a schedule of the kernel f or of a section of it, which then is what a
// kernel that cannot be generated cannot have.
func scheduled(f *ir.Func, given *schedule.Table) bool {
	k, err := fusion.Analyze(f)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(k.Apart(), func(p *fusion.Kernel) bool {
		_, ok := given.Of(fusion.Key(p.F))
		return ok
	})
}
