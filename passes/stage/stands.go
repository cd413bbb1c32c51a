package stage

import (
	"fmt"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/pipeline"
	"ptc/passes/pass"
)

// compiled reports whether a virtual stage is on a device whose programs are compiled.
func (p *plan) compiled(stage int) bool {
	return p.Stands == nil || p.Stands.Compiled(p.place.Device(stage))
}

// stand finds devices that stand for others. Two devices do the same if they have as many instances of each stack at each of
// their stages, and nothing else of the blocks; and if their stages follow one another on other devices or on themselves
// alike. Devices with the first and the last stage, or with a block that is in no stack, stand for themselves. One that stands
// for others needs at least as many places as these for what microbatches keep.
func (p *plan) stand(m *ir.Module) error {
	if !p.Representatives || p.rule == nil || len(p.rule.Stages) == 0 || fits(m) {
		return nil
	}
	var err error
	if p.place, err = Placed(m, p.rule); err != nil {
		return err
	}
	alike, alone, err := p.signatures(m)
	if alike == nil || err != nil {
		return err
	}
	needs, err := p.Schedules.Needs(p.rule.Schedule, p.rule.Shape(m))
	if err != nil {
		return Refused(p.rule, err)
	}
	for d := range needs {
		alike[d] += fmt.Sprint(needs[d].Kinds)
	}
	s := &pass.Stands{Of: make([]int, len(alike)), Place: p.place, Blocks: p.rule.Blocks, First: make([]int, p.stages), Programs: map[string]*pass.Stood{}}
	for d := range s.Of {
		s.Of[d] = d
	}
	for stage := range p.stages - 1 {
		s.First[stage+1] = s.First[stage] + p.rule.Stages[stage]
	}
	classes := map[string][]int{}
	for d, key := range alike {
		if !alone[d] {
			classes[key] = append(classes[key], d)
		}
	}
	fewer := false
	for _, members := range classes {
		fewer = standIn(s.Of, members, needs) || fewer
	}
	if fewer {
		p.Stands = s
	}
	return nil
}

// fits reports whether passes choose, by the memory or the time that a device has, what it rematerializes or offloads: then
// devices differ that otherwise do the same.
func fits(m *ir.Module) bool {
	l := layout.Of(m)
	return slices.ContainsFunc(layout.All[*layout.Recompute](l), (*layout.Recompute).Auto) ||
		slices.ContainsFunc(layout.All[*layout.Offload](l), func(r *layout.Offload) bool { return slices.Contains(r.What, "activations") })
}

// standIn fills in of for devices that do the same: those that need most stand for all others. It reports whether a device
// stands for another.
func standIn(of, members []int, needs []pipeline.Needs) (fewer bool) {
	slices.SortStableFunc(members, func(a, b int) int { return needs[b].All() - needs[a].All() })
	var first []int
	for _, d := range members {
		i := slices.IndexFunc(first, func(r int) bool { return needs[r].Covers(&needs[d]) })
		if i < 0 {
			first = append(first, d)
			continue
		}
		of[d], fewer = first[i], true
	}
	return fewer
}

// signatures are texts, by device, that are the same where devices have the same of the model, and whether each stands for itself
// alone; nil where it is not known.
func (p *plan) signatures(m *ir.Module) (alike []string, alone []bool, err error) {
	n := m.MeshSize(p.rule.Over)
	text := make([]strings.Builder, n)
	alone = make([]bool, n)
	own := func(stage int) { alone[p.place.Device(stage)] = true }
	own(0)
	own(p.stages - 1)
	for _, f := range m.Funcs {
		t, err := newTagger(f, p)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range f.Stacks {
			at, err := t.stagesOf(s)
			if err != nil {
				return nil, nil, nil
			}
			counts := make([]int, p.stages)
			for _, stage := range at {
				counts[stage]++
			}
			for d := range text {
				for _, stage := range p.place.Stages(d) {
					fmt.Fprintf(&text[d], "%s %d, ", s.Name, counts[stage])
				}
			}
		}
		for _, o := range f.Ops {
			if k, ok := t.block(o); ok && o.Run == nil {
				own(t.of[k])
			}
		}
		for _, a := range f.Args {
			if k, ok := t.number(a.Path); ok && a.Value.Each == nil {
				own(t.of[k])
			}
		}
	}
	for d := range text {
		for _, stage := range p.place.Stages(d) {
			for _, next := range []int{stage - 1, stage + 1} {
				fmt.Fprint(&text[d], next >= 0 && next < p.stages && p.place.Device(next) == d)
			}
		}
		alike = append(alike, text[d].String())
	}
	return alike, alone, nil
}
