package offload

import (
	"slices"

	"ptc/internal/collective"
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
	moved := int64(0)
	for _, f := range m.Funcs {
		o := &optimizer{f: f, rule: r}
		o.run()
		if o.left > 0 {
			c.Remarkf(nil, "@%s: %d bytes of optimizer state stay in device memory: other values than those of their block take part in the update, or each microbatch reads them", f.Name, o.left)
		}
		if o.bytes > 0 {
			c.Remarkf(nil, "@%s: %d bytes of optimizer state are in %s memory and updated in %d pieces; %d tensors are copied to the device in full",
				f.Name, o.bytes, r.memory, o.pieces, o.atOnces)
		}
		moved += o.bytes
	}
	if moved == 0 {
		r.warnIdle(c, m, "optimizer", "there are no states that can leave device memory")
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
	left    int64 // of states that stay
	pieces  int   // how many
	atOnces int   // tensors that are loaded at once
}

func (o *optimizer) run() {
	o.moved = map[*ir.Value]*ir.Arg{}
	for _, a := range o.f.Args {
		if a.Role == ir.RoleState && a.Value.Type.Elems() > 1 {
			a.Memory = o.rule.memory
			o.moved[a.Value] = a
			o.bytes += int64(a.Value.Type.Bytes() * a.Value.Count())
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
		if o.stays(u) {
			o.stay(u)
		} else if cut := o.cut(u); cut != nil {
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

// stays reports whether u is left in device memory: states of instances next to some that
// are there once, and what microbatches read. No optimizer has such.
func (o *optimizer) stays(u *update) bool {
	each := u.states[0].Value.Each
	for _, a := range u.states {
		if a.Value.Each != each {
			return true
		}
	}
	return slices.ContainsFunc(o.f.Ops, func(x *ir.Op) bool { return x.PerMicro() && slices.ContainsFunc(x.Args, u.has) })
}

// stay takes the states of u back into device memory.
func (o *optimizer) stay(u *update) {
	for _, a := range u.states {
		a.Memory = ir.Device
		n := int64(a.Value.Type.Bytes() * a.Value.Count())
		o.bytes, o.left = o.bytes-n, o.left+n
		delete(o.moved, a.Value)
	}
}

// has reports whether v is a state of u.
func (u *update) has(v *ir.Value) bool {
	return slices.ContainsFunc(u.states, func(a *ir.Arg) bool { return a.Value == v })
}

func (o *optimizer) store(vs []*ir.Value) *ir.Op {
	x := o.operation(collective.DeviceToHost, vs, ir.A("why", o.rule.why))
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
