package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

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
	enqueued device.Enqueued // what op has the GPU do; nil: the host does it, or it is an end
}

// captured is a captured program.
type captured struct {
	e         *engine
	index     int
	name      string
	instrs    []program.Instr
	acts      []act // by instruction
	ports     *ports
	hosted    bool                 // the host has to do something
	exchanges map[int]*exchange    // of the host, by instruction
	ends      map[int]func() error // by what they end, of communication that the GPU does
	spans     map[[2]int]*span     // ranges of instructions that were run; nil: once
	joints    map[[2]int]*span     // those that all devices run at the same point
	capturer  device.Capturer      // captures exchanges in graphs of joint ranges; nil: they end graphs
	job       func() error         // launch, for the engine's goroutine
	began     bool                 // launched, and not waited for
	err       error                // of the last launch
}

// Capture resolves entries, addresses and copies, and readies communication.
func (e *engine) Capture(prog int) (device.Program, error) {
	if err := e.enter(); err != nil {
		return nil, e.unusable(err)
	}
	defer runtime.UnlockOSThread()
	from := &e.r.Device.Progs[prog]
	p := &captured{e: e, index: prog, name: from.Name, instrs: from.Instrs, acts: make([]act, len(from.Instrs)), exchanges: map[int]*exchange{}, ends: map[int]func() error{}, spans: map[[2]int]*span{}, joints: map[[2]int]*span{}}
	p.job = p.launch
	e.progs = append(e.progs, p)
	var err error
	if p.ports, err = e.newPorts(prog); err != nil {
		return nil, err
	}
	if err := p.kernels(); err != nil {
		return nil, err
	}
	for i := range p.instrs {
		switch in := &p.instrs[i]; {
		case in.Comm == nil || in.Comm.Kind == collective.Done:
		case in.Comm.Moves():
			p.acts[i].copies = e.moves(in)
		case in.Comm.Kind == collective.ShardSlice:
			p.acts[i].copies = e.ownPart(in)
		}
	}
	if err := p.communicate(); err != nil {
		return nil, err
	}
	if p.hosted && e.worker == nil {
		e.worker = newWorker()
	}
	return p, nil
}

// kernels resolves the launches.
func (p *captured) kernels() error {
	plan, d, n := p.e.r.Plan, p.e.r.Device, 0
	maps := 0
	for i := range p.instrs {
		if p.instrs[i].Comm == nil {
			n += len(p.instrs[i].Bufs)
			maps += len(plan.Kernels[p.instrs[i].Kernel].Maps)
		}
	}
	values, pointers := make([]uint64, n), make([]unsafe.Pointer, n+maps+1)
	for i := range p.instrs {
		in := &p.instrs[i]
		if in.Comm != nil {
			continue
		}
		maps, err := p.e.tensorMaps(in, d)
		if err != nil {
			return p.unable(i, err)
		}
		k := &plan.Kernels[in.Kernel]
		fn, err := p.e.function(in.Kernel)
		if err != nil {
			return p.unable(i, err)
		}
		switch {
		case len(in.Bufs) != len(k.Args):
			return p.unable(i, fmt.Errorf("it has %d buffers, and the kernel %d arguments", len(in.Bufs), len(k.Args)))
		case k.Tasks > maxGrid:
			return p.unable(i, fmt.Errorf("it has %d tasks, and a grid at most %d blocks", k.Tasks, maxGrid))
		}
		node := &kernelNode{function: fn, grid: [3]uint32{uint32(k.Tasks), 1, 1}, block: [3]uint32{uint32(k.Threads), 1, 1},
			shared: uint32(k.Shared), params: unsafe.Pointer(unsafe.SliceData(pointers))}
		for j, b := range in.Bufs {
			values[j] = p.e.arena.base + uint64(d.Buffers[b].Offset)
			pointers[j] = unsafe.Pointer(&values[j])
		}
		for j := range maps {
			pointers[len(in.Bufs)+j] = unsafe.Pointer(&maps[j])
		}
		values, pointers = values[len(in.Bufs):], pointers[len(in.Bufs)+len(maps):]
		if k.Tasks > 0 {
			p.acts[i].kernel, p.acts[i].products = node, p.e.blas.of(p.index, i)
		}
	}
	return nil
}

// maxGrid is the most blocks of a grid along x ("CUDA C++ Programming Guide", compute capabilities).
const maxGrid = 1<<31 - 1

// unable is the error of an instruction that cannot be run.
func (p *captured) unable(i int, err error) error {
	return fmt.Errorf("instruction %d of program %s cannot be run: %w", i, p.name, err)
}

func (p *captured) Port(i int) []byte { return p.ports.bytes[i] }

// Launch begins the program: on the caller's goroutine, which comes back while the GPU works, or
// where the host takes part on the engine's. The first time it is run kernel by kernel, since code that
// is wrong mostly is so at once, and then has a name; from then on as graphs.
func (p *captured) Launch() {
	p.began = true
	if p.hosted {
		p.e.worker.begin(p.job)
		return
	}
	p.err = p.launch()
}

func (p *captured) launch() error {
	if err := p.e.enter(); err != nil {
		return p.failed(err)
	}
	defer runtime.UnlockOSThread()
	if err := p.e.streams.begin(); err != nil {
		return err
	}
	return p.joint(0, len(p.instrs))
}

// joint runs a range that all devices run at the same point, from the second time on as graphs.
func (p *captured) joint(from, to int) error {
	key := [2]int{from, to}
	s, seen := p.joints[key]
	if !seen {
		p.joints[key] = nil
		return p.one(from, to)
	}
	if s == nil {
		var err error
		if s, err = p.newSpan(from, to, p.capturer); err != nil {
			return err
		}
		p.joints[key] = s
	}
	return p.run(s)
}

// Wait waits for the stream also after an error, so that nothing is under way.
func (p *captured) Wait() error {
	if p.hosted && p.began {
		p.err = p.e.worker.wait()
	}
	p.began = false
	if err := p.e.enter(); err != nil {
		if p.err == nil {
			p.err = p.failed(err)
		}
		return p.err
	}
	defer runtime.UnlockOSThread()
	if err := p.e.awaitStream(); err != nil && p.err == nil {
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
	if err := p.e.enter(); err != nil {
		return p.failed(err)
	}
	defer runtime.UnlockOSThread()
	if err := p.e.streams.begin(); err != nil {
		return err
	}
	err := run()
	if end := p.e.awaitStream(); err == nil {
		err = p.failed(end)
	}
	return err
}

// Stop waits for communication: copies were ended by the step that started them.
func (p *captured) Stop(at int) error {
	if err := p.e.enter(); err != nil {
		return p.failed(err)
	}
	defer runtime.UnlockOSThread()
	var err error
	for i := at; i < len(p.instrs) && err == nil; i++ {
		if c := p.instrs[i].Comm; c != nil && c.Kind == collective.Done && c.Of < at && p.acts[i].op != nil {
			err = p.acts[i].op()
		}
	}
	if end := p.e.awaitStream(); err == nil {
		err = p.failed(end)
	}
	return err
}

// failed is the error of a program: a *device.KernelError where it is one of the code.
func (p *captured) failed(err error) error {
	if err == nil {
		return nil
	}
	var link *linkError
	switch {
	case errors.As(err, &link):
		return link.err
	case isFault(err):
		return &device.KernelError{Err: fmt.Errorf("a kernel of program %s failed on GPU %d (%s): %w", p.name, p.e.ordinal, p.e.gpu().name, err)}
	}
	return fmt.Errorf("program %s failed on GPU %d (%s): %w", p.name, p.e.ordinal, p.e.gpu().name, err)
}

// failedAt is the error of an instruction that was run by itself.
func (p *captured) failedAt(i int, err error) error {
	if err == nil {
		return nil
	}
	if link := (*linkError)(nil); errors.As(err, &link) {
		return link.err
	}
	what := fmt.Sprintf("instruction %d", i)
	if in := &p.instrs[i]; in.Comm == nil {
		what += ", kernel " + p.e.r.Plan.Kernels[in.Kernel].Name
	}
	err = fmt.Errorf("%s of program %s failed on GPU %d (%s): %w", what, p.name, p.e.ordinal, p.e.gpu().name, err)
	if isFault(err) {
		return &device.KernelError{Err: err}
	}
	return err
}

// one runs instructions one by one, each waited for.
func (p *captured) one(from, to int) error {
	if from == 0 {
		if err := p.e.begin(p.ports.ins); err != nil {
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
		if err := p.e.awaitStream(); err != nil {
			return p.failedAt(i, err)
		}
	}
	return p.failed(p.e.begin(p.ports.outs))
}

// enact begins an instruction, or has the host do it.
func (p *captured) enact(i int) error {
	switch a := &p.acts[i]; {
	case a.products != nil:
		return p.failedAt(i, p.e.blas.enqueue(a.products))
	case a.kernel != nil:
		return p.failedAt(i, p.e.drv.launch(a.kernel, p.e.stream))
	case a.op != nil:
		return a.op()
	default:
		return p.failedAt(i, p.e.begin(a.copies))
	}
}
