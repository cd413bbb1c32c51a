package schedule

import (
	"slices"

	"ptc/internal/collective"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

// program is one device's function under construction.
type program struct {
	s        *split
	traffic  *traffic
	d        int
	f        *ir.Func
	at       map[*ir.Value]*ir.Value // the original's values here
	results  []ir.Result
	held     bool               // sends wait for the end of a run
	remade   map[*ir.Value]bool // made here of another form, though another device makes it too
	task     *ir.Task           // that is built
	before   *ir.Task           // what it needs once is in
	after    *ir.Task           // what comes of all microbatches is in
	lists    map[*ir.Task][]*ir.Op
	messages int // that it receives in a step
}

func newProgram(s *split, d int, w *work, x *traffic) *program {
	f := &ir.Func{Name: functionName(s.f, d),
		Class: ir.Entry, Of: s.f.Name, Stage: ir.At(d), Timetable: ir.Timetable{Micro: s.f.Micro, Ticks: w.ticks}}
	return &program{s: s, traffic: x, d: d, f: f, at: map[*ir.Value]*ir.Value{}, lists: map[*ir.Task][]*ir.Op{}}
}

// build makes the function of what the device does.
func (p *program) build(w *work) {
	p.before, p.after = w.pieces[0].task, w.pieces[len(w.pieces)-1].task
	for i, x := range w.pieces {
		if p.task = x.task; x.task != nil {
			p.f.Tasks = append(p.f.Tasks, x.task)
		}
		if i == 0 {
			p.sendArguments()
		}
		p.ops(x.ops)
	}
	p.finish()
	for _, x := range w.pieces {
		p.f.Ops = append(p.f.Ops, p.lists[x.task]...)
	}
}

// put appends o to the task that is built; what it needs once, and not for each
// microbatch, to the one before all.
func (p *program) put(o *ir.Op, each bool) {
	if o.Task = p.task; p.task != nil && !p.task.Once && !each {
		o.Task = p.before
	}
	p.lists[o.Task] = append(p.lists[o.Task], o)
}

// value is the original's value v on this device: made here, received, an
// argument, or the result of an operation that every device does for itself.
func (p *program) value(v *ir.Value, reader *ir.Op) *ir.Value {
	if w := p.at[v]; w != nil {
		return w
	}
	if from, ok := p.traffic.home[v]; ok && from != p.d && !p.remade[v] {
		p.at[v] = p.receive(v, from, reader)
		return p.at[v]
	}
	if v.Def == nil {
		p.at[v] = p.argument(v)
		return p.at[v]
	}
	p.emit(v.Def)
	return p.at[v]
}

func (p *program) argument(v *ir.Value) *ir.Value {
	for _, a := range p.s.f.Args {
		if a.Value == v {
			w := p.f.AddArg(v.Type.Clone(), a.Role, a.Path, a.Attrs, a.Pos)
			w.Each, w.Micro = v.Each, v.Micro
			p.stack(v.Each)
			return w
		}
	}
	panic("pipeline: a value of no operation and no argument")
}

// stack notes that the program has the instances of s.
func (p *program) stack(s *ir.Stack) {
	if s != nil && !slices.Contains(p.f.Stacks, s) {
		p.f.Stacks = append(p.f.Stacks, s)
	}
}

// ops appends operations in order, each with what it reads before it, and sends of its
// results behind it. What the operations of a run read is there before the run, and
// what leaves it is sent behind: between them there is nothing else.
func (p *program) ops(list []*ir.Op) {
	for i := 0; i < len(list); {
		j := i + 1
		for list[i].Run != nil && j < len(list) && list[j].Run == list[i].Run {
			j++
		}
		if list[i].Run != nil {
			p.stack(list[i].Run.Stack)
			for _, o := range list[i:j] {
				for _, v := range o.Args {
					if v.In() == nil {
						p.value(v, o)
					}
				}
			}
		}
		p.held = list[i].Run != nil
		for _, o := range list[i:j] {
			p.emit(o)
		}
		p.held = false
		for _, o := range list[i:j] {
			if o.Run != nil {
				p.sendResults(o)
			}
		}
		i = j
	}
}

// receive appends the receive of v before its first reader here.
func (p *program) receive(v *ir.Value, from int, reader *ir.Op) *ir.Value {
	share := p.s.share(v)
	t := share.of(v.Type, p.s.m)
	attrs := op.RecvAttrs(t, p.s.rule.Over, from, p.traffic.tags[v]).With("why", p.why())
	o := p.f.NewOp(collective.Recv, nil, p.tagged(attrs, v), t)
	o.Scope, o.Pos = reader.Scope, reader.Pos
	if reader.Run != nil {
		first, _ := reader.Run.Way().Ends()
		o.Scope = ir.OfInstance(o.Scope, first)
	}
	p.put(o, v.PerMicro())
	if p.messages++; v.PerMicro() {
		p.messages += p.f.Micro - 1
	}
	return p.gather(o.Result(), share, o.Scope, o.Pos)
}

// tagged gives the message of each microbatch a tag of its own.
func (p *program) tagged(attrs ir.Attrs, v *ir.Value) ir.Attrs {
	if v.PerMicro() {
		return attrs.With(ir.AttrEach, ir.Int(len(p.traffic.tags)))
	}
	return attrs
}

func (p *program) why() ir.AttrVal { return ir.Str("pipeline " + p.s.rule.Where()) }

// send appends the sends of v, which is here, to all that want it.
func (p *program) send(v *ir.Value, scope string, pos diag.Pos) {
	to := p.s.receivers(p.traffic, v)
	if len(to) == 0 {
		return
	}
	part := p.collective(collective.ShardSlice, p.at[v], p.s.share(v), scope, pos)
	for _, to := range to {
		attrs := ir.A("over", ir.Names{p.s.rule.Over}, "peer", ir.Int(to), ir.AttrTag, ir.Int(p.traffic.tags[v]), "why", p.why())
		o := p.f.NewOp(collective.Send, []*ir.Value{part}, p.tagged(attrs, v))
		o.Scope, o.Pos = scope, pos
		if v.PerMicro() || v.Def == nil || v.Def.Accumulates() == "" {
			p.put(o, v.PerMicro())
			continue
		}
		o.Task = p.after // all microbatches are through then
		p.lists[p.after] = append(p.lists[p.after], o)
	}
}

// sendArguments sends the parameters that live here and are read elsewhere.
func (p *program) sendArguments() {
	for _, a := range p.s.f.Args {
		if d, ok := p.traffic.home[a.Value]; ok && d == p.d && len(p.traffic.wanted[a.Value]) > 0 {
			p.value(a.Value, nil)
			p.send(a.Value, "", a.Pos)
		}
	}
}

// emit appends o with what it reads, and sends its results.
func (p *program) emit(o *ir.Op) {
	if o.Accumulates() != "" {
		p.accumulate(o)
		return
	}
	args := make([]*ir.Value, len(o.Args))
	for i, v := range o.Args {
		args[i] = p.value(v, o)
	}
	n := p.f.NewOp(o.Name, args, o.Attrs, ir.CloneTypes(o.Results)...)
	n.Scope, n.Pos, n.Remat, n.Run = o.Scope, o.Pos, o.Remat, o.Run
	p.put(n, o.PerMicro())
	for i, r := range o.Results {
		p.at[r] = n.Results[i]
	}
	if !p.held {
		p.sendResults(o)
	}
}

// accumulate appends the operations between ticks that o stands for.
func (p *program) accumulate(o *ir.Op) {
	x := p.value(o.Args[0], o)
	put := func(name string, attrs ir.Attrs, args ...*ir.Value) *ir.Value {
		n := p.f.NewOp(name, args, attrs, x.Type.Clone())
		n.Scope, n.Pos, n.Run = o.Scope, o.Pos, o.Run
		p.put(n, true)
		return n.Result()
	}
	before := put(op.EnterTick, op.TypeAttrs(x.Type))
	p.at[o.Result()] = put(op.LeaveTick, nil, before, put(o.Accumulates(), nil, before, x))
	if !p.held {
		p.sendResults(o)
	}
}

func (p *program) sendResults(o *ir.Op) {
	scope := o.Scope
	if o.Run != nil {
		_, last := o.Run.Way().Ends()
		scope = ir.OfInstance(scope, last)
	}
	for _, r := range o.Results {
		if d, ok := p.traffic.home[r]; ok && d == p.d {
			p.send(r, scope, o.Pos)
		}
	}
}

// finish appends the results that leave from here, and the parameters and states
// that are kept here although nothing reads them.
func (p *program) finish() {
	for _, r := range p.results {
		var reader *ir.Op
		if r.Value.Def != nil {
			reader = r.Value.Def
		}
		r.Value = p.value(r.Value, reader)
		p.f.Results = append(p.f.Results, r)
	}
	for _, a := range p.s.f.Args {
		if d, ok := p.traffic.home[a.Value]; ok && d == p.d && a.Value.Def == nil && p.s.f.Name == "step" {
			p.value(a.Value, nil)
		}
	}
}
