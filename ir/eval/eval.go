package eval

import (
	"fmt"
	"sync"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// Options says how to execute.
type Options struct {
	// Exact keeps every float in float64, whatever its dtype, so that only
	// the mathematics differs between two modules, not the rounding.
	Exact bool
	// Round, where set, rounds floats to t's dtype in place of rounding to nearest: it
	// tells how far rounding alone moves a result.
	Round func(t ir.Type, x []float64)
	// Hook, where set, is called after each operation with its results, which
	// it must not modify; an error ends the execution. Calls never overlap;
	// those of one device are in order.
	Hook func(device int, f *ir.Func, o *ir.Op, results []*tensor.Tensor) error
	// Mesh and Rank place the one device of [Func] among others, of which it
	// needs nothing: operations that ask which part of the whole they work on
	// are told. Without a mesh there is one device.
	Mesh []ir.MeshAxis
	Rank int
	// Memory, where set, is where a device keeps the values of the executed
	// function (not of those that it calls): an operation reads its operands
	// there, so that it finds what memory has in their places by then.
	Memory func(device int) Memory
}

// Memory holds values in places of its own. Arguments are written to it before
// the first operation, results of each operation after it.
type Memory interface {
	Put(v *ir.Value, t *tensor.Tensor) error
	Get(reader *ir.Op, v *ir.Value) (*tensor.Tensor, error)
	// Post says that o may receive a message from now on, until its `done`.
	Post(o *ir.Op) error
}

// Func executes f of m on one device. The arguments are those of f in order:
// tensors of their types. Results may share storage with each other and with
// the arguments; treat them as read-only. A module from [ir.Local] on for a
// mesh of several devices needs [Devices], unless the options place the device.
func Func(m *ir.Module, f *ir.Func, args []*tensor.Tensor, opts Options) ([]*tensor.Tensor, error) {
	if m.Level >= ir.Local && m.Devices() > 1 && opts.Mesh == nil {
		return nil, fmt.Errorf("eval: @%s is a part of %d devices' work; it does not run on one", f.Name, m.Devices())
	}
	// Sizes are global: no mesh, so that a Sharded module is read as the
	// Global one that it is.
	d := &device{m: m, opts: opts, plans: map[*ir.Func]*plan{}}
	d.ctx = op.Context{Call: d.call}
	if opts.Mesh != nil {
		d.ctx.Mesh, d.ctx.Coord = opts.Mesh, tensor.Coord(opts.Mesh, opts.Rank)
	}
	return d.run(f, args, d.memory())
}

// Devices executes f of m, which is at [ir.Local] or later, on every device of
// m's mesh at once: args[d] are the arguments of device d, with local sizes.
func Devices(m *ir.Module, f *ir.Func, args [][]*tensor.Tensor, opts Options) ([][]*tensor.Tensor, error) {
	fs := make([]*ir.Func, m.Devices())
	for d := range fs {
		fs[d] = f
	}
	return Programs(m, fs, args, opts)
}

// Programs is [Devices] where device d executes a function of its own, fs[d]:
// the stages of a pipeline. Functions meet in their collectives, which must
// be the same operation, with the same attributes, of operands of one type.
func Programs(m *ir.Module, fs []*ir.Func, args [][]*tensor.Tensor, opts Options) ([][]*tensor.Tensor, error) {
	n := m.Devices()
	if len(args) != n || len(fs) != n {
		return nil, fmt.Errorf("eval: functions and arguments for %d and %d devices, the mesh has %d", len(fs), len(args), n)
	}
	if m.Level < ir.Local && n > 1 {
		return nil, fmt.Errorf("eval: @%s has global sizes; it runs on one device", fs[0].Name)
	}
	if opts.Hook != nil {
		var mu sync.Mutex
		hook := opts.Hook
		opts.Hook = func(device int, f *ir.Func, o *ir.Op, r []*tensor.Tensor) error {
			mu.Lock()
			defer mu.Unlock()
			return hook(device, f, o, r)
		}
	}
	ex := newExchange(m.Mesh, n)
	results := make([][]*tensor.Tensor, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range args {
		wg.Go(func() {
			d := &device{id: i, m: m, opts: opts, plans: map[*ir.Func]*plan{}}
			d.ctx = op.Context{Mesh: m.Mesh, Coord: tensor.Coord(m.Mesh, i), Call: d.call, Gather: ex.member(i), Send: ex.sender(i), Recv: ex.receiver(i)}
			results[i], errs[i] = d.run(fs[i], args[i], d.memory())
			ex.leave(i, errs[i])
		})
	}
	wg.Wait()
	if err := ex.cause(errs); err != nil {
		return nil, err
	}
	return results, nil
}

// device is the interpreter of one device.
type device struct {
	id    int
	m     *ir.Module
	opts  Options
	ctx   op.Context
	plans map[*ir.Func]*plan
}

// plan is what is known of a function before it runs.
type plan struct {
	// dead[i] are the values that no one reads after operation i.
	dead [][]*ir.Value
}

// planOf finds the last reader of each value. Where gradients are taken by
// differences, everything may be read again, so nothing dies.
func planOf(f *ir.Func) *plan {
	p := &plan{dead: make([][]*ir.Value, len(f.Ops))}
	live := map[*ir.Value]bool{}
	for _, r := range f.Results {
		live[r.Value] = true
	}
	for i := len(f.Ops) - 1; i >= 0; i-- {
		o := f.Ops[i]
		if o.Name == op.Grad {
			return &plan{dead: make([][]*ir.Value, len(f.Ops))}
		}
		for _, vs := range [][]*ir.Value{o.Results, o.Args} {
			for _, v := range vs {
				if !live[v] {
					live[v] = true
					p.dead[i] = append(p.dead[i], v)
				}
			}
		}
	}
	return p
}

// values is the environment of one execution of a function.
type values map[*ir.Value]*tensor.Tensor

func (d *device) call(f *ir.Func, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return d.run(f, args, nil)
}

func (d *device) memory() Memory {
	if d.opts.Memory == nil {
		return nil
	}
	return d.opts.Memory(d.id)
}

// run executes f. With a memory, the environment is what each operation finds
// and leaves there.
func (d *device) run(f *ir.Func, args []*tensor.Tensor, mem Memory) ([]*tensor.Tensor, error) {
	env, err := d.bind(f, args)
	if err != nil {
		return nil, err
	}
	if mem != nil {
		for _, a := range f.Args {
			if err := mem.Put(a.Value, env[a.Value]); err != nil {
				return nil, err
			}
		}
	}
	p := d.plans[f]
	if p == nil {
		p = planOf(f)
		d.plans[f] = p
	}
	ctx := d.ctx
	ctx.Grad = func(o *ir.Op) ([]*tensor.Tensor, error) { return d.differences(f, o, env) }
	for i, o := range f.Ops {
		if err := d.perform(&ctx, f, o, env, mem); err != nil {
			return nil, err
		}
		for _, v := range p.dead[i] {
			delete(env, v)
		}
	}
	out := make([]*tensor.Tensor, len(f.Results))
	for i, r := range f.Results {
		if out[i] = env[r.Value]; out[i] == nil {
			return nil, fmt.Errorf("eval: @%s: result %d is %%%d, which nothing defines", f.Name, i, r.Value.ID)
		}
	}
	return out, nil
}

// perform executes an operation of f. A message is received where it is waited for.
func (d *device) perform(ctx *op.Context, f *ir.Func, o *ir.Op, env values, mem Memory) error {
	if op.Posted(o) {
		if mem != nil {
			return mem.Post(o)
		}
		return nil
	}
	if x := op.Awaited(o); x != nil {
		if err := d.do(ctx, f, x, env, mem); err != nil {
			return err
		}
	}
	return d.do(ctx, f, o, env, mem)
}

// do executes an operation of f.
func (d *device) do(ctx *op.Context, f *ir.Func, o *ir.Op, env values, mem Memory) error {
	err := load(mem, o, env)
	var res []*tensor.Tensor
	if err == nil {
		res, err = d.step(ctx, o, env, !d.opts.Exact)
	}
	if err == nil && d.opts.Hook != nil {
		err = d.opts.Hook(d.id, f, o, res)
	}
	for j := 0; err == nil && mem != nil && j < len(res); j++ {
		err = mem.Put(o.Results[j], res[j])
	}
	if err != nil {
		return &opError{f, o, err}
	}
	for j, r := range o.Results {
		env[r] = res[j]
	}
	return nil
}

// load reads the operands of o as memory has them.
func load(mem Memory, o *ir.Op, env values) error {
	if mem == nil {
		return nil
	}
	for _, a := range o.Args {
		if env[a] == nil {
			continue // step says so
		}
		t, err := mem.Get(o, a)
		if err != nil {
			return err
		}
		env[a] = t
	}
	return nil
}

// bind checks the arguments against f's and gives them f's types, which hold
// the shardings. Where results are rounded, so are they.
func (d *device) bind(f *ir.Func, args []*tensor.Tensor) (values, error) {
	if len(args) != len(f.Args) {
		return nil, fmt.Errorf("eval: @%s takes %d arguments, found %d", f.Name, len(f.Args), len(args))
	}
	env := make(values, len(args))
	for i, a := range f.Args {
		t, x := a.Value.Type, args[i]
		if !t.SameAxes(x.Type) || t.DType != x.Type.DType || len(x.Data) != t.Elems() {
			return nil, fmt.Errorf("eval: @%s: argument %d is %s, found %s with %d elements", f.Name, i, t, x.Type, len(x.Data))
		}
		data := x.Data
		if !d.opts.Exact && t.DType.IsFloat() && t.DType != ir.F64 {
			data = append([]float64(nil), data...)
			d.round(t, data)
		}
		env[a.Value] = &tensor.Tensor{Type: t, Data: data}
	}
	return env, nil
}

// step evaluates one operation by its row.
func (d *device) step(ctx *op.Context, o *ir.Op, env values, round bool) ([]*tensor.Tensor, error) {
	row := op.Lookup(o.Name)
	if row == nil {
		return nil, fmt.Errorf("no row for the operation")
	}
	args := make([]*tensor.Tensor, len(o.Args))
	for i, a := range o.Args {
		if args[i] = env[a]; args[i] == nil {
			return nil, fmt.Errorf("operand %%%d has no value yet", a.ID)
		}
	}
	res, err := row.Eval(ctx, o, args)
	if err != nil {
		return nil, err
	}
	if len(res) != len(o.Results) {
		return nil, fmt.Errorf("%d results, the operation has %d", len(res), len(o.Results))
	}
	for i, r := range o.Results {
		t := r.Type
		if !t.SameAxes(res[i].Type) || t.DType != res[i].Type.DType || len(res[i].Data) != t.Elems() {
			return nil, fmt.Errorf("%%%d is %s, its evaluation %s", r.ID, t, res[i].Type)
		}
		if !res[i].Type.Equal(t) || res[i].Type.Pad != t.Pad { // padding is of the value, or a called function's result under the caller's type
			res[i] = &tensor.Tensor{Type: t, Data: res[i].Data}
		}
		if round && row.Class != op.Control {
			d.round(t, res[i].Data)
		}
	}
	return res, nil
}

// round makes numbers of t's dtype out of x.
func (d *device) round(t ir.Type, x []float64) {
	if d.opts.Round != nil {
		d.opts.Round(t, x)
		return
	}
	t.DType.Round(x)
}

// opError says at which operation an execution failed.
type opError struct {
	f   *ir.Func
	o   *ir.Op
	err error
}

func (e *opError) Error() string {
	at := e.o.Name
	if len(e.o.Results) > 0 {
		at = fmt.Sprintf("%%%d = %s", e.o.Results[0].ID, e.o.Name)
	}
	if e.o.Pos.IsValid() {
		at += " at " + e.o.Pos.String()
	}
	return fmt.Sprintf("eval: @%s: %s: %v", e.f.Name, at, e.err)
}

func (e *opError) Unwrap() error { return e.err }
