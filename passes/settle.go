package passes

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/passes/memory"
	"ptc/passes/pass"
	"ptc/passes/remat"
)

// settle decides what `recompute auto` rematerializes, where m is about to go through the
// passes of list up to the places of all buffers: what a choice takes is known when its
// plan is made, so it is made for each of some choices, of copies of m. The passes that
// rematerialize then do what was decided. note is what to say where nothing fits.
func settle(c *pass.Context, m *ir.Module, list []*Pass) (passes []*Pass, note string, err error) {
	last := slices.IndexFunc(list, func(p *Pass) bool { return p.Name == "memory" })
	if list[0].Name != "split-stacks" || last < 0 {
		return list, "", nil
	}
	s, err := remat.NewSearch(c, m)
	if err != nil || s == nil {
		return list, "", err
	}
	for x := s.Next(); x != nil; x = s.Next() {
		trial := m.Clone()
		q := &pass.Context{Target: c.Target, Trial: true}
		for _, p := range doing(x, list[:last+1]) {
			if err := step(q, trial, p, &Options{}); err != nil {
				return list, "", nil // which the compilation says itself
			}
		}
		s.Took(x, memory.Uses(trial))
	}
	x, note, err := s.Best()
	if err != nil {
		return nil, "", err
	}
	return doing(x, list), note, nil
}

// doing are the passes of list, of which those that rematerialize do what x says.
func doing(x *remat.Choice, list []*Pass) []*Pass {
	out := slices.Clone(list)
	for i, p := range list {
		q := *p
		switch p.Name {
		case "split-stacks":
			q.Run = x.Split
		case "remat":
			q.Run = x.Run
		default:
			continue
		}
		out[i] = &q
	}
	return out
}

// noted is err, where it says that a device has too little memory, with a note.
func noted(err error, note string) error {
	if e, ok := err.(*diag.Error); ok && note != "" && e.Code == "E0611" {
		e.Note = append([]diag.Note{{Msg: note}}, e.Note...)
	}
	return err
}
