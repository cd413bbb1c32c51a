package ref

import (
	"fmt"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/tensor"
	"ptc/ir/verify"
	"ptc/runtime/device"
	"ptc/runtime/device/host"
	"ptc/runtime/program"
)

func init() { host.Register(Kind, Load) }

// kernels evaluate the instructions of one device's programs.
type kernels struct {
	arena  []byte
	opts   eval.Options // where the device is in the mesh
	module []*ir.Module // by Plan.Code
	progs  [][]call
}

// call is one instruction, resolved.
type call struct {
	module *ir.Module
	f      *ir.Func
	args   []*tensor.Tensor // reused by every replay
	in     [][]byte
	out    [][]byte
}

// Load parses the kernels, which come from a file and are not trusted, and
// resolves every instruction on an arena.
func Load(r device.Request, arena []byte) (host.Kernels, error) {
	e := &kernels{arena: arena, opts: eval.Options{Rank: r.Rank}}
	for _, a := range r.Plan.Mesh {
		e.opts.Mesh = append(e.opts.Mesh, ir.MeshAxis{Name: a.Name, Size: a.Size})
	}
	for i, c := range r.Plan.Code {
		if c.Kind != Kind {
			e.module = append(e.module, nil)
			continue
		}
		m, errs := ir.Parse(fmt.Sprintf("code %d", i), c.Data)
		if len(errs) == 0 {
			m.Mesh = e.opts.Mesh // which the text leaves to the plan
			errs = verify.Module(m)
		}
		if len(errs) > 0 {
			return nil, fmt.Errorf("the plan's kernels cannot be read: %w", errs)
		}
		e.module = append(e.module, m)
	}
	for _, p := range r.Device.Progs {
		calls := make([]call, len(p.Instrs))
		for i, in := range p.Instrs {
			if in.Comm != nil {
				continue
			}
			c, err := e.resolve(r, in)
			if err != nil {
				return nil, fmt.Errorf("program %s, instruction %d: %w", p.Name, i, err)
			}
			calls[i] = c
		}
		e.progs = append(e.progs, calls)
	}
	return e, nil
}

func (e *kernels) resolve(r device.Request, in program.Instr) (call, error) {
	k := r.Plan.Kernels[in.Kernel]
	c := call{module: e.module[k.Code]}
	if c.module != nil {
		c.f = c.module.Func(k.Symbol)
	}
	if c.f == nil {
		return c, fmt.Errorf("no kernel @%s in code %d", k.Symbol, k.Code)
	}
	if len(in.Bufs) != len(c.f.Args)+len(c.f.Results) {
		return c, fmt.Errorf("kernel @%s takes %d buffers, found %d", k.Symbol, len(c.f.Args)+len(c.f.Results), len(in.Bufs))
	}
	place := func(i int, t ir.Type) ([]byte, error) {
		b := r.Device.Buffers[in.Bufs[i]]
		n := int64(t.Bytes())
		if n > b.Bytes || b.Offset+n > int64(len(e.arena)) {
			return nil, fmt.Errorf("kernel @%s: buffer %d is too small", k.Symbol, i)
		}
		return e.arena[b.Offset : b.Offset+n], nil
	}
	for i, a := range c.f.Args {
		mem, err := place(i, a.Value.Type)
		if err != nil {
			return c, err
		}
		c.in = append(c.in, mem)
		c.args = append(c.args, tensor.New(a.Value.Type))
	}
	for i, x := range c.f.Results {
		mem, err := place(len(c.f.Args)+i, x.Value.Type)
		if err != nil {
			return c, err
		}
		c.out = append(c.out, mem)
	}
	return c, nil
}

// Replay evaluates the instructions in order.
func (e *kernels) Replay(prog, from, to int) error {
	for i := from; i < to; i++ {
		c := &e.progs[prog][i]
		for j, t := range c.args {
			t.Get(c.in[j])
		}
		out, err := eval.Func(c.module, c.f, c.args, e.opts)
		if err != nil {
			return fmt.Errorf("kernel @%s: %w", c.f.Name, err)
		}
		for j, t := range out {
			t.Put(c.out[j])
		}
	}
	return nil
}

// Close has nothing to free.
func (e *kernels) Close() {}
