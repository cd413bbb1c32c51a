package cuda

import (
	"errors"
	"fmt"

	"ptc/internal/collective"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// act is an instruction, resolved. One with none of these does nothing: a kernel of no tasks, the
// end of a copy, which what is behind it in the graph depends on.
type act struct {
	kernel   *kernelNode
	products []matmul // what a library does in the kernel's place; nil: nothing
	copies   []transfer
	op       func() error    // what the host has to do: communication
	staged   []*queued       // the copies of what op does by way of the host; nil: nothing
	enqueued device.Enqueued // what op has the GPU do; nil: the host does it, or it is an end
}

// resolved is a program with its entries, addresses, copies and communication. It is the same in every run.
type resolved struct {
	*card
	streams *streams
	blas    *blas            // nil: no library computes products
	kernels []program.Kernel // of the plan
	name    string
	instrs  []program.Instr
	acts    []act // by instruction
	ports   *ports
}

// resolve resolves all of a program but its communication.
func resolve(l *launches, s *streams, b *blas, prog int) (*resolved, error) {
	from := &l.r.Device.Progs[prog]
	p := &resolved{card: l.card, streams: s, blas: b, kernels: l.r.Plan.Kernels, name: from.Name, instrs: from.Instrs, acts: make([]act, len(from.Instrs))}
	var err error
	if p.ports, err = l.memories.newPorts(prog); err != nil {
		return nil, err
	}
	for i := range p.instrs {
		in, a := &p.instrs[i], &p.acts[i]
		switch {
		case in.Comm == nil:
			node, err := l.node(in)
			if err != nil {
				return nil, p.unable(i, err)
			}
			if p.kernels[in.Kernel].Tasks > 0 {
				a.kernel, a.products = node, b.of(prog, i)
			}
		case in.Comm.Kind == collective.Done:
		case in.Comm.Moves():
			a.copies = l.memories.moves(in)
		case in.Comm.Kind == collective.ShardSlice:
			a.copies = l.memories.ownPart(in)
		}
	}
	return p, nil
}

// unable is the error of an instruction that cannot be run.
func (p *resolved) unable(i int, err error) error {
	return fmt.Errorf("instruction %d of program %s cannot be run: %w", i, p.name, err)
}

// failed is the error of a program: a *device.KernelError where it is one of the code.
func (p *resolved) failed(err error) error {
	if err == nil {
		return nil
	}
	var link *linkError
	switch {
	case errors.As(err, &link):
		return link.err
	case isFault(err):
		return &device.KernelError{Err: fmt.Errorf("a kernel of program %s failed on GPU %d (%s): %w", p.name, p.ordinal, p.gpu.name, err)}
	}
	return fmt.Errorf("program %s failed on GPU %d (%s): %w", p.name, p.ordinal, p.gpu.name, err)
}

// failedAt is the error of an instruction that was run by itself.
func (p *resolved) failedAt(i int, err error) error {
	if err == nil {
		return nil
	}
	if link := (*linkError)(nil); errors.As(err, &link) {
		return link.err
	}
	what := fmt.Sprintf("instruction %d", i)
	if in := &p.instrs[i]; in.Comm == nil {
		what += ", kernel " + p.kernels[in.Kernel].Name
	}
	err = fmt.Errorf("%s of program %s failed on GPU %d (%s): %w", what, p.name, p.ordinal, p.gpu.name, err)
	if isFault(err) {
		return &device.KernelError{Err: err}
	}
	return err
}

// one runs instructions one by one, each waited for.
func (p *resolved) one(from, to int) error {
	if from == 0 {
		if err := p.begin(p.ports.ins); err != nil {
			return p.failed(err)
		}
	}
	for i := from; i < to; i++ {
		if err := p.enact(i); err != nil {
			return err
		}
		if p.acts[i].kernel == nil {
			continue
		}
		if err := p.streams.awaitStream(); err != nil {
			return p.failedAt(i, err)
		}
	}
	return p.failed(p.begin(p.ports.outs))
}

// enact begins an instruction, or has the host do it.
func (p *resolved) enact(i int) error {
	switch a := &p.acts[i]; {
	case a.products != nil:
		return p.failedAt(i, p.blas.enqueue(a.products))
	case a.kernel != nil:
		return p.failedAt(i, p.drv.launch(a.kernel, p.stream))
	case a.op != nil:
		return a.op()
	default:
		return p.failedAt(i, p.begin(a.copies))
	}
}

// hosts says whether the host does something of the instructions [from, to).
func (p *resolved) hosts(from, to int) bool {
	for i := from; i < to; i++ {
		if p.acts[i].op != nil {
			return true
		}
	}
	return false
}
