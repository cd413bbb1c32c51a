package cuda

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptc/internal/units"
	"ptc/runtime/program"
)

// choice is code of a plan for a device: the plan's own or that of one of its variants.
type choice struct {
	plan    *program.Plan // with that code
	headers map[int]*header
	arch    arch
	target  string // as the code says it: "sm_90a"
}

// choose finds the best code of a plan that a GPU and its driver run.
func choose(plan *program.Plan, d *program.Device, g gpu, version int) (*choice, error) {
	var best *choice
	var all []*choice
	var not error
	for i := range len(plan.Variants) + 1 {
		c, err := candidate(plan, d, i-1)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
		if !c.runsOn(g) {
			continue
		}
		if err := cmp.Or(c.known(version), c.fits(d, g)); err != nil {
			not = cmp.Or(not, err)
			continue
		}
		if best == nil || c.arch.beats(best.arch) {
			best = c
		}
	}
	switch {
	case best != nil:
		return best, nil
	case not != nil:
		return nil, not
	}
	return nil, unfit(all, g)
}

// candidate is a variant of a plan, or below 0 its own code.
func candidate(plan *program.Plan, d *program.Device, variant int) (c *choice, err error) {
	c = &choice{plan: plan}
	if variant >= 0 {
		v := &plan.Variants[variant]
		defer func() {
			if err != nil {
				err = fmt.Errorf("variant %s: %w", clip(v.Arch), err)
			}
		}()
		c.plan = plan.With(v)
	}
	if c.headers, err = readHeaders(c.plan, d); err != nil {
		return nil, err
	}
	for k, i := range usedCode(c.plan, d) {
		h := c.headers[i]
		a, err := readArch(h.target)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			c.arch, c.target = a, h.target
		} else if a != c.arch {
			return nil, fmt.Errorf("its modules are for both %s and %s", clip(c.target), clip(h.target))
		}
	}
	return c, nil
}

func (c *choice) runsOn(g gpu) bool { return len(c.headers) == 0 || c.arch.runsOn(g) }

// known says why a driver does not know the language of the code.
func (c *choice) known(version int) error {
	for _, i := range slices.Sorted(maps.Keys(c.headers)) {
		if err := c.headers[i].known(version); err != nil {
			return err
		}
	}
	return nil
}

// fits says which kernel that a device calls needs more shared memory than a GPU's block may have.
func (c *choice) fits(d *program.Device, g gpu) error {
	for i := range d.Progs {
		for _, in := range d.Progs[i].Instrs {
			if in.Comm != nil {
				continue
			}
			if k := &c.plan.Kernels[in.Kernel]; k.Shared > g.shared {
				return fmt.Errorf("a block of kernel %s, of the code for %s, needs %s of shared memory, and one of %s has at most %s",
					clip(k.Name), c.target, units.Bytes(k.Shared), g.name, units.Bytes(g.shared))
			}
		}
	}
	return nil
}

// unfit is the error of a GPU that runs none of a plan's code.
func unfit(all []*choice, g gpu) error {
	var has []string
	for _, c := range all {
		has = append(has, fmt.Sprintf("%s (compute capability %s)", c.target, c.arch))
	}
	return fmt.Errorf("the plan is for GPUs of %s, and this one, %s, is of %d.%d; compile for it, with target=cuda:sm_%d%d or what runs there",
		strings.Join(has, " or "), g.name, g.major, g.minor, g.major, g.minor)
}

// beats says whether code is for a narrower range of the devices that both run on.
func (a arch) beats(b arch) bool {
	return cmp.Or(cmp.Compare(a.major, b.major), cmp.Compare(a.minor, b.minor), cmp.Compare(a.narrow(), b.narrow())) > 0
}

func (a arch) narrow() int { return map[string]int{"f": 1, "a": 2}[a.suffix] }
