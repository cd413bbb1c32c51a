package fusion

import (
	"fmt"
	"slices"

	"ptc/ir"
)

// reduction checks a row or column kernel: all reductions reduce the same
// axes, and every other value is over the whole space, the kept axes, or part
// of either.
func (k *Kernel) reduction(reductions []*ir.Op) error {
	over := map[string]bool{}
	for _, n := range reductions[0].Attrs.Names("over") {
		over[n] = true
	}
	if len(over) == 0 {
		return fmt.Errorf("%s over no axes", reductions[0].Name)
	}
	for _, r := range reductions {
		names := r.Attrs.Names("over")
		if len(names) != len(over) {
			return fmt.Errorf("reductions over different axes in one kernel")
		}
		if slices.ContainsFunc(names, func(n string) bool { return !over[n] }) {
			return fmt.Errorf("reductions over different axes in one kernel")
		}
	}
	k.loops(k.reducedSpace(reductions), over)
	err := k.phases(reductions, over)
	if own := reductions[0].Args[0].Type.Axes; err != nil && k.Class == Column && over[own[len(own)-1].Name] {
		// Several sweeps need rows, though storage has other axes contiguous.
		k.loops(own, over)
		return k.phases(reductions, over)
	}
	return err
}

// loops sets the iteration space, in loop order, and what follows from it.
func (k *Kernel) loops(space []ir.Axis, over map[string]bool) {
	k.Space, k.Reduce, k.Class = space, nil, Column
	for _, a := range space {
		if over[a.Name] {
			k.Reduce = append(k.Reduce, a)
		}
	}
	if over[space[len(space)-1].Name] {
		k.Class = Row
	}
}

// reducedSpace orders the axes of the reduced operands as the widest argument
// view stores them, so that the last one is contiguous in the most data.
func (k *Kernel) reducedSpace(reductions []*ir.Op) []ir.Axis {
	want := reductions[0].Args[0].Type.Axes
	for _, r := range reductions[1:] {
		if len(r.Args[0].Type.Axes) > len(want) {
			want = r.Args[0].Type.Axes
		}
	}
	best := want
	score := -1
	for _, a := range k.F.Args {
		n := 0
		for _, x := range a.Value.Type.Axes {
			if subspace([]ir.Axis{x}, want) {
				n++
			}
		}
		if n == len(want) && n == len(a.Value.Type.Axes) && n > score {
			best, score = a.Value.Type.Axes, n
		}
	}
	return best
}

// phases numbers the sweeps and checks the spaces.
func (k *Kernel) phases(reductions []*ir.Op, over map[string]bool) error {
	isReduction := map[*ir.Op]bool{}
	for _, r := range reductions {
		isReduction[r] = true
		k.Part[r] = PartRoot
	}
	kept := k.Kept()
	for _, o := range k.F.Ops {
		if k.Part[o] == PartView && k.isView(o) {
			continue
		}
		phase := 0
		for _, a := range o.Args {
			if a.Def == nil || k.isView(a.Def) {
				continue
			}
			p := k.Phase[a.Def]
			if isReduction[a.Def] {
				p++
			}
			phase = max(phase, p)
		}
		k.Phase[o] = phase
		t := o.Result().Type
		if isReduction[o] {
			if !SameSpace(o.Args[0].Type.Axes, k.Space) {
				return fmt.Errorf("%s reduces %s, not the kernel's space", o.Name, o.Args[0].Type)
			}
			continue
		}
		k.Part[o] = PartBody
		if !subspace(t.Axes, k.Space) {
			return fmt.Errorf("%s has axes beyond the kernel's: %s", o.Name, t)
		}
	}
	if k.Class == Column {
		return k.column(isReduction, kept)
	}
	for _, r := range k.F.Results {
		if !SameSpace(r.Value.Type.Axes, k.Space) && !SameSpace(r.Value.Type.Axes, kept) {
			return fmt.Errorf("result %s is neither over the rows nor over the kept axes", r.Value.Type)
		}
	}
	return nil
}

// column allows one round of reductions and work on their results. Whatever is
// over the kept axes can be stored, whether it needs a reduction or not: what
// follows the sweep computes it.
func (k *Kernel) column(isReduction map[*ir.Op]bool, kept []ir.Axis) error {
	after := map[*ir.Value]bool{}
	for _, o := range k.F.Ops {
		if k.isView(o) {
			continue
		}
		for _, a := range o.Args {
			after[o.Result()] = after[o.Result()] || after[a]
		}
		if isReduction[o] {
			if after[o.Result()] {
				return fmt.Errorf("a column kernel has one round of reductions")
			}
			after[o.Result()] = true
			continue
		}
		if after[o.Result()] {
			k.Part[o] = PartEpilogue
			if !subspace(o.Result().Type.Axes, kept) {
				return fmt.Errorf("a column kernel sweeps its input once; %s needs it again", o.Name)
			}
		}
	}
	for _, r := range k.F.Results {
		if !SameSpace(r.Value.Type.Axes, kept) {
			return fmt.Errorf("result %s of a column kernel is not over the kept axes", r.Value.Type)
		}
	}
	return nil
}

func (k *Kernel) isView(o *ir.Op) bool {
	if len(o.Results) != 1 {
		return false
	}
	_, ok := k.Views[o.Results[0]]
	return ok
}
