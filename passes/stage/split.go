package stage

import (
	"slices"

	"ptc/ir"
)

// split makes of each stack of blocks one for each stage that they are on.
func (t *tagger) split() error {
	for _, s := range slices.Clone(t.f.Stacks) {
		at, err := t.stagesOf(s)
		if err != nil {
			return err
		}
		if at == nil {
			continue
		}
		var parts []ir.Part
		for k, stage := range at {
			switch {
			case !t.compiled(stage):
			case k > 0 && stage == at[k-1]:
				parts[len(parts)-1].Count++
			default:
				parts = append(parts, ir.Part{First: k, Count: 1})
			}
		}
		if len(parts) == 0 {
			return errApart
		}
		t.f.Keep(s, parts)
	}
	return nil
}

// stagesOf is the stage of each instance of a stack, nil where they are not blocks of the
// pipeline; an error where some are not, or one has blocks on several stages.
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
	if !slices.ContainsFunc(at, func(stage int) bool { return stage != anywhere }) {
		return nil, nil
	}
	if slices.Contains(at, anywhere) {
		return nil, errApart
	}
	return at, nil
}

// beforePipeline is the stage of a stack that holds no block of the pipeline, as the dense layers in
// front of those with experts: the first one in front of the blocks, the last one behind them.
// What goes through it on both sides does so instance by instance.
func (t *tagger) beforePipeline(s *ir.Stack) (int, error) {
	first, last := len(t.f.Ops), -1 // of the blocks
	for i, o := range t.f.Ops[:min(t.loss+1, len(t.f.Ops))] {
		if _, ok := t.block(o); ok {
			first, last = min(first, i), i
		}
	}
	before, behind := true, true
	for i, o := range t.f.Ops[:min(t.loss+1, len(t.f.Ops))] {
		if o.Run != nil && o.Run.Stack == s {
			before, behind = before && i < first, behind && i > last
		}
	}
	switch {
	case before:
		return 0, nil
	case behind:
		return t.last, nil
	}
	return 0, errApart
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
		if at == nil {
			if t.stacks[s], err = t.beforePipeline(s); err != nil {
				return err
			}
			continue
		}
		t.stacks[s] = at[0]
	}
	return nil
}

// together gives all operations of a run one phase, of which forward and backward
// ones may have operations that nothing before a gradient needs. Where one of these reads a
// gradient, as the count of those that are not finite does, all of the run is an update; it
// is an error where something before a gradient needs that.
func (t *tagger) together(grads map[*ir.Value]bool) error {
	has := map[*ir.Run]map[ir.Phase]bool{}
	reads := map[*ir.Run]bool{} // gradients
	for _, o := range t.f.Ops {
		if o.Run == nil {
			continue
		}
		if has[o.Run] == nil {
			has[o.Run] = map[ir.Phase]bool{}
		}
		has[o.Run][t.phase[o]] = true
		reads[o.Run] = reads[o.Run] || slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return grads[v] })
	}
	updates := map[*ir.Value]bool{}
	for _, o := range t.f.Ops {
		if o.Run != nil && len(has[o.Run]) > 1 {
			t.phase[o] = ir.Backward
			if reads[o.Run] {
				t.phase[o] = ir.Update
				for _, v := range o.Results {
					updates[v] = true
				}
			}
		}
		if t.phase[o] != ir.Update && slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return updates[v] }) {
			return errApart
		}
	}
	return nil
}
