package memory

import (
	"fmt"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/passes/memory/pitch"
	"ptc/passes/memory/place"
	"ptc/passes/pass"
)

// Align is the alignment of every buffer in bytes: a cache line, and a vector
// register of the widest target.
const Align = 64

// Run plans the memory of every entry function. Those of one device share its
// arenas, of which there is one for each memory: they never run at the same
// time, and parameters and states are common to them.
func Run(c *pass.Context, m *ir.Module) error {
	if err := pitch.Run(c, m); err != nil {
		return err
	}
	kernels, entries, err := analyze(m)
	if err != nil {
		return err
	}
	most := map[ir.Memory]int64{}
	for _, fs := range entries {
		p := &planner{c: c, m: m, kernels: kernels, fixed: map[string]int64{}, entries: fs, top: map[ir.Memory]int64{}, peak: map[ir.Memory]int64{}}
		if err := p.run(); err != nil {
			return err
		}
		for _, mem := range memories {
			most[mem] = max(most[mem], p.peak[mem])
		}
	}
	m.SetMeta(ir.Term{Head: "arena", Args: sizes(nil, "bytes", most)})
	m.Level = ir.Planned
	return nil
}

// memories are those of a device, its own first; attribute names of their sizes
// are their names.
var memories = ir.Memories()

// sizes are attributes with the bytes of each memory that is used; own is the
// name of the device's own.
func sizes(attrs ir.Attrs, own string, bytes map[ir.Memory]int64) ir.Attrs {
	for _, mem := range memories {
		switch {
		case mem == ir.Device:
			attrs = attrs.With(own, ir.Int(bytes[mem]))
		case bytes[mem] > 0:
			attrs = attrs.With(mem.String(), ir.Int(bytes[mem]))
		}
	}
	return attrs
}

// run plans the functions of one device.
func (p *planner) run() error {
	p.number()
	for _, f := range p.entries {
		if err := p.updatesLast(f); err != nil {
			return err
		}
		p.accumulated(f)
		p.carried(f)
		p.placeArgs(f)
	}
	for _, mem := range memories {
		p.peak[mem] = p.top[mem]
	}
	temps := p.placeTemporaries()
	for _, f := range p.entries {
		f.Attrs = sizes(f.Attrs, "arena", p.peak).With("persistent", ir.Int(p.top[ir.Device]))
	}
	if p.c.Trial {
		return nil
	}
	return p.fits(temps)
}

// placeTemporaries places what is not an argument, above the arguments, and
// returns what is in the device's own memory. An arena is as large as its largest
// function needs, so that no function's plan has to be better than the most bytes
// that are live at once in any.
func (p *planner) placeTemporaries() map[*ir.Func][]*buffer {
	own := map[*ir.Func][]*buffer{}
	layouts := make([]*layout, len(p.entries))
	goal := map[ir.Memory]int64{}
	for i, f := range p.entries {
		layouts[i] = p.layout(f)
		for _, mem := range memories {
			goal[mem] = max(goal[mem], place.Bound(intervals(layouts[i].temporaries(mem))))
		}
	}
	for i, f := range p.entries {
		l := layouts[i]
		for _, mem := range memories {
			temps := l.temporaries(mem)
			plan := place.Place(intervals(temps), place.Options{Goal: goal[mem]})
			var sum int64
			for n, b := range temps {
				b.offset = p.top[mem] + plan.Offsets[n]
				sum += b.size()
			}
			p.peak[mem] = max(p.peak[mem], p.top[mem]+plan.Height)
			if mem != ir.Device && len(temps) == 0 {
				continue
			}
			where := ""
			if mem != ir.Device {
				where = " in " + mem.String() + " memory"
			} else {
				own[f] = temps
			}
			p.c.Remarkf(nil, "@%s: %d temporaries%s of %d bytes are placed in %d bytes; at least %d bytes are live at once",
				f.Name, len(temps), where, sum, plan.Height, plan.Bound)
		}
		l.write()
	}
	return own
}

// intervals are the buffers as they are placed: each is in use from the first
// operation that writes it through the last that uses it, where every instance of a
// run is in the place of all.
func intervals(bufs []*buffer) []place.Buffer {
	out := make([]place.Buffer, len(bufs))
	for i, b := range bufs {
		out[i] = place.Buffer{Lo: b.lo, Hi: b.hi + 1, Size: b.size()}
	}
	return out
}

type planner struct {
	c       *pass.Context
	m       *ir.Module
	entries []*ir.Func
	kernels map[*ir.Func]*fusion.Kernel
	fixed   map[string]int64     // role and path of an argument that is there once → offset
	series  map[string][]*series // of the others, see named
	top     map[ir.Memory]int64  // by memory: the end of the arguments
	peak    map[ir.Memory]int64  // by memory: of everything
}

// analyze classifies the kernels, and groups the entry functions by the device
// that runs them: those of one stage of a pipeline, or all.
func analyze(m *ir.Module) (map[*ir.Func]*fusion.Kernel, [][]*ir.Func, error) {
	kernels := map[*ir.Func]*fusion.Kernel{}
	at := map[int64]int{}
	var entries [][]*ir.Func
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			k, err := fusion.Analyze(f)
			if err != nil {
				return nil, nil, fmt.Errorf("memory: kernel @%s: %w", f.Name, err)
			}
			kernels[f] = k
			continue
		}
		stage := int64(f.Stage.Or(0))
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

func (p *planner) kernel(call *ir.Op) *fusion.Kernel { return p.kernels[call.Callee] }

func aligned(n int64) int64 { return (n + Align - 1) / Align * Align }

// mayOverwrite reports whether call may write result j over operand n. k is
// its kernel, nil for a collective: of those, a reduction in place is usual, and
// what is done is where it was all along.
func mayOverwrite(call *ir.Op, k *fusion.Kernel, n, j int) bool {
	if k == nil {
		return n == j && (op.Has(call, op.Completes) || op.Has(call, op.Reduces) && !op.Has(call, op.Scatters))
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
