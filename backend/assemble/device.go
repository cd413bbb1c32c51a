package assemble

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"ptc/internal/dtype"
	"ptc/internal/rolled"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/runtime/program"
)

// device is the program of the devices of a stage, as it comes to be.
type device struct {
	*assembler
	program.Device
	index     map[string]int // buffers by place and type
	tensors   map[string]bool
	instances map[string]bool // paths of tensors with their numbers, where they were asked for
}

// entry is what is known of a function while its operations become instructions.
type entry struct {
	*device
	f       *ir.Func
	memory  map[*ir.Value]ir.Memory
	at      map[*ir.Value]int // buffers
	after   map[*ir.Value]moment
	started map[*ir.Value]int // results of started collectives, by instruction
	tick    map[*ir.Task]int  // the number of its last tick
	made    []*ir.Op          // by instruction: what it does
	grads   map[*ir.Value]bool
	trained map[string]bool // parameters that the function has new values of
	prog    program.Program
}

// moment is when an instruction is issued for the last time, for an instance of the run
// that it is in: in which tick of tasks, which run or instruction outside of runs it is,
// in which iteration of the run before or behind that in which others are issued, and its
// number.
type moment struct{ task, part, tick, instr int }

// start is before all instructions.
var start = moment{-1, -1, 0, -1}

func (m moment) compare(n moment) int {
	return cmp.Or(cmp.Compare(m.task, n.task), cmp.Compare(m.part, n.part), cmp.Compare(m.tick, n.tick), cmp.Compare(m.instr, n.instr))
}

// entry adds one program with its buffers, tensors and ports.
func (d *device) entry(f *ir.Func) error {
	e := &entry{device: d, f: f, memory: op.Memories(f), at: map[*ir.Value]int{}, after: map[*ir.Value]moment{},
		started: map[*ir.Value]int{}, grads: map[*ir.Value]bool{}, trained: map[string]bool{}, tick: map[*ir.Task]int{}, prog: program.Program{Name: programName(f)}}
	for _, r := range f.Results {
		if r.Role == ir.RoleParam {
			e.trained[r.Path] = true
		}
		e.grads[r.Value] = e.grads[r.Value] || r.Role == ir.RoleGrad
	}
	for _, o := range f.Ops {
		// What microbatches add up to is a gradient also where it is reduced after that; it has one place for all three.
		if o.Name == ir.LeaveTick && o.Result().Type.Rank() > 0 {
			e.grads[o.Result()], e.grads[o.Args[0]], e.grads[o.Args[1]] = true, true, true
		}
	}
	for _, x := range f.Args {
		e.at[x.Value] = e.buffer(x.Value, x.At.Bytes(), x.Spread, spaceOf(x.Role))
		e.after[x.Value] = start
		if err := e.argument(x, e.at[x.Value]); err != nil {
			return err
		}
	}
	for i, t := range f.Ticks {
		e.tick[t.Task] = i
	}
	text := *f
	text.Ops = postedFirst(f.Ops)
	part, at := 0, []int{0}
	for i, o := range text.Ops {
		if i > 0 && (o.Run == nil || o.Run != text.Ops[i-1].Run) {
			part++
		}
		if err := e.op(o, part); err != nil {
			return err
		}
		at = append(at, len(e.prog.Instrs))
	}
	e.repeats(&text, at)
	e.Progs = append(e.Progs, e.prog)
	for _, r := range f.Results {
		switch r.Role {
		case ir.RoleLoss, ir.RoleStat:
			e.Ports = append(e.Ports, program.Port{Program: e.prog.Name, Role: r.Role, Path: r.Path, Buffer: e.at[r.Value]})
		case ir.RoleGrad:
			e.Ports = append(e.Ports, program.Port{Program: e.prog.Name, Role: r.Role, Path: r.Path, Buffer: e.at[r.Value], After: e.after[r.Value].instr + 1})
		}
	}
	return nil
}

// op adds the instruction that o is, or the buffers where it is none.
func (e *entry) op(o *ir.Op, part int) error {
	switch {
	case o.Name == ir.Enter:
		v := o.Result()
		e.at[v], e.after[v] = e.result(o, 0, e.Buffers[e.at[o.Args[0]]].Space), e.after[o.Args[0]]
		return nil
	case o.Name == ir.Leave:
		v := o.Result()
		e.at[v], e.after[v] = e.result(o, 0, e.Buffers[e.at[o.Args[1]]].Space), e.after[o.Args[1]]
		return e.coincide(o)
	case o.Name == ir.EnterTick:
		v := o.Result()
		e.at[v], e.after[v] = e.result(o, 0, e.space(v)), start
		return nil
	case o.Name == ir.LeaveTick:
		v := o.Result()
		e.at[v], e.after[v] = e.result(o, 0, e.space(v)), e.after[o.Args[1]]
		return e.stays(o)
	case op.Has(o, op.InPlace): // where the bytes are
		v := o.Result()
		e.at[v], e.after[v] = e.result(o, 0, e.Buffers[e.at[o.Args[0]]].Space), start
		for _, a := range o.Args {
			if e.after[a].compare(e.after[v]) > 0 {
				e.after[v] = e.after[a]
			}
		}
		return nil
	}
	i := len(e.prog.Instrs)
	in := program.Instr{Scope: o.Scope, NoWait: o.Wait != ir.WaitAll && o.Wait != ir.WaitFirst, Ahead: o.Ahead}
	if o.Run == nil {
		in.Scope = ir.OfInstance(o.Scope, 0) // of an operation of a run, behind it
	}
	if o.Pos.IsValid() {
		in.Pos = o.Pos.String()
	}
	now := moment{e.tick[o.Task], part, -o.Ahead, i}
	switch {
	case op.Has(o, op.Calls):
		in.Kernel = e.kernels[o.Callee]
		if err := e.first(o, &in); err != nil {
			return err
		}
	case op.Has(o, op.Completes):
		of, ok := e.started[o.Args[0]]
		if !ok {
			return fmt.Errorf("%s of %%%d, which nothing has started", o.Name, o.Args[0].ID)
		}
		in.Comm = &program.Comm{Kind: o.Name, Of: of}
	default:
		in.Comm = e.comm(o)
	}
	if op.Has(o, op.Completes) {
		for j, v := range o.Results {
			e.at[v], e.after[v] = e.at[o.Args[j]], now
			if e.grads[v] {
				e.Buffers[e.at[v]].Space = program.Grads
			}
		}
	} else {
		e.operands(o, &in)
		e.results(o, &in, now)
	}
	e.prog.Instrs, e.made = append(e.prog.Instrs, in), append(e.made, o)
	return nil
}

// operands adds the buffers that o reads.
func (e *entry) operands(o *ir.Op, in *program.Instr) {
	for n, v := range o.Args {
		b := e.at[v]
		if _, _, _, ok := op.Piece(o); ok {
			b = e.piece(o, n)
		}
		in.Bufs = append(in.Bufs, b)
	}
}

// results adds the buffers that o writes.
func (e *entry) results(o *ir.Op, in *program.Instr, now moment) {
	for j, v := range o.Results {
		space := program.Activations
		if op.Has(o, op.Copies) {
			space = e.Buffers[e.at[o.Args[j]]].Space
		}
		if e.grads[v] {
			space = program.Grads
		}
		e.at[v], e.after[v] = e.result(o, j, space), now
		if o.Start {
			e.started[v] = len(e.prog.Instrs)
		}
		in.Bufs = append(in.Bufs, e.at[v])
	}
}

// stack is the number of a stack of the function.
func (d *device) stack(s *ir.Stack) int {
	if s == nil {
		return 0
	}
	x := program.Stack{Name: s.Name, Count: s.Count}
	i := slices.Index(d.Stacks, x)
	if i < 0 {
		i = len(d.Stacks)
		d.Stacks = append(d.Stacks, x)
	}
	return i + 1
}

// argument adds the tensor or port that an argument is.
func (e *entry) argument(x *ir.Arg, buf int) error {
	switch x.Role {
	case ir.RoleParam, ir.RoleState:
		t := program.Tensor{Path: x.Path, Buffer: buf, Train: e.trained[x.Path], Of: x.Attrs.Text(ir.AttrCopyOf)}
		if init, ok := x.Attrs.Get("init").(ir.Term); ok {
			t.Init.Kind = init.Head
			for _, a := range init.Args {
				t.Init.Args = append(t.Init.Args, program.KV{Key: a.Key, Value: strconv.FormatFloat(init.Args.Float(a.Key, 0), 'g', -1, 64)})
			}
		}
		e.tensor(t)
	default:
		path, ring := x.Path, e.Buffers[buf].MicroRing
		if x.Value.Micro && max(ring, 1) != e.f.Micro {
			return fmt.Errorf("%s %q of %d microbatches has %d places", x.Role, path, e.f.Micro, max(ring, 1))
		} else if x.Value.Micro && ring == 0 {
			path = ir.OfInstance(path, 0)
		}
		e.Ports = append(e.Ports, program.Port{Program: e.prog.Name, Role: x.Role, Path: path, Buffer: buf, Number: int32(x.Attrs.Int(ir.AttrNumber, 0))})
	}
	return nil
}

// tensor adds a tensor that no program before has. Programs have them in the same
// stacks, as a rule; where one has an instance on its own, or in another stack, those
// that are not yet here are added one by one.
func (d *device) tensor(t program.Tensor) {
	b := d.Buffers[t.Buffer]
	count := d.Count(b.Stack)
	key := fmt.Sprint(t.Path, " ", count)
	if d.tensors[key] {
		return
	}
	if len(d.Progs) == 0 { // of the first program
		d.tensors[key] = true
		d.Tensors = append(d.Tensors, t)
		return
	}
	if d.instances == nil {
		d.instances = map[string]bool{}
		for i := range d.Tensors {
			for k := range d.Count(d.Buffers[d.Tensors[i].Buffer].Stack) {
				d.instances[ir.OfInstance(d.Tensors[i].Path, k)] = true
			}
		}
	}
	for k := range count {
		one := t
		one.Path, one.Of = ir.OfInstance(t.Path, k), ir.OfInstance(t.Of, k)
		if d.instances[one.Path] {
			continue
		}
		d.instances[one.Path] = true
		if b.Stack > 0 {
			x := b
			x.Offset, x.Stack, x.Step, x.Ring = b.Place(k, 0), 0, 0, 0
			one.Buffer = d.add(x)
		}
		d.Tensors = append(d.Tensors, one)
	}
}

// fewMicrobatches is for how many places are compared.
const fewMicrobatches = 16

// coincide checks that a value which goes from instance to instance stays where it is
// when it does: there is no instruction that could move it.
func (e *entry) coincide(leave *ir.Op) error {
	place := func(v *ir.Value) rolled.Place { return e.Buffers[e.at[v]].Rolled() }
	in, out, way := place(leave.Args[0]), place(leave.Args[1]), leave.Run.Way()
	before, behind := place(leave.Args[0].Def.Args[0]), place(leave.Result())
	first, last := way.Ends()
	for m := range min(max(e.f.Micro, 1), fewMicrobatches) {
		if _, ok := way.Follows(in, out, m); !ok || in.Of(first, m) != before.Of(0, m) || out.Of(last, m) != behind.Of(0, m) {
			return fmt.Errorf("what enters as %%%d is not where the instance before left it", leave.Args[0].ID)
		}
	}
	return nil
}

// piece is the buffer of the piece of operand n that o loads.
func (e *entry) piece(o *ir.Op, n int) int {
	axis, from, _, _ := op.Piece(o)
	t, of := o.Args[n].Type, &e.Buffers[e.at[o.Args[n]]]
	at := of.Offset + dtype.Bytes(t.DType, from*int64(t.Strides()[t.Index(axis)]))
	return e.add(e.describe(o.Results[n].Type, e.memory[o.Args[n]], at, of.Stack, of.Spread(), of.Space))
}

// result is the number of the buffer of result j of an operation.
func (e *entry) result(o *ir.Op, j int, space program.Space) int {
	var spread ir.Spread
	if j < len(o.Spread) {
		spread = o.Spread[j]
	}
	return e.buffer(o.Results[j], o.At[j], spread, space)
}

// buffer is the number of the buffer of a value.
func (e *entry) buffer(v *ir.Value, at int64, spread ir.Spread, space program.Space) int {
	return e.add(e.describe(v.Type, e.memory[v], at, e.stack(v.In()), spread, space))
}

// describe is the buffer at a place, with a type.
func (d *device) describe(t ir.Type, memory ir.Memory, at int64, stack int, spread ir.Spread, space program.Space) program.Buffer {
	name := ""
	if memory != ir.Device {
		name = memory.String()
	}
	b := program.Buffer{Space: space, Memory: name, Offset: at, Bytes: int64(t.Bytes()), DType: t.DType.String(), Axes: axesOf(d.module, t), Stack: stack, Pad: t.Pad}
	if ring := min(spread.Ring, d.Count(stack)); ring > 1 && spread.Step != 0 {
		b.Step, b.Ring = spread.Step, ring
	}
	if spread.MicroRing > 1 && spread.MicroStep != 0 {
		b.MicroStep, b.MicroRing = spread.MicroStep, spread.MicroRing
	}
	return b
}

// add is the number of a buffer, which is added if it is not yet here.
func (d *device) add(b program.Buffer) int {
	key := fmt.Sprint(b.Memory, " ", b.Offset, " ", b.Bytes, " ", b.DType, " ", b.Axes, " ", b.Stack, " ", b.Step, " ", b.Ring, " ", b.MicroStep, " ", b.MicroRing, " ", b.Pad)
	if i, ok := d.index[key]; ok {
		return i
	}
	d.index[key] = len(d.Buffers)
	d.Buffers = append(d.Buffers, b)
	return len(d.Buffers) - 1
}
