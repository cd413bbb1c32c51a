package cuda

import (
	"runtime"

	"ptc/internal/collective"
	"ptc/runtime/device"
)

// captured is a captured program, and how its last launch went.
type captured struct {
	graphs
	worker *worker      // nil: the host does nothing of it
	job    func() error // launch, for the worker
	began  bool         // launched, and not waited for
	err    error        // of the last launch
}

func newCaptured(p *resolved, capturer device.Capturer, w *worker) *captured {
	c := &captured{graphs: graphs{p, map[[2]int]*span{}, map[[2]int]*span{}, capturer}, worker: w}
	c.job = c.launch
	return c
}

func (p *captured) Port(i int) []byte { return p.ports.bytes[i] }

// Launch begins the program: on the caller's goroutine, which comes back while the GPU works, or
// where the host takes part on the engine's. The first time it is run kernel by kernel, since code that
// is wrong mostly is so at once, and then has a name; from then on as graphs.
func (p *captured) Launch() {
	p.began = true
	if p.worker != nil {
		p.worker.begin(p.job)
		return
	}
	p.err = p.launch()
}

func (p *captured) launch() error {
	if err := p.enter(); err != nil {
		return p.failed(err)
	}
	defer runtime.UnlockOSThread()
	if err := p.streams.begin(); err != nil {
		return err
	}
	return p.joint(0, len(p.instrs))
}

// Wait waits for the stream also after an error, so that nothing is under way.
func (p *captured) Wait() error {
	if p.worker != nil && p.began {
		p.err = p.worker.wait()
	}
	p.began = false
	if err := p.enter(); err != nil {
		if p.err == nil {
			p.err = p.failed(err)
		}
		return p.err
	}
	defer runtime.UnlockOSThread()
	if err := p.streams.awaitStream(); err != nil && p.err == nil {
		p.err = p.failed(err)
	}
	return p.err
}

var _ device.Joint = (*captured)(nil)

// StepJoint is Step, with exchanges in the graph where they are captured.
func (p *captured) StepJoint(from, to int) error {
	return p.stepBy(func() error { return p.joint(from, to) })
}

func (p *captured) Step(from, to int) error {
	return p.stepBy(func() error {
		s, err := p.known(from, to)
		switch {
		case err != nil:
			return err
		case s == nil:
			return p.one(from, to)
		}
		return p.run(s)
	})
}

// stepBy runs instructions and waits for them.
func (p *captured) stepBy(run func() error) error {
	if err := p.enter(); err != nil {
		return p.failed(err)
	}
	defer runtime.UnlockOSThread()
	if err := p.streams.begin(); err != nil {
		return err
	}
	err := run()
	if end := p.streams.awaitStream(); err == nil {
		err = p.failed(end)
	}
	return err
}

// Stop waits for communication: copies were ended by the step that started them.
func (p *captured) Stop(at int) error {
	if err := p.enter(); err != nil {
		return p.failed(err)
	}
	defer runtime.UnlockOSThread()
	var err error
	for i := at; i < len(p.instrs) && err == nil; i++ {
		if c := p.instrs[i].Comm; c != nil && c.Kind == collective.Done && c.Of < at && p.acts[i].op != nil {
			err = p.acts[i].op()
		}
	}
	if end := p.streams.awaitStream(); err == nil {
		err = p.failed(end)
	}
	return err
}

// worker is the engine's goroutine for programs in which the host takes part.
type worker struct {
	jobs  chan func() error
	ended chan error
	done  chan struct{}
}

func newWorker() *worker {
	w := &worker{jobs: make(chan func() error, 1), ended: make(chan error, 1), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for job := range w.jobs {
			w.ended <- job()
		}
	}()
	return w
}

func (w *worker) begin(job func() error) { w.jobs <- job }
func (w *worker) wait() error            { return <-w.ended }

// close ends the goroutine, after what it has to do.
func (w *worker) close() {
	if w != nil {
		close(w.jobs)
		<-w.done
	}
}
