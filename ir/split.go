package ir

import (
	"slices"
	"strconv"

	"ptc/internal/openpath"
)

// Split makes several stacks of s, one behind the other, of so many instances each,
// which are all that s has; it returns them in order. A run of s becomes one of each,
// and what leaves one enters the next.
func (f *Func) Split(s *Stack, counts []int) []*Stack {
	first := 0
	var parts []Part
	for _, n := range counts {
		parts = append(parts, Part{first, n})
		first += n
	}
	return f.Keep(s, parts)
}

// Part is consecutive instances of a stack.
type Part struct{ First, Count int }

// Keep is [Func.Split] of which parts alone are left, in order; all other instances of s are gone, with their arguments and
// results.
func (f *Func) Keep(s *Stack, parts []Part) []*Stack {
	if len(parts) == 1 && parts[0].Count == s.Count {
		return []*Stack{s}
	}
	p := &splitting{f: f, of: s, at: map[*Value][]*Value{}, with: map[*Value]*Value{}}
	for k, part := range parts {
		t := &Stack{Name: s.Name, Count: part.Count}
		for i := 2; k > 0 && (f.Stack(t.Name) != nil || p.stack(t.Name)); i++ {
			t.Name = s.Name + "_" + strconv.Itoa(i)
		}
		p.parts, p.first = append(p.parts, t), append(p.first, part.First)
	}
	p.run()
	return p.parts
}

// splitting is the state of [Func.Split].
type splitting struct {
	f     *Func
	of    *Stack
	parts []*Stack
	first []int               // the number that the first instance of each part had
	at    map[*Value][]*Value // by value of an instance: in each part
	with  map[*Value]*Value   // by what left the last instance
}

func (p *splitting) stack(name string) bool {
	return slices.ContainsFunc(p.parts, func(t *Stack) bool { return t.Name == name })
}

func (p *splitting) run() {
	f := p.f
	args := f.Args
	f.Args = nil
	p.each(len(args), func(i int) bool { return args[i].Value.Each == p.of }, func(i, k int) {
		a := args[i]
		if k < 0 {
			f.Args = append(f.Args, a)
			return
		}
		b := *a
		b.Value = f.NewValue(a.Value.Type.Clone(), nil)
		b.Value.Each = p.parts[k]
		b.Path = shifted(a.Path, p.first[k])
		if of := a.Attrs.Text(AttrCopyOf); of != "" {
			b.Attrs = b.Attrs.With(AttrCopyOf, Str(shifted(of, p.first[k])))
		}
		if a.Role == RoleIndex {
			b.Attrs = b.Attrs.With(AttrNumber, Int(a.Attrs.Int(AttrNumber, 0)+int64(p.first[k])))
		}
		p.at[a.Value] = append(p.at[a.Value], b.Value)
		f.Args = append(f.Args, &b)
	})
	ops := f.Ops
	f.Ops = nil
	for i := 0; i < len(ops); {
		j := i + 1
		if run := ops[i].Run; run != nil && run.Stack == p.of {
			for j < len(ops) && ops[j].Run == run {
				j++
			}
			p.copies(run, ops[i:j])
		} else {
			for n, v := range ops[i].Args {
				ops[i].Args[n] = p.use(v, 0)
			}
			f.Ops = append(f.Ops, ops[i])
		}
		i = j
	}
	results := f.Results
	f.Results = nil
	p.each(len(results), func(i int) bool { return results[i].Value.In() == p.of }, func(i, k int) {
		r := results[i]
		if k >= 0 {
			r.Path = shifted(r.Path, p.first[k])
		}
		r.Value = p.use(r.Value, max(k, 0))
		f.Results = append(f.Results, r)
	})
	var stacks []*Stack
	for _, s := range f.Stacks {
		if s == p.of {
			stacks = append(stacks, p.parts...)
		} else {
			stacks = append(stacks, s)
		}
	}
	f.Stacks = stacks
}

// each calls do for n items in turn: where several in a row are of the stack, for all
// of its first part, then for all of the second one; for others with part -1.
func (p *splitting) each(n int, in func(i int) bool, do func(i, part int)) {
	for i := 0; i < n; {
		if !in(i) {
			do(i, -1)
			i++
			continue
		}
		j := i
		for j < n && in(j) {
			j++
		}
		for k := range p.parts {
			for x := i; x < j; x++ {
				do(x, k)
			}
		}
		i = j
	}
}

// use is what v is in part k.
func (p *splitting) use(v *Value, k int) *Value {
	if all := p.at[v]; all != nil {
		return all[k]
	}
	if w := p.with[v]; w != nil {
		return w
	}
	return v
}

// copies writes a run of the stack as one of each part.
func (p *splitting) copies(run *Run, ops []*Op) {
	left := map[*Value]*Value{} // by what enters: what has left the part before
	for n := range p.parts {
		k := n
		if run.Down {
			k = len(p.parts) - 1 - n
		}
		to := &Run{Stack: p.parts[k], Down: run.Down}
		for _, o := range ops {
			c := new(Op)
			*c = *o
			c.Run, c.Scope = to, shifted(o.Scope, p.first[k])
			c.Args, c.Results = make([]*Value, len(o.Args)), make([]*Value, len(o.Results))
			for i, v := range o.Args {
				c.Args[i] = p.use(v, k)
			}
			if o.Name == Enter && n > 0 {
				c.Args[0] = left[o.Result()]
			}
			for i, v := range o.Results {
				c.Results[i] = p.f.NewValue(v.Type.Clone(), c)
				if o.Name == Leave {
					left[o.Args[0]], p.with[v] = c.Results[i], c.Results[i]
				} else {
					p.define(v, k, c.Results[i])
				}
			}
			p.f.Ops = append(p.f.Ops, c)
		}
	}
}

func (p *splitting) define(v *Value, k int, w *Value) {
	if p.at[v] == nil {
		p.at[v] = make([]*Value, len(p.parts))
	}
	p.at[v][k] = w
}

// shifted is a path with an open number, counted from instance first on.
func shifted(pattern string, first int) string {
	p, ok := openpath.Parse(pattern)
	if !ok {
		return pattern
	}
	return p.Before + OpenNumber(p.Times, p.Plus+p.Times*first) + p.After
}
