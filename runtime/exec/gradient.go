package exec

import "sync"

// Gradients lists the gradients that RunWithGradients reads.
func (p *Program) Gradients() []Tensor {
	out := make([]Tensor, len(p.grads))
	for i, g := range p.grads {
		out[i] = g.Tensor
	}
	return out
}

// RunWithGradients is Run, and gives the parameters' gradients in boxes, each
// when its device has computed it: row-major, little-endian, in g's dtype. The
// boxes of a gradient are disjoint and make up all of it. Calls of read do not
// overlap, and the bytes are valid until it returns. An error of read ends the
// run, whose results are then incomplete.
//
// Where several processes have the devices, each calls it, and it is the Root
// alone that gets the gradients.
func (p *Program) RunWithGradients(read func(g Tensor, s Slice) error) error {
	if p.crew.closed {
		return errClosed
	}
	r := &gradReader{p: p, read: read}
	var others chan error
	if p.crew.Shared() && p.crew.Root() {
		others = r.receiveAll()
	}
	if err := p.crew.each(r.run); err != nil {
		return r.end(err)
	}
	if others != nil {
		for range p.crew.ranks {
			if err := <-others; err != nil {
				return r.end(err)
			}
		}
	}
	return r.end(p.ended(nil))
}

// gradReader hands on the gradients of one run.
type gradReader struct {
	p    *Program
	read func(Tensor, Slice) error

	mu    sync.Mutex
	err   error // of read
	ended bool
}

// end lets no more be read, and gives the error of the run: read's own first.
func (r *gradReader) end(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.err != nil {
		return r.err
	}
	return err
}

// run runs the program on one device up to each gradient, and on.
func (r *gradReader) run(d *logical) error {
	defer func() { d.scratch = nil }() // which may be as large as a parameter
	prog := r.p.index
	at := 0
	for _, g := range r.p.due[d.rank] {
		if err := d.step(prog, at, g.after); err != nil {
			return err
		}
		at = g.after
		p := &r.p.grads[g.grad].parts[g.part]
		var err error
		if r.p.crew.Root() {
			var mem []byte
			if mem, err = d.read(p.mem); err == nil {
				err = r.give(g, mem)
			}
		} else {
			err = p.send(gradientTag)
		}
		if err != nil {
			return r.left(d, at, err)
		}
	}
	return d.step(prog, at, len(d.prog.Progs[prog].Instrs))
}

// left ends a run before an instruction because of an error. Others would wait for
// what the device does not come to, and are ended by the error.
func (r *gradReader) left(d *logical, at int, err error) error {
	if len(r.p.crew.ranks) == 1 {
		_ = d.progs[r.p.index].Stop(at) // of a run whose error is told
	}
	return err
}

func (r *gradReader) give(g gradPart, mem []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && !r.ended {
		whole := &r.p.grads[g.grad]
		r.err = r.read(whole.Tensor, Slice{whole.parts[g.part].of(), mem})
	}
	return r.err
}

// receiveAll receives the parts of the devices of other processes, each by a
// goroutine of its own: so none waits for this process to come to the same
// place, which, in another stage of a pipeline, it never does. The channel gets
// one result for every rank.
func (r *gradReader) receiveAll() chan error {
	ranks := r.p.crew.ranks
	done := make(chan error, len(ranks))
	for _, d := range ranks {
		go func() {
			if d.here() {
				done <- nil
				return
			}
			done <- r.receive(d)
		}()
	}
	return done
}

func (r *gradReader) receive(d *logical) error {
	for _, g := range r.p.due[d.rank] {
		p := &r.p.grads[g.grad].parts[g.part]
		box := make([]byte, p.bytes())
		err := r.p.crew.receive(p, gradientTag, func(from int, mem []byte) { copy(box[from*p.elem:], mem) })
		if err != nil {
			return errorf(ReasonComm, err, "ptc cannot collect a gradient from rank %d", d.rank)
		}
		if err := r.give(g, box); err != nil {
			return err
		}
	}
	return nil
}
