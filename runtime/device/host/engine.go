package host

import (
	"fmt"
	"slices"

	"ptc/internal/collective"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// Kernels runs the kernels of one device's programs in the host's memory.
type Kernels interface {
	// Replay runs the instructions [from, to) of program number prog of
	// Device.Progs, none of which is a communication, and returns when all are
	// done. Calls do not overlap. The result does not depend on the number of
	// threads, nor on how the instructions are split into ranges. Native code
	// allocates nothing here.
	Replay(prog, from, to int) error

	// Close frees what they hold; it is called once, after the last Replay.
	Close()
}

// Loader readies the kernels of a device whose own memory is arena, at a multiple
// of 64. The arena outlives them and never moves. It is outside Go's heap where the
// system allows that, as native code needs.
type Loader func(r device.Request, arena []byte) (Kernels, error)

// Opener is how engines are opened whose kernels load readies.
func Opener(load Loader) device.Opener {
	return func(r device.Request) (device.Engine, error) {
		e := &engine{r: r, memories: map[string]device.Memory{}}
		if err := e.open(load); err != nil {
			e.Close()
			return nil, err
		}
		return e, nil
	}
}

func init() {
	Register("", func(device.Request, []byte) (Kernels, error) { return none{}, nil })
}

// none is the kernels of a device that has none.
type none struct{}

func (none) Replay(int, int, int) error { return nil }
func (none) Close()                     {}

// engine is one device.
type engine struct {
	r        device.Request
	memories map[string]device.Memory
	arena    []byte // the device's own memory
	kernels  Kernels
	mover    *mover // nil: nothing is copied between memories concurrently with kernels
}

func (e *engine) open(load Loader) (err error) {
	for _, name := range []string{"", program.Host, program.Disk} {
		if err := e.allocate(name); err != nil {
			return err
		}
	}
	e.arena, _ = e.memories[""].HostBytes()
	e.kernels, err = load(e.r, e.arena)
	return err
}

func (e *engine) Memory(name string) device.Memory { return e.memories[name] }

// at is where a buffer's elements lie.
func (e *engine) at(buffer int) device.Range {
	b := &e.r.Device.Buffers[buffer]
	return device.Range{Memory: e.memories[b.Memory], Offset: b.Offset, Bytes: b.Size()}
}

// bytes are a buffer's elements.
func (e *engine) bytes(buffer int) []byte {
	b, _ := e.at(buffer).HostBytes()
	return b
}

// Close frees the memory last: the mover and the kernels use it.
func (e *engine) Close() {
	if e.kernels != nil {
		e.kernels.Close()
	}
	e.mover.close()
	for _, m := range e.memories {
		m.Close()
	}
}

// captured is a captured program.
type captured struct {
	e      *engine
	index  int
	instrs []program.Instr
	stops  []stop // in order
	ports  ports
	err    error // of the last launch
}

// stop is an instruction that is no kernel.
type stop struct {
	at  int
	run func() error
}

// Capture prepares what is between kernels.
func (e *engine) Capture(prog int) (device.Program, error) {
	p := &captured{e: e, index: prog, instrs: e.r.Device.Progs[prog].Instrs, ports: newPorts(e, prog)}
	ends := map[int]func() error{} // by the instruction that starts
	for i := range p.instrs {
		c := p.instrs[i].Comm
		if c == nil {
			continue
		}
		if c.Kind == collective.Done {
			p.stops = append(p.stops, stop{i, ends[c.Of]})
			continue
		}
		run, end, err := e.prepare(prog, i)
		if err != nil {
			return nil, fmt.Errorf("instruction %d of program %s cannot be run: %w", i, e.r.Device.Progs[prog].Name, err)
		}
		p.stops, ends[i] = append(p.stops, stop{i, run}), end
	}
	return p, nil
}

// prepare gives what an instruction does, and what waits for it where it only
// starts.
func (e *engine) prepare(prog, i int) (run, end func() error, err error) {
	in := &e.r.Device.Progs[prog].Instrs[i]
	switch c := in.Comm; {
	case c.Moves():
		t := newTransfer(e, in)
		if !c.Start {
			return t.copy, nil, nil
		}
		if e.mover == nil {
			e.mover = newMover()
		}
		e.mover.all = append(e.mover.all, t)
		return func() error { return e.mover.start(t) }, func() error { return e.mover.wait(t) }, nil
	case c.Kind == collective.ShardSlice:
		return newOwnPart(e, in).copy, nil, nil
	default:
		if e.r.Exchanges == nil {
			return nil, nil, fmt.Errorf("it exchanges data with other devices, and there are none")
		}
		x, err := e.r.Exchanges.Prepare(prog, i, e.at)
		switch {
		case err != nil:
			return nil, nil, err
		case !c.Start:
			return x.Run, nil, nil
		case x.AtOnce:
			return x.Run, func() error { return nil }, nil
		}
		return x.Start, x.Wait, nil
	}
}

func (p *captured) Port(i int) []byte { return p.ports.of(i) }

// Launch runs the program at once: the caller would only wait for its own threads.
func (p *captured) Launch() { p.err = p.Step(0, len(p.instrs)) }

func (p *captured) Wait() error { return p.err }

func (p *captured) Step(from, to int) error {
	if from == 0 {
		p.ports.in()
	}
	if err := p.replay(from, to); err != nil {
		p.e.mover.drain()
		return err
	}
	p.ports.out()
	return nil
}

// replay runs instructions: what is between two stops is one call of Kernels.
func (p *captured) replay(from, to int) error {
	i, _ := slices.BinarySearchFunc(p.stops, from, func(s stop, at int) int { return s.at - at })
	for from < to {
		end := to
		if i < len(p.stops) {
			end = min(to, p.stops[i].at)
		}
		if from < end {
			if err := p.e.kernels.Replay(p.index, from, end); err != nil {
				return &device.KernelError{Err: err}
			}
		}
		if end == to {
			return nil
		}
		if err := p.stops[i].run(); err != nil {
			return err
		}
		from = end + 1
		i++
	}
	return nil
}

func (p *captured) Stop(at int) error {
	for _, s := range p.stops {
		if c := p.instrs[s.at].Comm; s.at < at || c.Kind != collective.Done || c.Of >= at {
			continue
		}
		if err := s.run(); err != nil {
			p.e.mover.drain()
			return err
		}
	}
	return nil
}
