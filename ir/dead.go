package ir

// DropDead drops operations on which no result depends, but for those that hold, if
// it is not nil, holds on to; it reports whether there were any. What an instance of
// a stack reads of the one before depends on what leaves that.
func (f *Func) DropDead(hold func(o *Op) bool) bool {
	keep, n := living(f, nil, hold)
	if len(f.Stacks) > 0 {
		for left := []*Value(nil); ; {
			more := lefts(f, keep)
			if len(more) == len(left) {
				break
			}
			left = more
			keep, n = living(f, left, hold)
		}
	}
	if n == len(f.Ops) {
		return false
	}
	out := make([]*Op, 0, n)
	for i, o := range f.Ops {
		if keep[i] {
			out = append(out, o)
		}
	}
	f.Ops = out
	return true
}

// living marks, and counts, the operations on which results of f, or further
// values, depend.
func living(f *Func, further []*Value, hold func(o *Op) bool) (keep []bool, n int) {
	live := make([]bool, f.nextID)
	for _, r := range f.Results {
		live[r.Value.ID] = true
	}
	for _, v := range further {
		live[v.ID] = true
	}
	keep = make([]bool, len(f.Ops))
	for i := len(f.Ops) - 1; i >= 0; i-- {
		o := f.Ops[i]
		keep[i] = hold != nil && hold(o)
		for _, v := range o.Results {
			keep[i] = keep[i] || live[v.ID]
		}
		if keep[i] {
			n++
			for _, a := range o.Args {
				live[a.ID] = true
			}
		}
	}
	return keep, n
}

// lefts are the results of the `leave` of each `enter` that is kept.
func lefts(f *Func, keep []bool) []*Value {
	entered := map[*Value]bool{}
	var out []*Value
	for i, o := range f.Ops {
		switch {
		case o.Name == Enter && keep[i]:
			entered[o.Result()] = true
		case o.Name == Leave && entered[o.Args[0]]:
			out = append(out, o.Result())
		}
	}
	return out
}
