package stage

import (
	"slices"

	"ptc/ir"
)

// split makes of each stack one for each stage that its blocks are on.
func (t *tagger) split() error {
	for _, s := range slices.Clone(t.f.Stacks) {
		at, err := t.stagesOf(s)
		if err != nil {
			return err
		}
		var counts []int
		for k, stage := range at {
			if k > 0 && stage == at[k-1] {
				counts[len(counts)-1]++
			} else {
				counts = append(counts, 1)
			}
		}
		t.f.Split(s, counts)
	}
	return nil
}

// stagesOf is the stage of each instance of a stack; an error where they are not
// blocks of the pipeline, or one has blocks on several stages.
func (t *tagger) stagesOf(s *ir.Stack) ([]int, error) {
	at := make([]int, s.Count)
	for k := range at {
		at[k] = anywhere
	}
	seen := map[string]bool{} // modules, each of which has many operations
	for _, o := range t.f.Ops {
		if o.Run == nil || o.Run.Stack != s || seen[o.Scope] {
			continue
		}
		seen[o.Scope] = true
		if _, ok := t.block(o); !ok {
			continue
		}
		for k := range at {
			block, _ := t.number(ir.OfInstance(o.Scope, k))
			if stage := t.of[block]; at[k] == anywhere || at[k] == stage {
				at[k] = stage
			} else {
				return nil, errApart
			}
		}
	}
	if slices.Contains(at, anywhere) {
		return nil, errApart
	}
	return at, nil
}

// places notes the stage of each stack, which all that its instances do is on.
func (t *tagger) places() error {
	for _, s := range t.f.Stacks {
		if t.rule == nil {
			t.stacks[s] = 0
			continue
		}
		at, err := t.stagesOf(s)
		if err != nil {
			return err
		}
		t.stacks[s] = at[0]
	}
	return nil
}

// together gives all operations of a run one phase, of which forward and backward
// ones may have operations that nothing before a gradient needs; it is an error where
// one of these reads a gradient.
func (t *tagger) together(grads map[*ir.Value]bool) error {
	has := map[*ir.Run]map[ir.Phase]bool{}
	for _, o := range t.f.Ops {
		if o.Run == nil {
			continue
		}
		if has[o.Run] == nil {
			has[o.Run] = map[ir.Phase]bool{}
		}
		has[o.Run][t.phase[o]] = true
	}
	for _, o := range t.f.Ops {
		if o.Run == nil || len(has[o.Run]) == 1 {
			continue
		}
		for _, v := range o.Args {
			if grads[v] {
				return errApart
			}
		}
		t.phase[o] = ir.Backward
	}
	return nil
}
