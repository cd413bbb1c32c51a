package fake

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"ptc/internal/collective"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// captured is a captured program.
type captured struct {
	e       *engine
	inner   device.Program
	instrs  []program.Instr
	flights map[int]*flight // by instruction
	ports   [][]byte
	ins     []int
	outs    []int
	results [][]byte // by port: what the host sees after a wait
	left    int      // the instruction before which the run was left
	job     *job     // launched
}

func (e *engine) Capture(prog int) (device.Program, error) {
	inner, err := e.inner.Capture(prog)
	if err != nil {
		return nil, err
	}
	d := e.r.Device
	p := &captured{e: e, inner: inner, instrs: d.Progs[prog].Instrs, flights: map[int]*flight{}, ports: make([][]byte, len(d.Ports)), results: make([][]byte, len(d.Ports))}
	for i := range d.Ports {
		mem := inner.Port(i)
		if mem == nil {
			continue
		}
		words := make([]uint64, (len(mem)+7)/8)
		p.ports[i] = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(mem))
		if d.Ports[i].In() {
			p.ins = append(p.ins, i)
		} else {
			p.outs = append(p.outs, i)
			p.results[i] = make([]byte, len(mem))
		}
	}
	for i := range p.instrs {
		if c := p.instrs[i].Comm; c != nil && c.Kind != collective.Done && c.Kind != collective.ShardSlice {
			if p.flights[i], err = newFlight(e, prog, i); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

func (p *captured) Port(i int) []byte { return p.ports[i] }

// job is a part of a run, for the goroutine of the device.
type job struct {
	p        *captured
	from, to int
	stop     bool
	err      error
	panicked any
	done     chan struct{}
}

func (p *captured) newJob(from, to int, stop bool) *job {
	for _, i := range p.outs {
		if !stop {
			copy(p.ports[i], spoilt)
		}
	}
	p.e.mu.Lock()
	p.e.launched = true
	p.e.mu.Unlock()
	return &job{p: p, from: from, to: to, stop: stop, done: make(chan struct{})}
}

// Launch lets the program run at once, or not before somebody waits for it.
func (p *captured) Launch() {
	p.job = p.newJob(0, len(p.instrs), false)
	if p.e.rng != nil {
		p.e.jobs <- p.job
	}
}

func (p *captured) Wait() error {
	j := p.job
	if j == nil {
		return fmt.Errorf("fake: a program is waited for that was not launched")
	}
	if p.job = nil; p.e.rng == nil {
		p.e.jobs <- j
	}
	return j.wait()
}

func (p *captured) Step(from, to int) error {
	j := p.newJob(from, to, false)
	p.e.jobs <- j
	return j.wait()
}

func (p *captured) Stop(at int) error {
	j := p.newJob(at, at, true)
	p.e.jobs <- j
	return j.wait()
}

// wait gives the results of a job.
func (j *job) wait() error {
	<-j.done
	e := j.p.e
	e.mu.Lock()
	e.launched = false
	if j.err != nil || j.panicked != nil {
		e.flights = nil
	}
	e.mu.Unlock()
	if j.panicked != nil {
		panic(j.panicked)
	}
	if j.err == nil && !j.stop {
		for _, i := range j.p.outs {
			copy(j.p.ports[i], j.p.results[i])
		}
	}
	return j.err
}

func (j *job) run() {
	defer close(j.done)
	defer func() { j.panicked = recover() }()
	if j.p.e.chance() {
		runtime.Gosched()
	}
	switch p := j.p; {
	case j.stop:
		j.err = p.landAll()
	case j.from != 0 && j.from != p.left:
		j.err = fmt.Errorf("fake: a run goes on at instruction %d, and was left at %d", j.from, p.left)
	default:
		j.err = p.run(j.from, j.to)
	}
}

// run runs instructions, and begins a run where they are the first.
func (p *captured) run(from, to int) error {
	if from == 0 {
		if err := p.begin(); err != nil {
			return err
		}
	}
	for i := from; i < to; {
		n, err := p.next(i, to)
		if err != nil {
			return err
		}
		i += n
	}
	if p.left = to; to == len(p.instrs) && len(p.e.flights) > 0 {
		return fmt.Errorf("fake: instruction %d is never waited for", p.e.flights[0].instr)
	}
	for _, i := range p.outs {
		at := p.e.at(p.e.r.Device.Ports[i].Buffer)
		if err := at.m.inner.CopyOut(p.results[i], at.at); err != nil {
			return err
		}
	}
	return nil
}

// begin makes all undefined that no tensor is in, and takes what goes in.
func (p *captured) begin() error {
	if len(p.e.flights) > 0 {
		return fmt.Errorf("fake: a run begins, and instruction %d of another one is under way", p.e.flights[0].instr)
	}
	for _, m := range p.e.memories {
		for _, r := range m.free {
			m.spoil(r[0], r[1])
		}
	}
	for _, i := range p.ins {
		copy(p.inner.Port(i), p.ports[i])
	}
	return p.inner.Step(0, 0)
}

// next runs instruction i, or several that have no order, and says how many.
func (p *captured) next(i, to int) (int, error) {
	c := p.instrs[i].Comm
	if c == nil {
		n := 1
		for i+n < to && p.instrs[i+n].Comm == nil && p.instrs[i+n].NoWait {
			n++
		}
		return n, p.kernels(i, n)
	}
	f := p.flights[i]
	switch {
	case c.Kind == collective.Done:
		return 1, p.land(c.Of)
	case c.Kind == collective.ShardSlice:
		return 1, p.inner.Step(i, i+1)
	case c.Start:
		f.running = false
		f.spoil(false)
		p.e.mu.Lock()
		p.e.flights = append(p.e.flights, f)
		p.e.mu.Unlock()
		return 1, nil
	case f.call == nil:
		return 1, f.move()
	}
	if err := p.e.issueAll(); err != nil { // others may need it to come here
		return 1, err
	}
	if err := f.issue(); err != nil {
		return 1, err
	}
	return 1, f.end()
}

// kernels runs n kernels from i on, which need not wait for each other. The first
// of a program stays first: the engine inside begins with it.
func (p *captured) kernels(i, n int) error {
	order := make([]int, n)
	for k := range order {
		order[k] = i + k
	}
	free := order
	if i == 0 {
		free = order[1:]
	}
	if p.e.rng == nil {
		slices.Reverse(free)
	} else {
		p.e.rng.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
	}
	for _, k := range order {
		if err := p.e.some(); err != nil {
			return err
		}
		if err := p.inner.Step(k, k+1); err != nil {
			return err
		}
	}
	return nil
}

// some lets a few of those under way run, by chance.
func (e *engine) some() error {
	for _, f := range e.flights {
		switch {
		case f.running:
		case f.call == nil && e.chance():
			f.running = true
			if err := f.move(); err != nil {
				return err
			}
		case f.call != nil:
			if !e.chance() {
				return nil // communication starts in order
			}
			if err := f.issue(); err != nil {
				return err
			}
		}
	}
	return nil
}

// issueAll starts all communication that a program has started: before one is
// waited for, which another device may not reach without it.
func (e *engine) issueAll() error {
	for _, f := range e.flights {
		if f.call != nil && !f.running {
			if err := f.issue(); err != nil {
				return err
			}
		}
	}
	return nil
}

// land waits for one that was started.
func (p *captured) land(of int) error {
	e := p.e
	k := slices.IndexFunc(e.flights, func(f *flight) bool { return f.instr == of })
	if k < 0 || e.flights[k] != p.flights[of] {
		return fmt.Errorf("fake: instruction %d is waited for and not under way", of)
	}
	f := e.flights[k]
	switch {
	case f.call != nil:
		if err := e.issueAll(); err != nil {
			return err
		}
		if err := f.end(); err != nil {
			return err
		}
	case !f.running:
		if err := f.move(); err != nil {
			return err
		}
	}
	e.mu.Lock()
	e.flights = slices.Delete(e.flights, k, k+1)
	e.mu.Unlock()
	return nil
}

func (p *captured) landAll() error {
	for len(p.e.flights) > 0 {
		if err := p.land(p.e.flights[0].instr); err != nil {
			return err
		}
	}
	return nil
}
