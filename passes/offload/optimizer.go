package offload

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// Optimizer moves the states of the optimizer where the layout says so. Scalars
// stay: they are not worth a transfer.
func Optimizer(c *pass.Context, m *ir.Module) error {
	rules := rulesOf(m, "optimizer")
	if len(rules) == 0 {
		return nil
	}
	r := rules[len(rules)-1]
	for _, f := range m.Funcs {
		o := &optimizer{f: f, rule: r}
		o.run()
		if o.bytes > 0 {
			c.Remarkf(nil, "@%s: %d bytes of optimizer state in %s memory, updated in %d pieces; %d tensors are fetched at once",
				f.Name, o.bytes, r.memory, o.pieces, o.atOnces)
		}
	}
	return nil
}

// optimizer is the state of one function.
type optimizer struct {
	f     *ir.Func
	rule  rule
	moved map[*ir.Value]*ir.Arg // states in the other memory
	fresh map[*ir.Value]int     // by state in the other memory: the number of the result with its new value
	other []int                 // numbers of all other results

	instead map[*ir.Op][]*ir.Op     // pieces, by what stands for them
	whole   map[*ir.Value]*ir.Value // what is put together of pieces, by what it was
	bytes   int64
	pieces  int // how many
	atOnces int // tensors that are fetched at once
}

func (o *optimizer) run() {
	o.moved = map[*ir.Value]*ir.Arg{}
	for _, a := range o.f.Args {
		if a.Role == ir.RoleState && a.Value.Type.Elems() > 1 {
			a.Memory = o.rule.memory
			o.moved[a.Value] = a
			o.bytes += int64(a.Value.Type.Bytes())
		}
	}
	if len(o.moved) == 0 {
		return
	}
	states := o.f.Named()
	o.fresh, o.instead, o.whole = map[*ir.Value]int{}, map[*ir.Op][]*ir.Op{}, map[*ir.Value]*ir.Value{}
	for i, r := range o.f.Results {
		if a := states.Arg(r.Role, r.Path); a != nil && o.moved[a.Value] != nil {
			o.fresh[a.Value] = i
		} else {
			o.other = append(o.other, i)
		}
	}
	for _, u := range o.updates() {
		if cut := o.cut(u); cut != nil {
			o.split(u, cut)
		} else {
			o.atOnce(u)
		}
	}
	o.expand()
}

// update is states that are updated together, and the elementwise operations
// that compute from them.
type update struct {
	states []*ir.Arg
	ops    []*ir.Op
	in     map[*ir.Op]bool
}

// updates are the connected components of states and the elementwise operations
// that depend on them, in the order of their first state.
func (o *optimizer) updates() []*update {
	parent := map[any]any{}
	var find func(x any) any
	find = func(x any) any {
		if p, ok := parent[x]; ok && p != x {
			parent[x] = find(p)
			return parent[x]
		}
		return x
	}
	join := func(a, b any) { parent[find(a)] = find(b) }
	member := func(v *ir.Value) any { // the node of a value, nil if it is in no update
		if o.moved[v] != nil {
			return v
		}
		if _, ok := parent[v.Def]; ok && v.Def != nil {
			return v.Def
		}
		return nil
	}
	for _, x := range o.f.Ops {
		if op.Of(x).Class != op.Elementwise {
			continue
		}
		for _, a := range x.Args {
			if n := member(a); n != nil {
				if _, ok := parent[x]; !ok {
					parent[x] = x
				}
				join(x, n)
			}
		}
	}
	for v, a := range o.moved {
		if r := o.result(a); r != nil {
			if n := member(r.Value); n != nil {
				join(v, n)
			}
		}
	}
	at := map[any]*update{}
	var out []*update
	for _, a := range o.f.Args {
		if o.moved[a.Value] == nil {
			continue
		}
		k := find(a.Value)
		if at[k] == nil {
			at[k] = &update{in: map[*ir.Op]bool{}}
			out = append(out, at[k])
		}
		at[k].states = append(at[k].states, a)
	}
	for _, x := range o.f.Ops {
		if _, ok := parent[x]; ok {
			u := at[find(x)]
			u.ops = append(u.ops, x)
			u.in[x] = true
		}
	}
	return out
}

// result is that with the new value of a state, or nil.
func (o *optimizer) result(a *ir.Arg) *ir.Result {
	if i, ok := o.fresh[a.Value]; ok {
		return &o.f.Results[i]
	}
	return nil
}

// atOnce fetches the states of u whole, before the first operation that reads
// one, and stores the new ones where all of them are computed.
func (o *optimizer) atOnce(u *update) {
	var read []*ir.Value
	first := len(o.f.Ops)
	for _, a := range u.states {
		i := slices.IndexFunc(o.f.Ops, func(x *ir.Op) bool { return slices.Contains(x.Args, a.Value) })
		if i >= 0 {
			first = min(first, i)
		}
		if i >= 0 || o.isAnothers(u, a) {
			read = append(read, a.Value)
		}
	}
	var out []*ir.Op
	fetched := map[*ir.Value]*ir.Value{}
	if len(read) > 0 {
		x := o.operation(op.Fetch, read, ir.A("why", o.rule.why))
		if first < len(o.f.Ops) {
			x.Scope, x.Pos = o.f.Ops[first].Scope, o.f.Ops[first].Pos
		}
		out = append(out, x)
		for i, v := range read {
			fetched[v] = x.Results[i]
		}
	}
	var fresh []*ir.Value // new states, which are stored together
	var results []*ir.Result
	at := first // behind the operation that makes the last of them
	for _, a := range u.states {
		r := o.result(a)
		if r == nil || r.Value == a.Value {
			continue
		}
		v := r.Value
		if w := fetched[v]; w != nil {
			v = w
		}
		fresh, results = append(fresh, v), append(results, r)
		if d := v.Def; d == nil {
			at = len(o.f.Ops) // an argument, which may be sent and read until then
		} else if n := slices.Index(o.f.Ops, d); n >= 0 {
			at = max(at, n+1)
		}
	}
	for _, x := range o.f.Ops[first:] {
		for n, a := range x.Args {
			if w := fetched[a]; w != nil {
				x.Args[n] = w
			}
		}
	}
	out = append(out, o.f.Ops[first:at]...)
	if len(fresh) > 0 {
		x := o.store(fresh)
		if at > 0 {
			x.Scope, x.Pos = o.f.Ops[at-1].Scope, o.f.Ops[at-1].Pos
		}
		for i, r := range results {
			r.Value = x.Results[i]
		}
		out = append(out, x)
	}
	o.f.Ops = slices.Concat(o.f.Ops[:first], out, o.f.Ops[at:])
	o.atOnces += len(u.states)
}

// isAnothers reports whether the old value of state a is the new one of another.
func (o *optimizer) isAnothers(u *update, a *ir.Arg) bool {
	return slices.ContainsFunc(u.states, func(b *ir.Arg) bool {
		r := o.result(b)
		return b != a && r != nil && r.Value == a.Value
	})
}

func (o *optimizer) store(vs []*ir.Value) *ir.Op {
	x := o.operation(op.Store, vs, ir.A("why", o.rule.why))
	x.Memory = o.rule.memory
	return x
}

// operation is one whose results are of the types and states that follow.
func (o *optimizer) operation(name string, args []*ir.Value, attrs ir.Attrs) *ir.Op {
	var types []ir.Type
	for _, a := range args {
		types = append(types, a.Type)
	}
	types, err := op.Infer(name, types, attrs)
	if err != nil {
		panic("offload: " + name + ": " + err.Error())
	}
	return o.f.NewOp(name, args, attrs, types...)
}
