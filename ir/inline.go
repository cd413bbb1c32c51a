package ir

import "slices"

// Inline writes a stack of one instance as operations outside of runs, so that what they
// make lives no longer than until it is read: what is of a run does until its end.
func (f *Func) Inline(s *Stack) {
	is, number := map[*Value]*Value{}, map[*Value]int64{}
	for _, a := range f.Args {
		if a.Value.Each != s {
			continue
		}
		a.Value.Each, a.Path = nil, OfInstance(a.Path, 0)
		if of := a.Attrs.Text(AttrCopyOf); of != "" {
			a.Attrs = a.Attrs.With(AttrCopyOf, Str(OfInstance(of, 0)))
		}
		if a.Role == RoleIndex {
			number[a.Value] = a.Attrs.Int(AttrNumber, 0)
		}
	}
	for i, r := range f.Results {
		if r.Value.In() == s {
			f.Results[i].Path = OfInstance(r.Path, 0)
		}
	}
	ops := f.Ops
	f.Ops = nil
	for _, o := range ops {
		if o.Run != nil && o.Run.Stack == s {
			if o.Name == Enter || o.Name == Leave {
				v := o.Args[len(o.Args)-1]
				if w := is[v]; w != nil {
					v = w
				}
				is[o.Result()] = v
				continue
			}
			o.Run, o.Scope = nil, OfInstance(o.Scope, 0)
		}
		for i, v := range o.Args {
			if w := is[v]; w != nil {
				o.Args[i] = w
			}
		}
		f.Ops = append(f.Ops, o)
	}
	for i, r := range f.Results {
		if w := is[r.Value]; w != nil {
			f.Results[i].Value = w
		}
	}
	u := &unroller{to: f, number: number}
	u.indices()
	f.Stacks = slices.DeleteFunc(f.Stacks, func(t *Stack) bool { return t == s })
}
