package remat

import (
	"slices"

	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/ir/pipeline"
	"ptc/ir/targetinfo"
	"ptc/passes/pass"
	"ptc/passes/propagate"
)

// local is what values of @step take on one device. The rules of sharding say
// so, and propagate follows them: it runs on a copy of the module, and the
// states that it gives count.
type local struct {
	m     *ir.Module // the copy
	value map[int]*ir.Value
	op    map[int]*ir.Op // by the number of the first result
	held  map[int]int64  // what the backward phase reads of a value: it, and reshards of it
	over  map[int]bool   // numbers of values over the queries and keys of attentions, which are not stored
	rows  map[int]int64  // by number: in how many ranges of rows a value is made, where it never is there in full
}

func localOf(m *ir.Module, chunks targetinfo.Chunk) (*local, error) {
	l := &local{m: m.Clone(), value: map[int]*ir.Value{}, op: map[int]*ir.Op{}, held: map[int]int64{}, rows: map[int]int64{}}
	f := l.m.Func("step")
	l.m.Funcs = []*ir.Func{f}
	if err := propagate.Run(&pass.Context{}, l.m); err != nil {
		return nil, err
	}
	h := phasesOf(f)
	for _, a := range f.Args {
		l.value[a.Value.ID] = a.Value
	}
	for _, o := range f.Ops {
		for _, v := range o.Results {
			l.value[v.ID] = v
			l.op[v.ID] = o
		}
	}
	l.sweep(f, chunks)
	seen := map[*ir.Value]bool{}
	for _, o := range f.Ops {
		if h.forward[o] {
			continue
		}
		for _, v := range o.Args {
			if !seen[v] && v.Def != nil && h.forward[v.Def] {
				seen[v] = true
				l.hold(v)
			}
		}
	}
	return l, nil
}

// hold counts v, which the backward phase reads, for the value whose memory or
// whose move it is.
func (l *local) hold(v *ir.Value) {
	at := v
	for at.Def != nil && op.CanView(at.Def) {
		at = at.Def.Args[0]
	}
	of := at
	for of.Def != nil && (op.CanView(of.Def) || op.Of(of.Def).Class == op.Placement) {
		of = of.Def.Args[0]
	}
	if l.held[-at.ID-1] == 0 { // each memory once
		l.held[-at.ID-1] = 1
		l.held[of.ID] += l.bytes(at)
	}
}

// bytes is the size of one device's part of v, or of as much of it as there is at once.
func (l *local) bytes(v *ir.Value) int64 {
	return l.share(v, int64(v.Type.Bytes())) / max(1, l.rows[v.ID])
}

// share is one device's part of n, which is bytes or elements of v.
func (l *local) share(v *ir.Value, n int64) int64 {
	for _, a := range v.Type.Axes {
		for _, m := range a.Mesh {
			n /= int64(max(1, l.m.MeshSize(m)))
		}
	}
	return n
}

// kept is what keeping v, of the module itself, takes.
func (l *local) kept(v *ir.Value) int64 {
	if n := l.held[v.ID]; n > 0 {
		return n
	}
	if w := l.value[v.ID]; w != nil {
		return l.bytes(w)
	}
	return int64(v.Type.Bytes())
}

// shards is the number of devices that share the work of o.
func (l *local) shards(o *ir.Op) int64 {
	p := l.op[o.Results[0].ID]
	if p == nil {
		return 1
	}
	over := map[string]bool{}
	for _, list := range [][]*ir.Value{p.Args, p.Results} {
		for _, v := range list {
			for _, a := range v.Type.Axes {
				for _, m := range a.Mesh {
					over[m] = true
				}
			}
		}
	}
	n := int64(1)
	for _, a := range l.m.Mesh {
		if over[a.Name] {
			n *= int64(a.Size)
		}
	}
	return n
}

// persistent is what lies on a device for the whole step besides activations.
func (l *local) persistent(device func(stage int) int, d int) (arguments, gradients int64) {
	f := l.m.Func("step")
	home := map[*ir.Value]int{}
	for _, o := range f.Ops {
		s := o.Stage.Or(-1)
		for _, v := range o.Args {
			if h, ok := home[v]; v.Def == nil && s >= 0 && (!ok || s < h) {
				home[v] = s
			}
		}
	}
	for _, a := range f.Args {
		s := home[a.Value]
		if r := f.Result(a.Role, a.Path); r != nil && r.Value.Def != nil {
			s = r.Value.Def.Stage.Or(s)
		}
		if device(s) == d {
			arguments += l.bytes(a.Value) * int64(a.Value.Count())
		}
	}
	for _, r := range f.Results {
		if r.Role == ir.RoleGrad && r.Value.Def != nil && device(r.Value.Def.Stage.Or(0)) == d {
			gradients += l.gradient(r.Value) * int64(r.Value.Count())
		}
	}
	return arguments, gradients
}

// gradient is what gradient v takes while microbatches add up theirs: the sums, which may
// be all of it where the optimizer reads a shard.
func (l *local) gradient(v *ir.Value) int64 {
	most := l.bytes(v)
	for o := v.Def; o != nil && o.Accumulates() == ""; {
		class := op.Of(o).Class
		i := slices.IndexFunc(o.Args, func(a *ir.Value) bool { return a.Type.Rank() > 0 })
		if i < 0 || class != op.Placement && class != op.Elementwise && class != op.Movement {
			break
		}
		if v = o.Args[i]; v.Def != nil && v.Def.Accumulates() != "" {
			return max(most, l.bytes(v))
		}
		o = v.Def
	}
	return most
}

// backward is the most that the backward phase of one microbatch holds of values
// of its own: from where each is made to where it is read last. Elementwise work
// that only more of its kind reads is done in passing. What a run leaves to later ones is
// there for all instances when the last of them runs.
func (l *local) backward(device func(stage int) int, d int) (most int64) {
	f := l.m.Func("step")
	h := phasesOf(f)
	last, stored := map[*ir.Value]int{}, map[*ir.Value]bool{}
	mine := func(o *ir.Op) bool {
		return !h.forward[o] && (!h.tagged || o.Phase == ir.Backward && device(o.Stage.Or(0)) == d)
	}
	root := func(v *ir.Value) *ir.Value {
		for v.Def != nil && op.CanView(v.Def) {
			v = v.Def.Args[0]
		}
		return v
	}
	for i, o := range f.Ops {
		class := op.Of(o).Class
		for _, v := range o.Args {
			last[root(v)] = i
			stored[root(v)] = stored[root(v)] || class != op.Elementwise && class != op.Reduction && !op.CanView(o)
		}
	}
	for _, r := range f.Results {
		delete(last, root(r.Value)) // counted as gradients, or in the place of what was there before
	}
	ends := make([]int64, len(f.Ops))
	end := map[*ir.Run]int{} // number of the last operation
	for i, o := range f.Ops {
		end[o.Run] = i
	}
	holds := func(o *ir.Op, v *ir.Value) bool {
		class := op.Of(o).Class
		_, read := last[v]
		return read && !l.over[v.ID] && class != op.Source && (class != op.Elementwise || stored[v])
	}
	stays := func(o *ir.Op, v *ir.Value) bool { // behind the run, of each instance
		return o.Run != nil && o.Name != ir.Leave && last[v] > end[o.Run]
	}
	before := map[*ir.Run]int64{} // what instances have left when the last one runs
	for _, o := range f.Ops {
		if mine(o) && !op.CanView(o) && o.Run != nil {
			for _, v := range o.Results {
				if holds(o, v) && stays(o, v) {
					before[o.Run] += (o.Times() - 1) * l.bytes(v)
				}
			}
		}
	}
	var now int64
	for i, o := range f.Ops {
		if o.Run != nil {
			now += before[o.Run]
			delete(before, o.Run)
		}
		if mine(o) && !op.CanView(o) {
			for _, v := range o.Results {
				if !holds(o, v) {
					continue
				}
				now += l.bytes(v)
				if ends[last[v]] += l.bytes(v); stays(o, v) {
					ends[last[v]] += (o.Times() - 1) * l.bytes(v)
				}
			}
		}
		most = max(most, now)
		now -= ends[i]
	}
	return most
}

// flights are the microbatches in flight on each stage of a pipeline, from the
// slots of its schedule; without one, a single one.
func flights(m *ir.Module, r *layout.Pipeline) (map[int]inFlight, error) {
	out := map[int]inFlight{}
	if r == nil {
		out[0] = inFlight{kept: 1}
		return out, nil
	}
	x, err := pipeline.New(r.Schedule, r.Shape(m), pipeline.Costs{})
	if err != nil {
		return nil, err
	}
	for _, slots := range x.Devices {
		now := map[int]inFlight{}
		for _, s := range slots {
			n, most := now[s.Stage], out[s.Stage]
			switch s.Kind {
			case pipeline.Forward:
				n.kept++
			case pipeline.BackwardInput:
				n.pending++
			}
			most.kept = max(most.kept, n.kept)
			// The slot that runs is counted by its regions.
			most.pending = max(most.pending, n.pending-1)
			switch s.Kind {
			case pipeline.Backward:
				n.kept--
			case pipeline.BackwardWeight:
				n.kept--
				n.pending--
			}
			now[s.Stage], out[s.Stage] = n, most
		}
	}
	return out, nil
}
