package memory

import (
	"fmt"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/passes/pass"
)

// Align is the alignment of every buffer in bytes: a cache line, and a vector
// register of the widest target.
const Align = 64

// Run plans the memory of every entry function. Those of one device share one
// arena: they never run at the same time, and parameters and states are common
// to them.
func Run(c *pass.Context, m *ir.Module) error {
	kernels, entries, err := analyze(m)
	if err != nil {
		return err
	}
	var most int64
	for _, fs := range entries {
		p := &planner{m: m, kernels: kernels, fixed: map[string]int64{}, entries: fs}
		if err := p.run(c); err != nil {
			return err
		}
		most = max(most, p.peak)
	}
	m.SetMeta(ir.Term{Head: "arena", Args: ir.A("bytes", ir.Int(most))})
	m.Level = ir.Planned
	return nil
}

// run plans the functions of one device.
func (p *planner) run(c *pass.Context) error {
	for _, f := range p.entries {
		p.updatesLast(f)
		p.placeArgs(f)
	}
	persistent := p.top
	p.peak = p.top
	all := map[*ir.Func][]*buffer{}
	for _, f := range p.entries {
		temps := p.temporaries(f)
		place(temps, persistent)
		top := persistent
		var sum int64
		for _, b := range temps {
			top = max(top, b.offset+b.bytes)
			sum += b.bytes
		}
		p.peak = max(p.peak, top)
		c.Remarkf(nil, "@%s: %d temporaries of %d bytes in %d bytes; at least %d are live at once",
			f.Name, len(temps), sum, top-persistent, mostLive(temps))
		p.write(f, temps)
		all[f] = temps
	}
	for _, f := range p.entries {
		f.Attrs = f.Attrs.With("arena", ir.Int(p.peak)).With("persistent", ir.Int(persistent))
	}
	return p.fits(all)
}

type planner struct {
	m       *ir.Module
	entries []*ir.Func
	kernels map[string]*fusion.Kernel
	fixed   map[string]int64 // role and path of an argument → offset
	top     int64
	peak    int64
}

// analyze classifies the kernels, and groups the entry functions by the device
// that runs them: those of one stage of a pipeline, or all.
func analyze(m *ir.Module) (map[string]*fusion.Kernel, [][]*ir.Func, error) {
	kernels := map[string]*fusion.Kernel{}
	at := map[int64]int{}
	var entries [][]*ir.Func
	for _, f := range m.Funcs {
		if f.Attrs.Text("class") == "kernel" {
			k, err := fusion.Analyze(f)
			if err != nil {
				return nil, nil, fmt.Errorf("memory: kernel @%s: %w", f.Name, err)
			}
			kernels[f.Name] = k
			continue
		}
		stage := f.Attrs.Int("stage", 0)
		i, ok := at[stage]
		if !ok {
			i = len(entries)
			at[stage] = i
			entries = append(entries, nil)
		}
		entries[i] = append(entries[i], f)
	}
	return kernels, entries, nil
}

func (p *planner) kernel(call *ir.Op) *fusion.Kernel { return p.kernels[call.Attrs.Text("fn")] }

func aligned(n int64) int64 { return (n + Align - 1) / Align * Align }

// placeArgs gives arguments their places: the same for the same role and path
// in every entry function, apart from the temporaries.
func (p *planner) placeArgs(f *ir.Func) {
	for _, a := range f.Args {
		key := a.Role + " " + a.Path
		at, ok := p.fixed[key]
		if !ok {
			at = p.top
			p.fixed[key] = at
			p.top += aligned(int64(max(1, a.Value.Type.Bytes())))
		}
		a.Attrs = a.Attrs.With("at", ir.Int(at))
	}
}

// buffer is a temporary: one value, or several that share a place because a
// kernel writes its result over its operand.
type buffer struct {
	values []*ir.Value
	bytes  int64
	lo, hi int // first call that writes, last call that reads
	offset int64
}

// temporaries collects the buffers of call results, merging those that a
// kernel can write in place. Results that are new parameters and states are
// placed where the old ones are.
func (p *planner) temporaries(f *ir.Func) []*buffer {
	last, read := lastUse(f)
	home := map[*ir.Value]*ir.Arg{}
	for _, r := range f.Results {
		if a := f.Arg(r.Role, r.Path); a != nil && a.Value != r.Value {
			home[r.Value] = a
		}
	}
	of := map[*ir.Value]*buffer{}
	var out []*buffer
	for i, call := range f.Ops {
		k := p.kernel(call)
		taken := map[*buffer]bool{}
		for j, v := range call.Results {
			if home[v] != nil {
				continue
			}
			b := p.inPlace(call, k, i, j, read, of, taken)
			if b == nil {
				b = &buffer{bytes: aligned(int64(max(1, v.Type.Bytes()))), lo: i}
				out = append(out, b)
			}
			b.values = append(b.values, v)
			b.hi = max(i, last[v])
			of[v] = b
		}
	}
	return out
}

// inPlace is the buffer of an operand that dies at call i and that result j
// may overwrite, or nil.
func (p *planner) inPlace(call *ir.Op, k *fusion.Kernel, i, j int, read map[*ir.Value]int, of map[*ir.Value]*buffer, taken map[*buffer]bool) *buffer {
	for n, a := range call.Args {
		b := of[a]
		if b == nil || taken[b] || read[a] != i || !mayOverwrite(call, k, n, j) || usedTwice(call, a) {
			continue
		}
		taken[b] = true
		return b
	}
	return nil
}

// mayOverwrite reports whether call may write result j over operand n. k is
// its kernel, nil for a collective: of those, a reduction in place is usual, and
// what is done is where it was all along.
func mayOverwrite(call *ir.Op, k *fusion.Kernel, n, j int) bool {
	if k == nil {
		return n == j && (call.Name == "all_reduce" || call.Name == "done")
	}
	return k.InPlace(n, j)
}

func usedTwice(call *ir.Op, v *ir.Value) bool {
	n := 0
	for _, a := range call.Args {
		if a == v {
			n++
		}
	}
	return n > 1
}

// lastUse is the last call that reads each value; the number of calls for
// results that are read after the program. Gradients are read when they are
// computed, so being a result does not keep them. What a started collective
// sends is in use until that is done, if it does not receive in the same place:
// read says when the last call that reads a value is issued, last until when
// the value's place is used. A value that is still being sent when it is read
// for the last time has no such call.
func lastUse(f *ir.Func) (last, read map[*ir.Value]int) {
	last, read = map[*ir.Value]int{}, map[*ir.Value]int{}
	for i, o := range f.Ops {
		for _, a := range o.Args {
			last[a], read[a] = max(last[a], i), i
		}
	}
	for i, o := range f.Ops {
		if o.Name != "done" {
			continue
		}
		x := o.Args[0].Def
		for _, a := range x.Args {
			last[a] = max(last[a], i)
			if n := read[a]; n >= 0 && n < i && f.Ops[n] != x {
				read[a] = -1
			}
		}
	}
	for _, r := range f.Results {
		if r.Role != ir.RoleGrad {
			last[r.Value], read[r.Value] = len(f.Ops), len(f.Ops)
		}
	}
	return last, read
}

// write records the places as attributes.
func (p *planner) write(f *ir.Func, temps []*buffer) {
	at := map[*ir.Value]int64{}
	for _, b := range temps {
		for _, v := range b.values {
			at[v] = b.offset
		}
	}
	for _, r := range f.Results {
		if a := f.Arg(r.Role, r.Path); a != nil && r.Value.Def != nil {
			at[r.Value] = a.Attrs.Int("at", 0)
		}
	}
	for _, o := range f.Ops {
		var offsets ir.Ints
		for _, v := range o.Results {
			offsets = append(offsets, at[v])
		}
		o.Attrs = o.Attrs.With("at", offsets)
	}
}
