package sim

import (
	"errors"
	"slices"

	"ptc/foresight/cost"
	"ptc/foresight/machine"
	"ptc/internal/collective"
	"ptc/runtime/program"
)

// Block is what one instance of a repeated module takes on a device, at least: what of it nothing can hide.
type Block struct {
	Instances int
	// Forward and Backward are the times from one instance to the next in the forward and backward pass of one microbatch; rematerialized
	// kernels are of the backward pass.
	Forward, Backward machine.PS
	// Exchanges is the time of all collectives of an instance for one microbatch, hidden or not: a device has one at a time.
	Exchanges machine.PS
	// Ends is the time of the products outside of the blocks for one microbatch, such as those of the loss: they are on the
	// device with the last block.
	Ends machine.PS
	// Kept is the bytes that an instance keeps of a microbatch from its forward to its backward pass, in the device's memory.
	// Shared is the bytes that it keeps from its forward to its backward pass for all microbatches, such as weights in
	// another dtype.
	Kept, Shared int64
}

// BlockOf reads the block with the most instances from a plan whose step takes its microbatches one after the other. Values of a
// microbatch have the axis batch; others, such as weights in another dtype, are there once.
func BlockOf(p *program.Plan, work Work, m *cost.Model, batch string) (*Block, error) {
	b, err := newBuilder(p, work, m, Options{})
	if err != nil {
		return nil, err
	}
	d, w, out := &p.Devices[b.who.device[0]], b.writer(0, 0), &Block{}
	prog := w.prog
	stack, instances := b.largest(0)
	out.Instances = instances
	if stack == 0 {
		return nil, errors.New("the plan repeats no module")
	}
	for _, t := range []struct {
		to   *machine.PS
		down bool
	}{{&out.Forward, false}, {&out.Backward, true}} {
		if *t.to, err = b.steady(t.down); err != nil {
			return nil, err
		}
	}
	kept := w.kept(stack)
	for n, r := range prog.Runs {
		if w.passes(stack, n, r.Down) {
			for i := r.From; i < r.To; i++ {
				out.Exchanges += w.exchanged(i)
			}
		}
	}
	out.Ends = w.ends(work, stack)
	for i := range d.Buffers {
		x := &d.Buffers[i]
		if x.Stack != stack || x.Memory != "" || x.Ring != out.Instances {
			continue
		}
		switch {
		case x.Space != program.Activations || !kept[i]:
		case slices.ContainsFunc(x.Axes, func(a program.Axis) bool { return a.Name == batch }):
			out.Kept += x.Bytes
		default:
			out.Shared += x.Bytes
		}
	}
	return out, nil
}

// kept are the buffers that the forward pass through a stack writes and the backward pass reads before it writes them.
func (w *writer) kept(stack int) map[int]bool {
	up, seen, out := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for n, r := range w.prog.Runs {
		for i := r.From; i < r.To && w.passes(stack, n, r.Down); i++ {
			in := &w.prog.Instrs[i]
			for j, buf := range in.Bufs {
				switch {
				case !r.Down && w.writes(in, j):
					up[buf] = true
				case r.Down && !w.writes(in, j):
					out[buf] = out[buf] || up[buf] && !seen[buf]
				}
			}
			if r.Down {
				for _, buf := range in.Bufs {
					seen[buf] = true
				}
			}
		}
	}
	return out
}

// ends is the time of the products of a microbatch outside of a stack.
func (w *writer) ends(work Work, stack int) (sum machine.PS) {
	for i := range w.prog.Instrs {
		in := &w.prog.Instrs[i]
		r := w.order.RunOf(i)
		if in.Comm != nil || once(w.prog, i) || r >= 0 && w.prog.Runs[r].Stack == stack {
			continue
		}
		if slices.ContainsFunc(work[in.Kernel], func(p cost.Part) bool { return p.Product != nil }) {
			sum += w.kernelTime(in) * machine.PS(w.order.Instances(i))
		}
	}
	return sum
}

// kernelTime is the time of a kernel, in the first turn of its task or in another one, whichever is less.
func (w *writer) kernelTime(in *program.Instr) machine.PS {
	t := w.kernels[in.Kernel].time
	if in.First != nil {
		t = min(t, w.kernels[in.First.Kernel].time)
	}
	return t
}

// once reports whether an instruction is of a task that a step has once.
func once(p *program.Program, i int) bool {
	return slices.ContainsFunc(p.Tasks, func(t program.Task) bool { return t.Once && t.From <= i && i < t.To })
}

// exchanged is the time of one instance of a collective.
func (w *writer) exchanged(i int) machine.PS {
	c := w.prog.Instrs[i].Comm
	if c == nil || c.Kind == collective.Done || c.Kind == collective.ShardSlice || collective.Of(c.Kind).Message || collective.Of(c.Kind).Copies {
		return 0
	}
	if x := w.exchange(i); x != nil {
		return x.Time
	}
	return 0
}

// writes reports whether an instruction writes one of its buffers.
func (w *writer) writes(in *program.Instr, j int) bool {
	if in.Comm == nil {
		return w.plan.Kernels[in.Kernel].Args[j].Write
	}
	_, to := in.Ends()
	return j >= len(in.Bufs)-len(to)
}
