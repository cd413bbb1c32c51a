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
	// Forward and Backward are the times of the kernels of an instance for one microbatch, with their launches, and of the
	// collectives that it waits for at once; rematerialized kernels are of the backward pass.
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

// BlockOf reads the block with the most instances from a plan whose step takes several microbatches one after the other. Values of a
// microbatch have the axis batch; others, such as weights in another dtype, are there once.
func BlockOf(p *program.Plan, work Work, m *cost.Model, batch string) (*Block, error) {
	b, err := newBuilder(p, work, m, Options{})
	if err != nil {
		return nil, err
	}
	d := &p.Devices[b.who.device[0]]
	prog := stepOf(d)
	w := &writer{builder: b, prog: prog, order: d.Order(prog), slow: full, exchanges: map[int]*exchange{}}
	out := &Block{}
	stack := 0
	for i, s := range d.Stacks {
		if s.Count > out.Instances {
			stack, out.Instances = i+1, s.Count
		}
	}
	if stack == 0 || len(prog.Tasks) == 0 {
		return nil, errors.New("the plan repeats no module for several microbatches")
	}
	up, down := map[int]bool{}, map[int]bool{}
	for _, r := range prog.Runs {
		if r.Stack != stack || once(prog, r.From) {
			continue
		}
		for i := r.From; i < r.To; i++ {
			t := w.least(i)
			out.Exchanges += w.exchanged(i)
			if r.Down {
				out.Backward += t
			} else {
				out.Forward += t
			}
			in := &prog.Instrs[i]
			for j, buf := range in.Bufs {
				switch {
				case r.Down:
					down[buf] = true
				case w.writes(in, j):
					up[buf] = true
				}
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
		case x.Space != program.Activations || !up[i] || !down[i]:
		case slices.ContainsFunc(x.Axes, func(a program.Axis) bool { return a.Name == batch }):
			out.Kept += x.Bytes
		default:
			out.Shared += x.Bytes
		}
	}
	return out, nil
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

// least is the time of one instance of an instruction that nothing hides.
func (w *writer) least(i int) machine.PS {
	in := &w.prog.Instrs[i]
	switch c := in.Comm; {
	case c == nil:
		t := w.kernelTime(in)
		if r := w.order.RunOf(i); w.order.Launches(i, w.order.Instances(i)) > 0 && !w.prog.Runs[r].Together {
			t += w.model.Launch()
		}
		return t
	case c.Start || c.Kind == collective.Done || c.Kind == collective.ShardSlice || collective.Of(c.Kind).Message:
		return 0
	}
	if x := w.exchange(i); x != nil {
		return x.Time
	}
	return 0
}
