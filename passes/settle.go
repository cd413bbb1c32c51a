package passes

import (
	"slices"
	"time"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/passes/memory"
	"ptc/passes/pass"
	"ptc/passes/remat"
	"ptc/passes/validate"
)

// settled is what is left to do, with what to say where nothing fits.
type settled struct {
	list []*Pass
	note string
	done *trial // what was done already, or nil
}

// settle decides what `recompute auto` rematerializes, where m is about to go through the
// passes of list up to the places of all buffers: what a choice takes is known when its
// plan is made, so it is made for each of some choices, of copies of m. The passes that
// rematerialize then do what was decided.
func settle(c *pass.Context, m *ir.Module, list []*Pass, o *Options) (*settled, error) {
	last := slices.IndexFunc(list, func(p *Pass) bool { return p.Name == "memory" })
	if list[0].Name != "split-stacks" || last < 0 {
		return &settled{list: list}, nil
	}
	s, err := remat.NewSearch(c, m)
	if err != nil || s == nil {
		return &settled{list: list}, err
	}
	var t *trial
	for x := s.Next(); x != nil; x = s.Next() {
		if t = try(c, m, x, list[:last+1], o.Blind && !o.VerifyEach, o.Unproved); t == nil {
			return &settled{list: list}, nil // the compilation says what is wrong
		}
		s.Took(x, memory.Uses(t.m))
	}
	x, note, err := s.Best()
	if err != nil {
		return nil, err
	}
	c.Pass = "remat"
	for _, text := range x.Told() {
		c.Remarkf(nil, "%s", text)
	}
	if t != nil && t.x == x && t.v != nil && note == "" && c.Rewrites == nil {
		return &settled{list: list[last+1:], done: t}, nil
	}
	return &settled{list: doing(x, list), note: note}, nil
}

// trial is a copy of a module behind some passes.
type trial struct {
	x    *remat.Choice
	m    *ir.Module
	c    *pass.Context
	v    *validation // nil where the passes were not proved
	told []func(h Hook) error
}

// try takes a copy of m through the passes of list with choice x; nil where one of them
// refuses it.
func try(c *pass.Context, m *ir.Module, x *remat.Choice, list []*Pass, prove, unproved bool) *trial {
	t := &trial{x: x, m: m.Clone(), c: &pass.Context{Target: c.Target, Trial: true, Stands: c.Stands, Schedules: c.Schedules}}
	note := func(index int, name string, _ *ir.Module, took time.Duration) error {
		t.told = append(t.told, func(h Hook) error { return h(index, name, t.m, took) })
		return nil
	}
	o, list := &Options{Hooks: []Hook{note}, Unproved: unproved}, doing(x, list)
	if prove {
		t.v = &validation{table: validate.New()}
		if err := through(t.c, t.m, list, o, t.v); err != nil {
			return nil
		}
		return t
	}
	for _, p := range list {
		if err := step(t.c, t.m, p, o); err != nil {
			return nil
		}
	}
	return t
}

// become makes m what t is, and tells the hooks of o about the passes.
func (t *trial) become(c *pass.Context, m *ir.Module, o *Options) error {
	*m = *t.m
	t.m = m
	c.Remarks = append(c.Remarks, t.c.Remarks...)
	for _, tell := range t.told {
		for _, h := range o.Hooks {
			if err := tell(h); err != nil {
				return err
			}
		}
	}
	return nil
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
