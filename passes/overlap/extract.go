package overlap

import (
	"slices"

	"ptc/ir"
)

// extract takes collectives out of runs, to behind them, where those of all instances
// fit into one bucket of the size that the layout says: one message instead of one for
// each instance. Of the run, nobody may read what they leave. Without a size in the
// layout they stay, and run beside the next instance.
func (o *options) extract(t *text) {
	var out []*ir.Op
	for _, x := range t.ops {
		out = append(out, x)
		if in := t.runs[x]; in != nil {
			out = append(out, o.ofAll(in)...)
		}
	}
	t.ops = out
}

// ofAll takes the collectives out of a run that are to be done for all instances at
// once: by kind, all that nobody of the run reads, or none.
func (o *options) ofAll(t *text) (out []*ir.Op) {
	refused := map[kind]bool{}
	free := o.unread(t, refused)
	for again := true; again; {
		again = false
		bytes := map[kind]int64{}
		for x := range free {
			bytes[o.kindOf(x)] += payload(x) * x.Times()
		}
		for k, n := range bytes {
			if n > o.bucket {
				refused[k], again = true, true
			}
		}
		if again {
			free = o.unread(t, refused)
		}
	}
	var left []*ir.Op
	for _, x := range t.ops {
		if !free[x] {
			left = append(left, x)
			continue
		}
		for _, r := range x.Results {
			r.Each = t.run.Stack
		}
		x.Run, x.Scope = nil, common(ir.OfInstance(x.Scope, 0), ir.OfInstance(x.Scope, 1))
		out = append(out, x)
	}
	t.ops = left
	return out
}

// unread are the collectives of a run, of kinds that are not refused, that read what
// instances have each and are themselves read in the run by such ones alone.
func (o *options) unread(t *text, refused map[kind]bool) map[*ir.Op]bool {
	free, read := map[*ir.Op]bool{}, map[*ir.Value]bool{}
	isRead := func(v *ir.Value) bool { return read[v] }
	shared := func(v *ir.Value) bool { return v.In() == nil || v.Def != nil && v.Def.Name == ir.Enter }
	for i := len(t.ops) - 1; i >= 0; i-- {
		x := t.ops[i]
		if group(x) && mergeable(x) && !o.early[x] && !refused[o.kindOf(x)] && !slices.ContainsFunc(x.Results, isRead) && !slices.ContainsFunc(x.Args, shared) {
			free[x] = true
			continue
		}
		for _, a := range x.Args {
			read[a] = true
		}
	}
	return free
}
