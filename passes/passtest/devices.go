package passtest

import (
	"bytes"
	"fmt"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/ir/tensor"
	"ptc/passes/check"
)

// OnDevices runs the entry functions of a module from ir(Local) on, in their
// order, on all devices of its mesh. At ir(Planned) each device has one memory
// for all functions, in which every value lies where the plan says, and what a
// function leaves there the next one finds. The result is the bytes of each
// result on each device, as the run that follows reads them. An error is an
// access outside of the arena, what an operation made of bytes that are no
// value, or devices that wait for ever.
func OnDevices(m *ir.Module, in check.Inputs) (map[string]string, error) {
	m = m.Unrolled()
	n := m.Devices()
	var memories []*deviceMemory
	var opts eval.Options
	if m.Level == ir.Planned {
		for range n {
			memories = append(memories, &deviceMemory{placed: map[string]bool{}})
		}
		opts.Memory = func(d int) eval.Memory { return memories[d] }
	}
	out := map[string]string{}
	done := map[string]bool{}
	for _, f := range m.Funcs {
		of := f.Of
		if f.Class == ir.Kernel || done[of] {
			continue
		}
		done[of] = of != ""
		fs := programs(m, f)
		args := make([][]*tensor.Tensor, n)
		var err error
		for d, f := range fs {
			if args[d], err = arguments(m, f, in, d); err != nil {
				return nil, err
			}
			if memories != nil {
				err = memories[d].enter(f)
			}
			if err != nil {
				return nil, err
			}
		}
		res := make([][]*tensor.Tensor, 1)
		if n == 1 {
			res[0], err = eval.Func(m, fs[0], args[0], opts)
		} else {
			res, err = eval.Programs(m, fs, args, opts)
		}
		if err != nil {
			return nil, err
		}
		for d, f := range fs {
			for i, r := range f.Results {
				mem := make([]byte, r.Value.Type.Bytes())
				if memories == nil {
					res[d][i].Put(mem)
				} else if mem, err = memories[d].result(r); err != nil {
					return nil, err
				}
				name := of
				if of == "" {
					name = f.Name
				}
				out[fmt.Sprintf("device %d @%s %s %s", d, name, r.Role, r.Path)] = string(mem)
			}
		}
	}
	return out, nil
}

// programs is the function that each device runs where f, or the program of a
// pipeline that f is one of, is to run.
func programs(m *ir.Module, f *ir.Func) []*ir.Func {
	axis := ""
	for _, r := range layout.All[*layout.Pipeline](layout.Of(m)) {
		axis = r.Over
	}
	out := make([]*ir.Func, m.Devices())
	for d := range out {
		out[d] = f
		for _, g := range m.Funcs {
			stage := g.Stage.Or(-1)
			if of := f.Of; of != "" && g.Of == of && tensor.Coord(m.Mesh, d)[axis] == stage {
				out[d] = g
			}
		}
	}
	return out
}

// arguments are device d's parts of f's inputs.
func arguments(m *ir.Module, f *ir.Func, in check.Inputs, d int) ([]*tensor.Tensor, error) {
	var out []*tensor.Tensor
	for _, a := range f.Args {
		x := in[check.Key{Role: a.Role, Path: a.Path}]
		if a.Role == ir.RoleCoord { // the evaluator knows the device
			x = tensor.New(a.Value.Type)
		}
		if a.Role == ir.RoleIndex {
			x = tensor.Scalar(ir.I32, float64(a.Attrs.Int(ir.AttrNumber, 0)))
		}
		if x == nil {
			return nil, fmt.Errorf("no input for %s %q", a.Role, a.Path)
		}
		whole := a.Value.Type.Clone()
		for i := range whole.Axes {
			for _, name := range whole.Axes[i].Mesh {
				whole.Axes[i].Size *= m.MeshSize(name)
			}
			whole.Axes[i].Mesh = nil
		}
		part, err := tensor.Shard(&tensor.Tensor{Type: whole, Data: x.Data}, a.Value.Type, m.Mesh, tensor.Coord(m.Mesh, d))
		if err != nil {
			return nil, err
		}
		out = append(out, part)
	}
	return out, nil
}

// deviceMemory is the arenas of a device that runs one function after another.
type deviceMemory struct {
	bytes  map[ir.Memory][]byte // by memory
	in     map[*ir.Value]ir.Memory
	f      *ir.Func
	at     map[*ir.Value]int64
	grads  map[*ir.Value]string
	kept   map[*ir.Value]bool // arguments that are in memory already
	placed map[string]bool    // parameters and states that have been put there
	// flights are the collectives that were started and are not done.
	flights map[*ir.Op]*underWay
}

// underWay is what a started collective reads and has not written yet. It may
// read its operands and write its results at any time until it is done: here
// it reads as late, and until then what it writes is not a number.
type underWay struct {
	sent  []string
	wrote []*tensor.Tensor
}

// enter makes f the function that runs. What no argument fills is not a number
// to begin with.
func (a *deviceMemory) enter(f *ir.Func) error {
	a.f, a.at, a.grads, a.kept = f, map[*ir.Value]int64{}, map[*ir.Value]string{}, map[*ir.Value]bool{}
	a.flights, a.in = map[*ir.Op]*underWay{}, op.Memories(f)
	if a.bytes == nil {
		a.bytes = map[ir.Memory][]byte{}
	}
	for _, mem := range ir.Memories() {
		size := a.size(mem)
		if size < 0 || size > 1<<30 {
			return fmt.Errorf("an arena of %d bytes", size)
		}
		for int64(len(a.bytes[mem])) < size {
			a.bytes[mem] = append(a.bytes[mem], 0xff)
		}
	}
	for _, o := range f.Ops {
		places := o.At
		if len(places) != len(o.Results) {
			return fmt.Errorf("%s has no place for each result", o.Name)
		}
		for j, v := range o.Results {
			a.at[v] = places[j]
		}
	}
	for _, x := range f.Args {
		a.at[x.Value] = x.At.Bytes()
		if x.Role == ir.RoleParam || x.Role == ir.RoleState {
			key := x.Role + " " + x.Path
			a.kept[x.Value] = a.placed[key]
			a.placed[key] = true
		}
	}
	return nil
}

// size is the bytes of a memory that the function says it needs.
func (a *deviceMemory) size(memory ir.Memory) int64 {
	if memory == ir.Device {
		return a.f.Attrs.Int("arena", 0)
	}
	return a.f.Attrs.Int(memory.String(), 0)
}

func (a *deviceMemory) place(v *ir.Value) ([]byte, error) {
	at, n, mem := a.at[v], int64(v.Type.Bytes()), a.in[v]
	if at < 0 || at+n > a.size(mem) {
		return nil, fmt.Errorf("%%%d at %d..%d is not in the arena", v.ID, at, at+n)
	}
	return a.bytes[mem][at : at+n], nil
}

// sent is what o reads of its operand i.
func (a *deviceMemory) sent(o *ir.Op, i int) ([]byte, error) {
	v := o.Args[i]
	mem, err := a.place(v)
	if axis, from, limit, ok := op.Piece(o); err == nil && ok {
		row := int64(v.Type.Bytes() / v.Type.Size(axis))
		mem = mem[from*row : limit*row]
	}
	return mem, err
}

func (a *deviceMemory) Put(v *ir.Value, t *tensor.Tensor) error {
	mem, err := a.place(v)
	if err != nil || a.kept[v] {
		return err
	}
	if v.Def != nil && op.Has(v.Def, op.InPlace) {
		return nil // it is where its bytes are, or should be
	}
	if v.Def != nil && v.Def.Start {
		return a.start(v.Def, t)
	}
	t.Put(mem)
	if v.Def != nil {
		a.grads[v] = string(mem)
	}
	return nil
}

// Post is where a message may come from now on: nothing may be there until then.
func (a *deviceMemory) Post(o *ir.Op) error {
	mem, err := a.place(o.Result())
	for j := range mem {
		mem[j] = 0xff
	}
	return err
}

// start notes one result after the other, and with the last what is sent.
func (a *deviceMemory) start(o *ir.Op, t *tensor.Tensor) error {
	w := a.flights[o]
	if w == nil {
		w = &underWay{}
		a.flights[o] = w
	}
	w.wrote = append(w.wrote, t)
	if len(w.wrote) < len(o.Results) {
		return nil
	}
	for i := range o.Args {
		mem, err := a.sent(o, i)
		if err != nil {
			return err
		}
		w.sent = append(w.sent, string(mem))
	}
	for i, v := range o.Results {
		mem, err := a.place(v)
		if err != nil {
			return err
		}
		if op.Posted(o) {
			if len(bytes.Trim(mem, "\xff")) > 0 {
				return fmt.Errorf("%%%d is overwritten while it is received", v.ID)
			}
			continue
		}
		if a.in[v] == a.in[o.Args[i]] && a.at[v] == a.at[o.Args[i]] {
			w.sent[i] = "" // in place: what is there is not looked at
		}
		for j := range mem {
			mem[j] = 0xff
		}
	}
	return nil
}

// land writes the results of a started collective.
func (a *deviceMemory) land(o *ir.Op) error {
	w := a.flights[o]
	if w == nil {
		return nil
	}
	delete(a.flights, o)
	for i, v := range o.Args {
		mem, err := a.sent(o, i)
		if err != nil {
			return err
		}
		if w.sent[i] != "" && w.sent[i] != string(mem) {
			return fmt.Errorf("%%%d is overwritten while it is sent", v.ID)
		}
	}
	for i, v := range o.Results {
		mem, err := a.place(v)
		if err != nil {
			return err
		}
		w.wrote[i].Put(mem)
	}
	return nil
}

func (a *deviceMemory) Get(reader *ir.Op, v *ir.Value) (*tensor.Tensor, error) {
	if op.Has(reader, op.Completes) && v.Def != nil {
		if err := a.land(v.Def); err != nil {
			return nil, err
		}
	}
	mem, err := a.place(v)
	if err != nil {
		return nil, err
	}
	t := tensor.New(v.Type)
	t.Get(mem)
	return t, nil
}

// result is the bytes of a result of the function that ran: new parameters and
// states where the old ones were, gradients as they were when computed.
func (a *deviceMemory) result(r ir.Result) ([]byte, error) {
	v := r.Value
	if x := a.f.Arg(r.Role, r.Path); x != nil {
		v = x.Value
	}
	mem, err := a.place(v)
	if g, ok := a.grads[v]; ok && r.Role == ir.RoleGrad {
		return []byte(g), err
	}
	return mem, err
}
