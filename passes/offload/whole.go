package offload

import (
	"slices"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/op"
)

// site is where states are loaded whole: in a run that reads them, or outside.
type site struct {
	run    *ir.Run
	at     int    // number of the operation before which they are
	end    int    // behind the last one that reads one
	like   *ir.Op // that reads one; nil if none does
	states []*ir.Value
}

// atOnce loads the states of u whole, before the first operation that reads one, in
// each run that does, and stores the new ones where all of them are computed and all
// old ones read.
func (o *optimizer) atOnce(u *update) {
	begins, ends := bounds(o.f)
	var end *ir.Run // at the end
	if each := u.states[0].Value.Each; each != nil {
		end = &ir.Run{Stack: each}
	}
	sites := o.sites(u, begins, ends, end)
	at, run := 0, (*ir.Run)(nil) // behind the operation that makes the last of the new states
	for _, s := range sites {
		if s.end >= at {
			at, run = s.end, s.run
		}
	}
	var fresh []*ir.Result // new states, which are stored together
	for _, a := range u.states {
		r := o.result(a)
		if r == nil || r.Value == a.Value {
			continue
		}
		fresh = append(fresh, r)
		if d := r.Value.Def; d == nil {
			at, run = len(o.f.Ops), end // an argument, which may be sent and read until then
		} else if n := slices.Index(o.f.Ops, d); n >= 0 && d.Name == op.Leave {
			at = max(at, ends[n])
		} else if n >= at {
			at, run = n+1, d.Run
		}
	}
	var out []*ir.Op
	emit := func(x, like *ir.Op, run *ir.Run) *ir.Op {
		if like != nil {
			x.Scope, x.Pos, x.Task = like.Scope, like.Pos, like.Task
		}
		x.Run = run
		out = append(out, x)
		return x
	}
	with := map[*ir.Run]map[*ir.Value]*ir.Value{} // what is loaded, by site
	var last map[*ir.Value]*ir.Value
	for i := 0; i <= len(o.f.Ops); i++ {
		for _, s := range sites {
			if s.at != i {
				continue
			}
			x := emit(o.operation(collective.HostToDevice, s.states, ir.A("why", o.rule.why)), s.like, s.run)
			last = map[*ir.Value]*ir.Value{}
			for n, v := range s.states {
				last[v] = x.Results[n]
			}
			with[s.run] = last
		}
		if i == at && len(fresh) > 0 {
			var like *ir.Op
			if at > 0 {
				like = o.f.Ops[at-1]
			}
			o.keep(fresh, last, func(x *ir.Op) *ir.Op { return emit(x, like, run) })
		}
		if i < len(o.f.Ops) {
			x := o.f.Ops[i]
			at := with[x.Run]
			if u.states[0].Value.Each == nil {
				at = with[nil]
			}
			for n, a := range x.Args {
				if w := at[a]; w != nil {
					x.Args[n] = w
				}
			}
			out = append(out, x)
		}
	}
	o.f.Ops = out
	o.atOnces += len(u.states) * u.states[0].Value.Count()
}

// keep stores new states, those that were loaded as others from there.
func (o *optimizer) keep(fresh []*ir.Result, loaded map[*ir.Value]*ir.Value, emit func(x *ir.Op) *ir.Op) {
	var vs []*ir.Value
	for _, r := range fresh {
		v := r.Value
		if w := loaded[v]; w != nil {
			v = w
		}
		vs = append(vs, v)
	}
	for i, v := range emit(o.store(vs)).Results {
		fresh[i].Value = v
	}
}

// sites are where the states of u are loaded, in the order of the text. What is there
// once is loaded in one place, outside of runs; what nothing reads but a result, at the
// end.
func (o *optimizer) sites(u *update, begins, ends []int, end *ir.Run) (sites []*site) {
	of := map[*ir.Run]*site{}
	for i, x := range o.f.Ops {
		for _, v := range x.Args {
			if !u.has(v) {
				continue
			}
			run, at, end := x.Run, i, i+1
			if v.Each == nil {
				run, at, end = nil, begins[i], ends[i]
			}
			s := of[run]
			if s == nil {
				s = &site{run: run, at: at, like: x}
				of[run], sites = s, append(sites, s)
			}
			if s.end = end; !slices.Contains(s.states, v) {
				s.states = append(s.states, v)
			}
		}
	}
	for _, a := range u.states {
		if !o.isAnothers(u, a) {
			continue
		}
		if len(sites) == 0 {
			sites = append(sites, &site{run: end, at: len(o.f.Ops), end: len(o.f.Ops)})
		}
		if s := sites[len(sites)-1]; !slices.Contains(s.states, a.Value) {
			s.states = append(s.states, a.Value)
		}
	}
	for _, s := range sites { // in the order of the arguments
		var states []*ir.Value
		for _, a := range u.states {
			if slices.Contains(s.states, a.Value) {
				states = append(states, a.Value)
			}
		}
		s.states = states
	}
	return sites
}

// isAnothers reports whether the old value of state a is the new one of another.
func (o *optimizer) isAnothers(u *update, a *ir.Arg) bool {
	return slices.ContainsFunc(u.states, func(b *ir.Arg) bool {
		r := o.result(b)
		return b != a && r != nil && r.Value == a.Value
	})
}
