package offload

import (
	"slices"

	"ptc/internal/collective"
	"ptc/ir"
)

// activations are those of one function that are offloaded.
type activations struct {
	f       *ir.Func
	rules   []rule
	forward map[*ir.Op]bool
	paths   *paths
	begins  []int // by operation: where its run begins, or its own place
	ends    []int // and the place behind it
	readers map[*ir.Value][]int
	stays   map[*ir.Value]bool // what leaves the function, or goes from tick to tick
	leaves  map[*ir.Value]*ir.Op
	stores  map[departure][]*ir.Value
	loads   map[arrival][]*ir.Value
	n, soon int64 // how many, of all instances and microbatches; and that come back soon
	bytes   int64
}

// departure is where values leave device memory: behind an operation, in its run or
// outside of it, by a rule.
type departure struct {
	at   int
	run  *ir.Run
	rule int
}

// arrival is where they come back: before an operation.
type arrival struct {
	at  int
	run *ir.Run
}

func newActivations(f *ir.Func, rules []rule, forward map[*ir.Op]bool) *activations {
	a := &activations{f: f, rules: rules, forward: forward, readers: map[*ir.Value][]int{}, stays: map[*ir.Value]bool{}, leaves: map[*ir.Value]*ir.Op{},
		stores: map[departure][]*ir.Value{}, loads: map[arrival][]*ir.Value{}}
	a.begins, a.ends = bounds(f)
	a.paths = pathsOf(f, a.begins, a.ends)
	for i, x := range f.Ops {
		switch x.Name {
		case ir.Leave:
			a.leaves[x.Args[0]], a.leaves[x.Result()] = x, x
		case ir.EnterTick, ir.LeaveTick:
			for _, v := range slices.Concat(x.Args, x.Results) {
				a.stays[v] = true
			}
		}
		for _, v := range x.Args {
			if x.Name != ir.Leave || v.In() == nil || v.Def == nil || v.Def.Run != x.Run { // which is no instruction
				a.readers[v] = append(a.readers[v], i)
			}
		}
	}
	for _, r := range f.Results {
		a.stays[r.Value] = true
	}
	return a
}

// find decides what is offloaded, in the order of the text.
func (a *activations) find() {
	for i, x := range a.f.Ops {
		if !a.forward[x] {
			continue
		}
		scope, ok := a.scope(x)
		at := slices.IndexFunc(a.rules, func(r rule) bool { return r.inside(scope) })
		if !ok || at < 0 {
			continue
		}
		for _, v := range x.Results {
			if !a.stays[v] && v.Type.Bytes() >= least {
				a.value(v, i, at)
			}
		}
	}
}

// scope is the module that makes the results of x: of what goes from instance to
// instance, the one that leaves it. It is of no module where all leave what entered.
func (a *activations) scope(x *ir.Op) (scope string, ok bool) {
	if x.Name != ir.Enter && x.Name != ir.Leave {
		return x.Scope, true
	}
	leave := a.leaves[x.Result()]
	if leave == nil || leave.Args[0] == leave.Args[1] || leave.Args[1].Def == nil {
		return "", false
	}
	return leave.Args[1].Def.Scope, true
}

// value offloads v, which operation i makes, if it is worth it. In a run it leaves and
// comes back for each instance.
func (a *activations) value(v *ir.Value, i, rule int) {
	from, ok := a.departure(v, i)
	if !ok {
		return
	}
	from.rule = rule
	var to []arrival
	for _, r := range a.readers[v] {
		if r <= from.at || a.forward[a.f.Ops[r]] {
			continue
		}
		at, ok := a.arrival(v, r)
		if !ok {
			return
		}
		same := func(b arrival) bool { return b.run == at.run && a.f.Ops[b.at].Task == a.f.Ops[at.at].Task }
		if !slices.ContainsFunc(to, same) {
			to = append(to, at)
		}
	}
	if len(to) == 0 {
		return
	}
	far, near := a.paths.between(from, to[0])
	if far < distance {
		return
	}
	times := a.times(v)
	a.n, a.bytes = a.n+times, a.bytes+times*int64(v.Type.Bytes())
	a.soon += near
	a.stores[from] = append(a.stores[from], v)
	for _, t := range to {
		a.loads[t] = append(a.loads[t], v)
	}
}

// times is how many v there are in a step.
func (a *activations) times(v *ir.Value) int64 {
	n := int64(v.Count())
	if v.PerMicro() {
		n *= int64(max(1, a.f.Micro))
	}
	return n
}

// departure is where v leaves: behind the last operation of the forward phase that makes
// or reads it. What is there once does so behind a run that reads it.
func (a *activations) departure(v *ir.Value, i int) (d departure, ok bool) {
	at := i
	for _, r := range a.readers[v] {
		if a.forward[a.f.Ops[r]] {
			at = r
		}
	}
	x := a.f.Ops[at]
	if x.PerMicro() != v.PerMicro() {
		return d, false
	}
	if v.In() == nil {
		return departure{at: a.ends[at] - 1}, true
	}
	for x.Name == ir.Enter && at+1 < a.ends[at] && a.f.Ops[at+1].Name == ir.Enter {
		at++
	}
	return departure{at: at, run: x.Run}, x.Run != nil && x.Run.Stack == v.In() && x.Name != ir.Leave
}

// arrival is where v comes back for operation r, which reads it.
func (a *activations) arrival(v *ir.Value, r int) (b arrival, ok bool) {
	x := a.f.Ops[r]
	if x.PerMicro() != v.PerMicro() {
		return b, false
	}
	if v.In() == nil {
		return arrival{at: a.begins[r]}, true
	}
	return arrival{at: r, run: x.Run}, x.Run != nil && x.Run.Stack == v.In() && x.Name != ir.Leave
}

// rewrite places the stores and loads, one for all values that leave, or come
// back, at one place.
func (a *activations) rewrite() {
	w := &rewriter{activations: a, away: map[*ir.Value]*ir.Value{}, back: map[home]*ir.Value{}}
	for i, x := range a.f.Ops {
		w.load(arrival{i, nil}, x)
		if x.Run != nil {
			w.load(arrival{i, x.Run}, x)
		}
		if !a.forward[x] {
			w.read(x)
		}
		w.out = append(w.out, x)
		for k := range a.rules {
			if x.Run != nil {
				w.store(departure{i, x.Run, k}, x)
			}
		}
		for k := range a.rules {
			w.store(departure{i, nil, k}, x)
		}
	}
	a.f.Ops = w.out
}

// rewriter writes the operations of a function with transfers.
type rewriter struct {
	*activations
	out  []*ir.Op
	away map[*ir.Value]*ir.Value // in the other memory
	back map[home]*ir.Value
}

// home is where a value that came back is read: in a run of a task, or outside of runs.
type home struct {
	of   *ir.Value
	task *ir.Task
	run  *ir.Run
}

// transfer emits one of args, which are vs.
func (w *rewriter) transfer(name string, vs, args []*ir.Value, like *ir.Op, run *ir.Run, why ir.Str) *ir.Op {
	x := w.f.NewOp(name, args, ir.A("why", why), ir.CloneTypes(vs)...)
	x.Scope, x.Pos, x.Task, x.Micro, x.Run = like.Scope, like.Pos, like.Task, like.Micro, run
	w.out = append(w.out, x)
	return x
}

func (w *rewriter) store(at departure, like *ir.Op) {
	vs, rule := w.stores[at], w.rules[at.rule]
	if vs == nil {
		return
	}
	x := w.transfer(collective.DeviceToHost, vs, vs, like, at.run, rule.why)
	x.Memory = rule.memory
	for n, r := range x.Results {
		w.away[vs[n]] = r
	}
}

func (w *rewriter) load(at arrival, like *ir.Op) {
	vs := w.loads[at]
	if vs == nil {
		return
	}
	var args []*ir.Value
	for _, v := range vs {
		args = append(args, w.away[v])
	}
	for n, r := range w.transfer(collective.HostToDevice, vs, args, like, at.run, w.rules[0].why).Results {
		w.back[home{vs[n], like.Task, at.run}] = r
	}
}

// read has x read what came back.
func (w *rewriter) read(x *ir.Op) {
	for n, v := range x.Args {
		run := x.Run
		if v.In() == nil {
			run = nil
		}
		if r := w.back[home{v, x.Task, run}]; r != nil {
			x.Args[n] = r
		}
	}
}
